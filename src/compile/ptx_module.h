// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/error.h>

namespace kf {

// PTX as the audit needs it: which names mean the same thing, and what each instruction reads and writes. Nothing of
// what instructions compute. Names are resolved with PTX's scopes: a register declared inside { } is its own thing.
struct PtxEntity {
  enum class Kind { kRegister, kSpecial, kParameter, kVariable, kFunction, kLabel } kind = Kind::kRegister;
  std::string name;
  std::string space;         // kVariable: "global", "const", "shared", "local"
  std::vector<int> initial;  // kVariable: entities named in its initial value
  bool authored = false;     // kRegister: inline PTX declares it; the compiler declares ranges named %... of a function
};

struct PtxOperand {
  bool memory = false;     // [ ... ]
  bool list = false;       // ( ... ) of a call
  bool vector = false;     // { ... }
  std::vector<int> names;  // entities, in order; of memory operands the first one is the base
};

struct PtxInstruction {
  int line = 0;
  std::string opcode;  // "st.global.v4.f32"
  int predicate = -1;  // entity of @%p
  std::vector<PtxOperand> operands;

  std::string_view base() const { return std::string_view(opcode).substr(0, opcode.find('.')); }
  // Is ".word" one of the opcode's parts?
  bool has(std::string_view part) const;
};

struct PtxFunction {
  std::string name;
  int entity = -1;
  bool entry = false;
  bool defined = false;  // has a body
  std::vector<int> parameters, results;
  std::vector<PtxInstruction> instructions;
  std::vector<std::pair<int, std::size_t>> labels;  // entity, index of the instruction behind it
};

struct PtxModule {
  std::vector<PtxEntity> entities;
  std::vector<PtxFunction> functions;  // declarations without a body are merged with their definition
  std::string canonical;               // the code with names replaced by numbers of first use; for hashing
};

// An error says on which line the text stopped making sense, or which name nothing declares.
OrError<PtxModule> read_ptx_module(std::string_view ptx);

}  // namespace kf
