// SPDX-License-Identifier: Apache-2.0
#include "compile/ptx_module.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "compile/ptx_cursor.h"
#include "compile/ptx_scopes.h"

namespace kf {
namespace {

using Kind = PtxToken::Kind;

// More than any compiler emits. Without limits, a text could be made that takes hours to read.
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxPtxBytes = 48ULL << 20;

class ModuleReader : private PtxCursor {
 public:
  explicit ModuleReader(std::vector<PtxToken> tokens) : PtxCursor(std::move(tokens)), scopes_(module_.entities) {}

  PtxModule read() {
    while (peek().kind != Kind::kEnd) {
      module_item();
    }
    return std::move(module_);
  }

 private:
  // ---- names ----
  const PtxEntity& entity(int id) const { return module_.entities[static_cast<std::size_t>(id)]; }
  int resolve(std::string_view name) {
    if (const int id = scopes_.find(name); id >= 0) {
      return id;
    }
    fail("nothing declares the name `" + std::string(name.substr(0, 60)) + "`");
  }

  // ---- canonical text ----
  void emit(std::string_view text) {
    module_.canonical += text;
    module_.canonical += ' ';
  }
  void emit_name(int id) {
    if (entity(id).kind == PtxEntity::Kind::kSpecial) {
      emit(entity(id).name);
      return;
    }
    const auto [found, fresh] = numbers_.try_emplace(id, static_cast<int>(numbers_.size()));
    emit("#" + std::to_string(found->second));
  }

  // ---- module level ----
  void module_item() {
    std::vector<std::string> linkage;
    while (is(".visible") || is(".extern") || is(".weak") || is(".common")) {
      linkage.push_back(word());
    }
    const std::string_view directive = peek().text;
    if (directive == ".func" || directive == ".entry") {
      function(directive == ".entry");
    } else if (is_space(directive)) {
      variable();
    } else if (!skip_debug_directive()) {
      if (directive == ".version" || directive == ".target" || directive == ".address_size") {
        for (const int line = take().line; peek().line == line && peek().kind != Kind::kEnd;) {
          take();
        }
      } else if (directive == ".pragma" || directive == ".alias") {
        while (!accept(";")) {
          take();
        }
      } else if (!accept(";")) {
        fail("`" + std::string(directive.substr(0, 40)) + "` at module level");
      }
    }
  }

  static bool is_space(std::string_view directive) {
    return directive == ".global" || directive == ".const" || directive == ".shared" || directive == ".local" ||
           directive.starts_with(".shared::") || directive == ".texref" || directive == ".samplerref" ||
           directive == ".surfref";
  }

  // .global .align 4 .b8 name[16] = {...}, other = 3;
  void variable() {
    std::string space = word().substr(1);
    space = space.substr(0, space.find(':'));
    if (space == "texref" || space == "samplerref" || space == "surfref") {
      space = "global";
    }
    emit(space);
    while (peek().kind == Kind::kWord && peek().text.front() == '.') {
      const PtxToken attribute = take();
      emit(attribute.text);
      if (attribute.text == ".align") {
        emit(take().text);
      } else if (attribute.text == ".attribute") {
        skip_balanced("(", ")");
      }
    }
    do {
      const int id = scopes_.declare({PtxEntity::Kind::kVariable, word(), space, {}});
      emit_name(id);
      while (!is(",") && !is(";")) {
        const PtxToken token = take();
        emit(token.text);
        if (token.text == "=") {
          initial_value(id);
        }
      }
    } while (accept(","));
    expect(";");
  }

  void initial_value(int id) {
    int depth = 0;
    while (depth > 0 || (!is(",") && !is(";"))) {
      const PtxToken token = take();
      depth += token.text == "{" || token.text == "(" ? 1 : token.text == "}" || token.text == ")" ? -1 : 0;
      if (token.kind == Kind::kWord && token.text != "generic" && token.text != "mask") {
        const int named = resolve(token.text);
        module_.entities[static_cast<std::size_t>(id)].initial.push_back(named);
        emit_name(named);
      } else {
        emit(token.text);
      }
    }
  }

  // ---- functions ----
  std::vector<int> parameter_list() {
    std::vector<int> parameters;
    expect("(");
    while (!accept(")")) {
      while (peek().kind == Kind::kWord && peek().text.front() == '.') {
        const PtxToken attribute = take();
        emit(attribute.text);
        if (attribute.text == ".align") {
          emit(take().text);
        }
      }
      const bool parameter = peek().kind == Kind::kWord;
      if (parameter) {
        parameters.push_back(scopes_.declare({PtxEntity::Kind::kParameter, word(), "", {}}));
      }
      while (!is(",") && !is(")")) {
        emit(take().text);  // [16], <...>
      }
      accept(",");
    }
    return parameters;
  }

  void function(bool entry) {
    take();
    PtxFunction made;
    made.entry = entry;
    emit(entry ? "entry" : "func");
    scopes_.open();
    if (accept(".noreturn")) {
      emit("noreturn");
    }
    if (is("(")) {
      made.results = parameter_list();
    }
    made.name = word();
    made.entity = scopes_.function(made.name);
    emit_name(made.entity);
    if (is("(")) {
      made.parameters = parameter_list();
    }
    while (!is("{") && !is(";")) {
      emit(take().text);  // .maxntid 128, 1, 1 and its relatives
    }
    if (accept(";")) {
      scopes_.close();
      merge(std::move(made));
      return;
    }
    made.defined = true;
    body(made);
    scopes_.close();
    merge(std::move(made));
  }

  void merge(PtxFunction made) {
    const auto known = std::ranges::find(module_.functions, made.entity, &PtxFunction::entity);
    if (known == module_.functions.end()) {
      module_.functions.push_back(std::move(made));
    } else if (made.defined) {
      *known = std::move(made);
    }
  }

  void body(PtxFunction& made) {
    expect("{");
    declare_labels();
    for (std::size_t depth = 1; depth > 0;) {
      if (accept("{")) {
        if (++depth > kMaxDepth) {
          fail("blocks nested more than " + std::to_string(kMaxDepth) + " deep");
        }
        scopes_.open();
        declare_labels();
      } else if (accept("}")) {
        if (--depth > 0) {
          scopes_.close();
        }
      } else {
        statement(made);
      }
    }
  }

  void statement(PtxFunction& made) {
    if (accept(";") || skip_debug_directive()) {
      return;
    }
    const std::string_view first = peek().text;
    if (peek().kind == Kind::kWord && is(":", 1)) {
      label(made);
    } else if (first == ".reg") {
      registers();
    } else if (first == ".param") {
      call_parameter();
    } else if (is_space(first)) {
      variable();
    } else if (first == ".pragma" || first == ".branchtargets" || first == ".calltargets" ||
               first == ".callprototype") {
      while (!accept(";")) {
        take();
      }
    } else {
      instruction(made);
    }
  }

  // Labels belong to the innermost block, and may be used before they come: declared when their block opens.
  void declare_labels() {
    int depth = 1;
    for (std::size_t i = 0; depth > 0 && peek(i).kind != Kind::kEnd; ++i) {
      const std::string_view text = peek(i).text;
      depth += text == "{" ? 1 : text == "}" ? -1 : 0;
      if (depth == 1 && peek(i).kind == Kind::kWord && peek(i + 1).text == ":") {
        // A label may hide another label. Whether it would hide anything else is a question not to depend on.
        const int hidden = scopes_.find(text);
        if (hidden >= 0 && entity(hidden).kind != PtxEntity::Kind::kLabel) {
          fail("the label `" + std::string(text.substr(0, 60)) + "` has the name of something else");
        }
        scopes_.declare({PtxEntity::Kind::kLabel, std::string(text), "", {}});
      }
    }
  }

  void label(PtxFunction& made) {
    const int id = resolve(word());
    expect(":");
    made.labels.emplace_back(id, made.instructions.size());
    emit_name(id);
  }

  void registers() {
    take();
    while (peek().kind == Kind::kWord && peek().text.front() == '.') {
      take();
    }
    do {
      const std::string name = word();
      if (accept("<")) {
        int count = 0;
        const std::string_view digits = take().text;
        std::from_chars(digits.data(), digits.data() + digits.size(), count);
        expect(">");
        if (!scopes_.declare_registers(name, count)) {
          fail("too many ranges of registers in one block");
        }
      } else {
        scopes_.declare({PtxEntity::Kind::kRegister, name, "", {}, true});
      }
    } while (accept(","));
    expect(";");
  }

  void call_parameter() {
    take();
    while (peek().kind == Kind::kWord && peek().text.front() == '.') {
      if (take().text == ".align") {
        take();
      }
    }
    scopes_.declare({PtxEntity::Kind::kParameter, word(), "", {}});
    while (!accept(";")) {
      take();
    }
  }

  void instruction(PtxFunction& made) {
    PtxInstruction made_instruction;
    made_instruction.line = peek().line;
    if (accept("@")) {
      emit(accept("!") ? "@!" : "@");
      made_instruction.predicate = resolve(word());
      emit_name(made_instruction.predicate);
    }
    made_instruction.opcode = word();
    emit(made_instruction.opcode);
    while (!accept(";")) {
      made_instruction.operands.push_back(operand());
      if (!accept(",") && !is(";")) {
        fail("expected `,` or `;`, found `" + std::string(peek().text.substr(0, 40)) + "`");
      }
    }
    emit(";");
    made.instructions.push_back(std::move(made_instruction));
  }

  PtxOperand operand() {
    PtxOperand made;
    made.memory = is("[");
    made.list = is("(");
    made.vector = is("{");
    int depth = 0;
    while (depth > 0 || (!is(",") && !is(";"))) {
      const PtxToken token = take();
      const std::string_view text = token.text;
      if (token.kind == Kind::kPunctuator) {
        if (text == ";" || text == "@") {
          fail("`" + std::string(text) + "` inside an operand");
        }
        depth += text == "[" || text == "(" || text == "{" ? 1 : text == "]" || text == ")" || text == "}" ? -1 : 0;
        if (depth < 0) {
          fail("`" + std::string(text) + "` closes nothing");
        }
        emit(text);
      } else if (token.kind == Kind::kWord && text != "_" && text != "WARP_SZ" && text.front() != '.') {
        made.names.push_back(resolve(text));
        emit_name(made.names.back());
      } else {
        emit(text);
      }
    }
    return made;
  }

  std::unordered_map<int, int> numbers_;  // of first use, for the canonical text
  PtxModule module_;
  PtxScopes scopes_;
};

}  // namespace

bool PtxInstruction::has(std::string_view part) const {
  for (std::size_t at = opcode.find(part); at != opcode.npos; at = opcode.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if (at > 0 && opcode[at - 1] == '.' && (end == opcode.size() || opcode[end] == '.' || opcode[end] == ':')) {
      return true;
    }
  }
  return false;
}

OrError<PtxModule> read_ptx_module(std::string_view ptx) {
  if (ptx.size() > kMaxPtxBytes) {
    return std::unexpected(Error{
        "PTX",
        "it has " + std::to_string(ptx.size()) + " bytes; at most " + std::to_string(kMaxPtxBytes) + " are audited",
        ""});
  }
  OrError<std::vector<PtxToken>> tokens = read_ptx_tokens(ptx);
  if (!tokens) {
    return std::unexpected(tokens.error());
  }
  try {
    return ModuleReader(std::move(*tokens)).read();
  } catch (const UnreadablePtx& unreadable) {
    return std::unexpected(unreadable.error);
  }
}

}  // namespace kf
