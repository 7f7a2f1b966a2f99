// SPDX-License-Identifier: Apache-2.0
#include "parser.h"

#include <algorithm>
#include <charconv>

namespace kf::emulator {

bool PtxInstruction::has(std::string_view word) const {
  return std::ranges::find(words, word) != words.end();
}

const PtxFunction* PtxModule::find(std::string_view name) const {
  for (const PtxFunction& function : functions)
    if (function.name == name && function.defined) return &function;
  return nullptr;
}

OrError<PtxModule> parse_ptx(std::string_view text) {
  return Parser(text).parse();
}

OrError<PtxModule> Parser::parse() {
  scopes_.push_back({{}, {}, {}, -1});
  scope_ = 0;
  try {
    while (lexer_.peek().kind != Token::Kind::kEnd) directive();
  } catch (const SyntaxError& error) {
    return std::unexpected(Error{"PTX line " + std::to_string(error.line), error.what, ""});
  }
  return std::move(module_);
}

void Parser::fail(const std::string& what) const {
  throw SyntaxError{lexer_.peek().line, what};
}

Token Parser::expect(std::string_view text) {
  if (!lexer_.at(text))
    fail("expected '" + std::string(text) + "', found '" + std::string(lexer_.peek().text.substr(0, 40)) + "'");
  return lexer_.next();
}

bool Parser::accept(std::string_view text) {
  if (!lexer_.at(text)) return false;
  lexer_.next();
  return true;
}

std::string Parser::word() {
  if (lexer_.peek().kind != Token::Kind::kWord)
    fail("expected a name, found '" + std::string(lexer_.peek().text.substr(0, 40)) + "'");
  return std::string(lexer_.next().text);
}

void Parser::skip_braces() {
  expect("{");
  for (int depth = 1; depth > 0;) {
    if (lexer_.peek().kind == Token::Kind::kEnd) fail("missing '}'");
    if (lexer_.at("{")) ++depth;
    if (lexer_.at("}")) --depth;
    lexer_.next();
  }
}

void Parser::skip_statement() {
  while (!lexer_.at(";")) {
    if (lexer_.peek().kind == Token::Kind::kEnd) fail("missing ';'");
    lexer_.next();
  }
  lexer_.next();
}

void Parser::directive() {
  bool external = false;
  std::string name = word();
  while (name == ".visible" || name == ".extern" || name == ".weak" || name == ".common") {
    external |= name == ".extern";
    name = word();
  }
  if (name == ".version") {
    if (lexer_.peek().kind != Token::Kind::kNumber) fail(".version: expected a number");
    lexer_.next();
  } else if (name == ".target") {
    do word();
    while (accept(","));
  } else if (name == ".address_size") {
    if (integer() != 64) fail(".address_size: only 64 is supported");
  } else if (name == ".file") {
    const std::int64_t index = integer();
    if (lexer_.peek().kind != Token::Kind::kString) fail(".file: expected a quoted name");
    const std::string_view quoted = lexer_.next().text;
    while (accept(",")) integer();
    if (index < 0 || index > 65535) fail(".file: index out of range");
    module_.files.resize(std::max<std::size_t>(module_.files.size(), index + 1));
    module_.files[index] = std::string(quoted.substr(1, quoted.size() < 2 ? 0 : quoted.size() - 2));
  } else if (name == ".section") {
    word();
    skip_braces();
  } else if (name == ".loc") {
    location();
  } else if (name == ".entry" || name == ".func") {
    function(name == ".entry");
  } else if (name == ".global") {
    declare_variables(Space::kGlobal, external);
  } else if (name == ".const") {
    declare_variables(Space::kConst, external);
  } else if (name == ".shared" || name == ".shared::cta") {
    declare_variables(Space::kShared, external);
  } else if (name == ".pragma" || name == ".alias") {
    if (name == ".alias") fail(".alias is not supported");
    skip_statement();
  } else {
    fail("unknown directive '" + name + "'");
  }
}

void Parser::location() {  // .loc file line column [, function_name label [+ n], inlined_at file line column]
  where_.file = static_cast<std::int32_t>(integer());
  where_.line = static_cast<std::int32_t>(integer());
  integer();
  while (accept(",")) {
    const std::string what = word();
    if (what == "function_name") {
      word();
      if (accept("+")) integer();
    } else if (what == "inlined_at") {
      for (int i = 0; i < 3; ++i) integer();
    } else {
      fail(".loc: unknown attribute '" + what + "'");
    }
  }
}

std::vector<std::int32_t> Parser::parameter_list() {
  std::vector<std::int32_t> params;
  expect("(");
  while (!accept(")")) {
    if (!params.empty()) expect(",");
    if (accept(".reg")) fail("register parameters are not supported");
    expect(".param");
    params.push_back(variable(Space::kParam, false));
  }
  return params;
}

void Parser::function(bool entry) {
  PtxFunction made;
  made.entry = entry;
  made.first_variable = static_cast<std::int32_t>(module_.variables.size());
  scopes_.push_back({{}, {}, {}, 0});
  scope_ = static_cast<int>(scopes_.size()) - 1;
  if (!entry && lexer_.at("(")) made.returns = parameter_list();
  made.name = word();
  if (lexer_.at("(")) made.params = parameter_list();
  function_directives(made);
  if (lexer_.at("{")) {
    made.defined = true;
    where_ = {};
    label_uses_.clear();
    body(made);
    resolve_labels(made);
    made.last_variable = static_cast<std::int32_t>(module_.variables.size());
  } else {
    expect(";");
  }
  scope_ = 0;
  auto same = std::ranges::find(module_.functions, made.name, &PtxFunction::name);
  if (same == module_.functions.end()) {
    module_.functions.push_back(std::move(made));
  } else if (!same->defined) {
    *same = std::move(made);
  } else if (made.defined) {
    fail("'" + made.name + "' is defined twice");
  }
}

void Parser::function_directives(PtxFunction& into) {
  while (lexer_.peek().kind == Token::Kind::kWord) {
    const std::string name = word();
    std::int32_t values[3] = {1, 1, 1};
    int count = 0;
    if (lexer_.peek().kind == Token::Kind::kNumber) do {
        if (count == 3) fail(name + ": more than three numbers");
        values[count++] = static_cast<std::int32_t>(integer());
      } while (accept(","));
    if (name == ".maxntid") {
      const std::int64_t all = std::int64_t{values[0]} * values[1] * values[2];
      into.max_threads = static_cast<std::int32_t>(std::min<std::int64_t>(all, 1 << 20));
    } else if (name == ".maxnreg") {
      into.max_registers = std::clamp(values[0], 0, 256);
    } else if (name == ".reqntid") {
      std::copy_n(values, 3, into.required_threads);
    } else if (name == ".reqnctapercluster") {
      std::copy_n(values, 3, into.required_cluster);
    } else if (name != ".minnctapersm" && name != ".noreturn" && name != ".explicitcluster" &&
               name != ".maxclusterrank" && name != ".pragma" && name != ".blocksareclusters" &&
               name != ".maxnctapersm") {
      fail("unknown function directive '" + name + "'");
    }
    if (name == ".pragma") skip_statement();
  }
}

void Parser::body(PtxFunction& into) {
  expect("{");
  if (scopes_.size() > 100'000) fail("too many scopes");
  scopes_.push_back({{}, {}, {}, scope_});
  const int outer = scope_;
  scope_ = static_cast<int>(scopes_.size()) - 1;
  std::vector<int> parents;  // nested braces without recursion: hostile text may nest deeply
  for (;;) {
    if (lexer_.peek().kind == Token::Kind::kEnd) fail("missing '}'");
    if (accept("{")) {
      parents.push_back(scope_);
      scopes_.push_back({{}, {}, {}, scope_});
      scope_ = static_cast<int>(scopes_.size()) - 1;
    } else if (accept("}")) {
      if (parents.empty()) break;
      scope_ = parents.back();
      parents.pop_back();
    } else {
      statement(into);
    }
  }
  scope_ = outer;
}

void Parser::statement(PtxFunction& into) {
  if (accept(";")) return;
  if (lexer_.at("@")) return instruction(into);
  const Token first = lexer_.peek();
  if (first.kind != Token::Kind::kWord) fail("expected an instruction, found '" + std::string(first.text) + "'");
  if (!first.text.starts_with(".")) return instruction(into);
  const std::string name = word();
  if (name == ".reg") return registers(into);
  if (name == ".loc") return location();
  if (name == ".pragma") return skip_statement();
  if (name == ".shared" || name == ".shared::cta") return declare_variables(Space::kShared, false);
  if (name == ".local") return declare_variables(Space::kLocal, false);
  if (name == ".param") return declare_variables(Space::kParam, false);
  if (name == ".global") return declare_variables(Space::kGlobal, false);
  if (name == ".const") return declare_variables(Space::kConst, false);
  fail("unknown directive '" + name + "' in a function");
}

const Parser::Name* Parser::find_name(std::string_view name) const {
  for (int scope = scope_; scope >= 0; scope = scopes_[scope].parent)
    if (auto found = scopes_[scope].names.find(name); found != scopes_[scope].names.end()) return &found->second;
  return nullptr;
}

std::int32_t Parser::find_register(std::string_view name) const {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  std::int32_t number = -1;
  if (digits < name.size() && name.size() - digits < 8 && (name[digits] != '0' || name.size() - digits == 1))
    std::from_chars(name.data() + digits, name.data() + name.size(), number);
  for (int scope = scope_; scope >= 0; scope = scopes_[scope].parent) {
    const Scope& in = scopes_[scope];
    if (auto found = in.names.find(name); found != in.names.end())
      return found->second.kind == Name::Kind::kRegister ? found->second.index : -1;
    if (number < 0) continue;
    // A family's name may itself end in a digit (`%r1<4>`), so the whole name is tried at every split.
    for (std::size_t split = digits; split < name.size(); ++split) {
      auto family = in.families.find(name.substr(0, split));
      if (family == in.families.end()) continue;
      std::int32_t member = 0;
      std::from_chars(name.data() + split, name.data() + name.size(), member);
      if (member < family->second.count) return family->second.first + member;
    }
  }
  return -1;
}

std::int32_t Parser::use_label(const std::string& name) {
  label_uses_.push_back({scope_, name, static_cast<std::int32_t>(label_uses_.size())});
  return label_uses_.back().placeholder;
}

void Parser::resolve_labels(PtxFunction& into) {
  std::vector<std::int32_t> resolved(label_uses_.size(), -1);
  for (const LabelUse& use : label_uses_)
    for (int scope = use.scope; scope >= 0; scope = scopes_[scope].parent)
      if (auto found = scopes_[scope].labels.find(use.name); found != scopes_[scope].labels.end()) {
        resolved[use.placeholder] = found->second;
        break;
      }
  auto settle = [&](auto& self, Operand& operand) -> void {
    if (operand.kind == Operand::Kind::kLabel) {
      operand.index = resolved[operand.index];
      if (operand.index < 0) operand.kind = Operand::Kind::kName;  // a function, a special register, or nothing
    }
    for (Operand& part : operand.parts) self(self, part);
  };
  for (PtxInstruction& instruction : into.instructions)
    for (Operand& operand : instruction.operands) settle(settle, operand);
  for (auto& [label, targets] : into.branch_targets)
    for (std::int32_t& target : targets) {
      target = resolved[target];
      if (target < 0) fail(".branchtargets of '" + into.name + "' names a label that does not exist");
    }
}

}  // namespace kf::emulator
