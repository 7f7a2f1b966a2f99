// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lexer.h"
#include "ptx.h"

namespace kf::emulator {

// Recursive descent over PTX ISA 9.0. Syntax errors travel as SyntaxError inside this class only.
class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}
  OrError<PtxModule> parse();

 private:
  struct SyntaxError {
    int line;
    std::string what;
  };
  struct Name {
    enum class Kind : std::uint8_t { kRegister, kVariable } kind;
    std::int32_t index;
  };
  struct Family {  // `.reg .b32 %r<31>`: registers first .. first + count - 1
    std::int32_t first, count;
  };
  struct Scope {
    std::map<std::string, Name, std::less<>> names;
    std::map<std::string, Family, std::less<>> families;
    std::map<std::string, std::int32_t, std::less<>> labels;
    int parent;
  };
  struct LabelUse {
    int scope;
    std::string name;
    std::int32_t placeholder;
  };

  // parser.cc: modules, functions, scopes
  [[noreturn]] void fail(const std::string& what) const;
  Token expect(std::string_view text);
  bool accept(std::string_view text);
  std::string word();
  void directive();
  void skip_braces();
  void skip_statement();
  void function(bool entry);
  std::vector<std::int32_t> parameter_list();
  void function_directives(PtxFunction& into);
  void body(PtxFunction& into);
  void statement(PtxFunction& into);
  void location();
  void resolve_labels(PtxFunction& into);
  const Name* find_name(std::string_view name) const;
  std::int32_t find_register(std::string_view name) const;
  std::int32_t use_label(const std::string& name);

  // parse_data.cc: variables, registers, numbers
  std::int32_t variable(Space space, bool external);
  void declare_variables(Space space, bool external);
  void registers(PtxFunction& into);
  void initializer(Variable& variable, int element_bytes, bool is_float, std::size_t depth = 0);
  std::int64_t integer();
  Operand number();

  // parse_instruction.cc
  void instruction(PtxFunction& into);
  Operand operand(std::size_t depth = 0);
  Operand name_operand();

  Lexer lexer_;
  PtxModule module_;
  std::vector<Scope> scopes_;
  int scope_ = -1;
  std::vector<LabelUse> label_uses_;
  std::vector<std::string> pending_targets_;
  SourceLine where_;
};

// ".b32" -> 32, ".f16x2" -> 32, ".pred" -> 1; 0: not a type.
int type_bits(std::string_view type);

}  // namespace kf::emulator
