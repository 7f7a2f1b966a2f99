// SPDX-License-Identifier: Apache-2.0
#include "compile/wire.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "os/descriptor.h"

namespace kf {
namespace {

void append(std::string& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> (8 * i));
  }
}

std::uint64_t read_integer(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

OrError<std::string> read_exactly(int fd, std::uint64_t size) {
  std::string bytes;
  while (bytes.size() < size) {
    OrError<std::string> more =
        read_some(fd, static_cast<std::size_t>(std::min<std::uint64_t>(size - bytes.size(), 1 << 20)));
    if (!more) {
      return more;
    }
    if (more->empty()) {
      return bytes.empty() ? OrError<std::string>("")
                           : std::unexpected(Error{"", "the peer closed in the middle of a message", ""});
    }
    bytes += *more;
  }
  return bytes;
}

}  // namespace

std::string pack(std::span<const std::string_view> fields) {
  std::string bytes;
  append(bytes, fields.size(), 4);
  for (const std::string_view field : fields) {
    append(bytes, field.size(), 8);
    bytes += field;
  }
  return bytes;
}

std::string pack(std::span<const std::string> fields) {
  const std::vector<std::string_view> views(fields.begin(), fields.end());
  return pack(views);
}

std::optional<std::vector<std::string>> unpack(std::string_view bytes) {
  if (bytes.size() < 4) {
    return std::nullopt;
  }
  const std::uint64_t count = read_integer(bytes.substr(0, 4));
  bytes.remove_prefix(4);
  std::vector<std::string> fields;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (bytes.size() < 8) {
      return std::nullopt;
    }
    const std::uint64_t size = read_integer(bytes.substr(0, 8));
    bytes.remove_prefix(8);
    if (size > bytes.size()) {
      return std::nullopt;
    }
    fields.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return bytes.empty() ? std::optional(std::move(fields)) : std::nullopt;
}

OrError<void> send_message(int fd, std::string_view packed) {
  std::string bytes;
  bytes.reserve(packed.size() + 8);
  append(bytes, packed.size(), 8);
  bytes += packed;
  return write_all(fd, bytes);
}

OrError<std::string> receive_message(int fd, std::uint64_t limit) {
  const OrError<std::string> length = read_exactly(fd, 8);
  if (!length || length->empty()) {
    return length;
  }
  const std::uint64_t size = read_integer(*length);
  if (size == 0 || size > limit) {
    return std::unexpected(
        Error{"", "a message of " + std::to_string(size) + " bytes; at most " + std::to_string(limit), ""});
  }
  OrError<std::string> message = read_exactly(fd, size);
  if (message && message->empty()) {
    return std::unexpected(Error{"", "the peer closed in the middle of a message", ""});
  }
  return message;
}

OrError<void> send_descriptor(int socket, int fd) {
  char byte = 'd';
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) != 1) {
    if (errno != EINTR) {
      return std::unexpected(system_error("sendmsg"));
    }
  }
  return {};
}

OrError<int> receive_descriptor(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = -1;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return std::unexpected(system_error("recvmsg"));
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (got == 0 || header == nullptr || header->cmsg_type != SCM_RIGHTS) {
    return -1;
  }
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

}  // namespace kf
