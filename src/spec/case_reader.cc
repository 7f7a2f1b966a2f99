// SPDX-License-Identifier: Apache-2.0
// "cases": each object of a set is a product of the lists in it.
#include <kfactory/family.h>

#include <algorithm>
#include <functional>
#include <set>

#include "case_builder.h"
#include "format/nearest.h"
#include "format/spec_json.h"
#include "spec_reader.h"

namespace kf {
namespace {

constexpr std::size_t kMaxCases = 10'000;  // in one set

using Option = std::function<void(CaseChoice&)>;
using Options = std::vector<Option>;  // one factor of the product

// A value, or each value of a list.
std::vector<JsonAt> one_or_many(const JsonAt& at) {
  if (!at.is(JsonNode::Kind::kArray)) {
    return {at};
  }
  std::vector<JsonAt> items = at.items();
  if (items.empty()) {
    at.error("an empty list gives no case");
  }
  return items;
}

class CaseObject {
 public:
  CaseObject(const Spec& spec, const JsonAt& at, std::string set) : spec_(spec), at_(at), set_(std::move(set)) {}

  // False after an error, which is recorded.
  bool read() {
    const auto members = at_.members();
    if (!at_.is(JsonNode::Kind::kObject)) {
      return false;
    }
    bool good = check_keys(members);
    for (const auto& [name, axis] : spec_.axes) {
      good = read_axis(name, axis) && good;
    }
    for (const auto& [name, dtypes] : spec_.types) {
      good = read_type(name, dtypes) && good;
    }
    for (const TensorSpec& tensor : spec_.tensors) {
      good = (!tensor.scalar || read_scalar(tensor)) && good;
    }
    good = read_with() && good;
    good = read_family() && good;
    return read_values_key() && good;
  }

  std::size_t combinations() const {
    std::size_t count = 1;
    for (const Options& options : factors_) {
      count = std::min(count * options.size(), kMaxCases + 1);
    }
    return count;
  }

  // The first factor is the slowest. Stops when `visit` returns false.
  void expand(const std::function<bool(const CaseChoice&)>& visit) const {
    const std::size_t count = combinations();
    for (std::size_t i = 0; i < count; ++i) {
      CaseChoice choice;
      choice.set = set_;
      std::size_t rest = i;
      for (auto factor = factors_.rbegin(); factor != factors_.rend(); ++factor) {
        (*factor)[rest % factor->size()](choice);
        rest /= factor->size();
      }
      if (at_["values"].present()) {
        choice.values = at_["values"];
      }
      if (!visit(choice)) {
        return;
      }
    }
  }

 private:
  bool check_keys(const std::vector<std::pair<std::string, JsonAt>>& members) {
    std::vector<std::string> known;
    for (const auto& [name, axis] : spec_.axes) {
      if (axis.kind != Axis::Kind::kConst) {
        known.push_back(name);
      }
    }
    for (const auto& [name, dtypes] : spec_.types) {
      known.push_back(name);
    }
    for (const TensorSpec& tensor : spec_.tensors) {
      if (tensor.scalar) {
        known.push_back(tensor.name);
      }
    }
    for (const JsonKey& key : spec_json::kCase.keys) {
      known.emplace_back(key.name);
    }
    bool good = true;
    for (const auto& [name, value] : members) {
      if (std::ranges::find(known, name) == known.end()) {
        value.error("unknown key \"" + name + "\"; allowed here: " + joined(known), did_you_mean(name, known));
        good = false;
      }
    }
    return good;
  }

  bool read_axis(const std::string& name, const Axis& axis) {
    const JsonAt at = at_[name];
    if (!at.present()) {
      if (axis.kind == Axis::Kind::kVar) {
        at_.error("the axis \"" + name + "\" has no value");
        return false;
      }
      return true;
    }
    Options options;
    for (const JsonAt& item : one_or_many(at)) {
      const std::optional<std::string> text = item.expression_text();
      OrError<Expression> value = Expression::parse(text.value_or("0"), item.where());
      if (!text || !value) {
        if (text) {
          item.error(value.error().what, value.error().hint);
        }
        return false;
      }
      options.push_back([name, value = *value](CaseChoice& choice) { choice.axes.insert_or_assign(name, value); });
    }
    return add(std::move(options));
  }

  bool read_type(const std::string& name, const std::vector<Dtype>& dtypes) {
    const JsonAt at = at_[name];
    Options options;
    const auto choose = [&](Dtype dtype) {
      options.push_back([name, dtype](CaseChoice& choice) { choice.types[name] = dtype; });
    };
    if (!at.present()) {
      std::ranges::for_each(dtypes, choose);
      return add(std::move(options));
    }
    std::vector<std::string> known;
    for (const Dtype dtype : dtypes) {
      known.emplace_back(to_string(dtype));
    }
    for (const JsonAt& item : one_or_many(at)) {
      const std::string text = item.string();
      if (std::ranges::find(known, text) == known.end()) {
        item.error("\"" + text + "\" is no dtype of " + name + "; allowed: " + joined(known),
                   did_you_mean(text, known));
        return false;
      }
      choose(*dtype_from_string(text));
    }
    return add(std::move(options));
  }

  bool read_scalar(const TensorSpec& scalar) {
    const JsonAt at = at_[scalar.name];
    if (!at.present()) {
      return true;
    }
    Options options;
    for (const JsonAt& item : one_or_many(at)) {
      if (!item.is(JsonNode::Kind::kInteger) && !item.is(JsonNode::Kind::kNumber)) {
        item.error("found " + described(item.node()) + ", expected a number");
        return false;
      }
      const double value = item.node().number;
      options.push_back([name = scalar.name, value](CaseChoice& choice) { choice.scalars[name] = value; });
    }
    return add(std::move(options));
  }

  // A list of names is one choice; a list of such lists is a product.
  bool read_with() {
    const JsonAt at = at_["with"];
    if (!at.present()) {
      return true;
    }
    std::vector<JsonAt> lists{at};
    const std::vector<JsonAt> items = at.items();
    if (!items.empty() && items[0].is(JsonNode::Kind::kArray)) {
      lists = items;
    }
    std::vector<std::string> known;
    for (const TensorSpec& tensor : spec_.tensors) {
      if (tensor.optional) {
        known.push_back(tensor.name);
      }
    }
    Options options;
    for (const JsonAt& list : lists) {
      std::set<std::string> chosen;
      for (const JsonAt& item : list.items()) {
        const std::string name = item.string();
        if (std::ranges::find(known, name) == known.end()) {
          item.error("\"" + name + "\" is no optional tensor; allowed: " + joined(known), did_you_mean(name, known));
          return false;
        }
        chosen.insert(name);
      }
      std::vector<std::string> with;  // in the spec's order, so that equal sets have equal ids
      std::ranges::copy_if(known, std::back_inserter(with), [&](const auto& name) { return chosen.contains(name); });
      options.push_back([with](CaseChoice& choice) { choice.with = with; });
    }
    return at.is(JsonNode::Kind::kArray) && add(std::move(options));
  }

  bool read_family() {
    const JsonAt at = at_["family"];
    if (!at.present()) {
      return true;
    }
    std::vector<std::string> known;
    for (const FamilyFacts& family : kFamilies) {
      known.emplace_back(family.name);
    }
    Options options;
    for (const JsonAt& item : one_or_many(at)) {
      const std::string name = item.string();
      if (!family_from_string(name)) {
        item.error("unknown family \"" + name + "\"; known: " + joined(known), did_you_mean(name, known));
        return false;
      }
      options.push_back([name](CaseChoice& choice) { choice.family = name; });
    }
    return add(std::move(options));
  }

  bool read_values_key() {
    const JsonAt at = at_["values"];
    if (!at.present()) {
      return true;
    }
    std::vector<std::string> known;
    for (const TensorSpec& tensor : spec_.tensors) {
      if (tensor.values_from_case) {
        known.push_back(tensor.name);
      }
    }
    bool good = at.is(JsonNode::Kind::kObject);
    for (const auto& [name, value] : at.members()) {
      if (std::ranges::find(known, name) == known.end()) {
        value.error("\"" + name + "\" is no tensor with \"values\": \"case\"; allowed: " + joined(known),
                    did_you_mean(name, known));
        good = false;
      }
    }
    return good;
  }

  bool add(Options options) {
    const bool good = !options.empty();
    if (good) {
      factors_.push_back(std::move(options));
    }
    return good;
  }

  const Spec& spec_;
  const JsonAt& at_;
  std::string set_;
  std::vector<Options> factors_;
};

void read_set(const JsonAt& list, const std::string& set, const Spec& spec, std::vector<Case>& cases) {
  std::set<std::string> ids;
  for (const JsonAt& at : list.items()) {
    CaseObject object(spec, at, set);
    if (!object.read()) {
      continue;
    }
    if (cases.size() + object.combinations() > kMaxCases) {
      at.error("more than " + std::to_string(kMaxCases) + " cases in \"" + set + "\"");
      return;
    }
    // One error an object: the others of its product would only repeat it.
    object.expand([&](const CaseChoice& choice) {
      OrError<Case> built = build_case(spec, choice);
      if (!built) {
        std::string values;
        for (const auto& [name, value] : choice.axes) {
          values += (values.empty() ? "" : ", ") + name + " = " + value.text();
        }
        const std::string at_what = built.error().where.empty() ? "" : built.error().where + ": ";
        at.error((values.empty() ? "" : "for " + values + ": ") + at_what + built.error().what, built.error().hint);
        return false;
      }
      if (!ids.insert(built->id.value).second) {
        at.error("the case " + built->id.value + " is there twice", "remove one of them");
        return false;
      }
      cases.push_back(std::move(*built));
      return true;
    });
  }
}

}  // namespace

void read_cases(const JsonAt& at, Spec& spec) {
  if (!at.check(spec_json::kCases)) {
    return;
  }
  for (const std::string_view set : spec_json::kCaseSets) {
    std::vector<Case>& cases = spec.cases[std::string(set)];
    if (at[set].present()) {
      read_set(at[set], std::string(set), spec, cases);
    }
  }
  if (at["check"].is(JsonNode::Kind::kArray) && at["check"].node().items.empty()) {
    at["check"].error("at least one check case is needed: nothing can be proven without");
  }
}

}  // namespace kf
