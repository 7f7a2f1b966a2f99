// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <chrono>
#include <concepts>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <kfactory/digest.h>
#include <kfactory/values.h>

// One description of a value's fields serves encoding and decoding: `fields(visit, value)` names each member once
// (fields.h), JsonWriter and JsonReader visit it. A member that is absent from the JSON keeps its default, so records
// of an earlier version stay readable; a member of the wrong type or out of range is an error with its JSON path.
// Doubles that are not finite are the strings "nan", "inf" and "-inf". Bytes live in a blob beside the JSON.

namespace kf {

// A value as JSON, with its bytes (cubins) in a blob that the JSON refers to as [offset, size].
struct Encoded {
  std::string json;
  Bytes blob;
};

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// The words of an enumeration, in the order of its values; fields.h has one specialisation for each.
template <class E>
struct Words;

class JsonWriter {
 public:
  // `at` is a nlohmann::json; its header is too heavy to be named here.
  JsonWriter(void* at, Bytes& blob) : at_(at), blob_(&blob) {}
  template <class T>
  void operator()(std::string_view name, const T& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value) {
        member(name).write(*value);
      }
    } else {
      member(name).write(value);
    }
  }
  template <class T>
  void write(const T& value);

 private:
  JsonWriter member(std::string_view name);
  JsonWriter element();
  void start_array();
  void start_object();
  void put(bool value);
  void put(std::int64_t value);
  void put(std::uint64_t value);
  void put(double value);
  void put(std::string_view value);
  void put(const Bytes& value);

  void* at_;
  Bytes* blob_;
};

class JsonReader {
 public:
  JsonReader(const void* at, std::span<const std::byte> blob, std::string path, std::optional<Error>& error)
      : at_(at), blob_(blob), path_(std::move(path)), error_(&error) {}
  template <class T>
  void operator()(std::string_view name, T& value) {
    if (auto found = member(name)) {
      found->read(value);
    }
  }
  template <class T>
  void read(T& value);

 private:
  std::optional<JsonReader> member(std::string_view name) const;
  JsonReader element(std::size_t index) const;
  std::size_t array_size(std::size_t exactly = kAnySize);
  std::vector<std::string> keys();
  void get(bool& value);
  std::int64_t get_signed(std::int64_t low, std::int64_t high);
  std::uint64_t get_unsigned(std::uint64_t high);
  void get(double& value);
  void get(std::string& value);
  void get(Bytes& value);
  void get(Digest& value);
  std::size_t get_word(std::span<const std::string_view> words);
  void fail(std::string what);

  static constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();
  const void* at_;
  std::span<const std::byte> blob_;
  std::string path_;
  std::optional<Error>* error_;  // the first one stays
};

template <class T>
void JsonWriter::write(const T& value) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double> || std::is_same_v<T, Bytes>) {
    put(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    put(std::string_view(value));
  } else if constexpr (std::is_same_v<T, Digest>) {
    put(std::string_view(to_hex(value)));
  } else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    put(static_cast<std::int64_t>(value.count()));
  } else if constexpr (std::is_enum_v<T>) {
    put(Words<T>::kWords.at(static_cast<std::size_t>(value)));
  } else if constexpr (std::is_unsigned_v<T>) {
    put(static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_integral_v<T>) {
    put(static_cast<std::int64_t>(value));
  } else if constexpr (requires { typename T::mapped_type; }) {
    if constexpr (std::is_same_v<typename T::key_type, std::string>) {
      start_object();
      for (const auto& [key, entry] : value) {
        member(key).write(entry);
      }
    } else {
      start_array();
      for (const auto& [key, entry] : value) {
        JsonWriter pair = element();
        pair.start_array();
        pair.element().write(key);
        pair.element().write(entry);
      }
    }
  } else if constexpr (requires { value.begin(); }) {
    start_array();
    for (const auto& entry : value) {
      element().write(entry);
    }
  } else {
    start_object();
    fields(*this, value);
  }
}

template <class T>
void JsonReader::read(T& value) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double> || std::is_same_v<T, Bytes> ||
                std::is_same_v<T, std::string> || std::is_same_v<T, Digest>) {
    get(value);
  } else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    value = std::chrono::milliseconds(get_signed(0, std::int64_t{1} << 40));
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(get_word(Words<T>::kWords));
  } else if constexpr (std::is_unsigned_v<T>) {
    value = static_cast<T>(get_unsigned(std::numeric_limits<T>::max()));
  } else if constexpr (std::is_integral_v<T>) {
    value = static_cast<T>(get_signed(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (requires {
                         value.emplace();
                         value.has_value();
                       }) {
    read(value.emplace());
  } else if constexpr (requires { typename T::mapped_type; }) {
    value.clear();
    if constexpr (std::is_same_v<typename T::key_type, std::string>) {
      for (const std::string& key : keys()) {
        member(key)->read(value[key]);
      }
    } else {
      const std::size_t size = array_size();
      for (std::size_t i = 0; i < size; ++i) {
        JsonReader pair = element(i);
        if (pair.array_size(2) == 2) {
          typename T::key_type key{};
          pair.element(0).read(key);
          pair.element(1).read(value[key]);
        }
      }
    }
  } else if constexpr (requires { value.fill(value[0]); }) {
    if (array_size(value.size()) == value.size()) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        element(i).read(value[i]);
      }
    }
  } else if constexpr (requires { value.push_back(value.back()); }) {
    const std::size_t size = array_size();
    value.assign(size, {});
    for (std::size_t i = 0; i < size; ++i) {
      element(i).read(value[i]);
    }
  } else {
    keys();  // refuses anything but an object
    fields(*this, value);
  }
}

Encoded encode_with(const std::function<void(JsonWriter&)>& write);
std::optional<Error> decode_with(std::string_view json, std::span<const std::byte> blob,
                                 const std::function<void(JsonReader&)>& read);

template <class T>
Encoded encode_value(const T& value) {
  return encode_with([&](JsonWriter& writer) { writer.write(value); });
}
template <class T>
OrError<T> decode_value(std::string_view json, std::span<const std::byte> blob) {
  T value{};
  if (auto error = decode_with(json, blob, [&](JsonReader& reader) { reader.read(value); })) {
    return std::unexpected(*std::move(error));
  }
  return value;
}

}  // namespace kf
