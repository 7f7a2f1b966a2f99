// SPDX-License-Identifier: Apache-2.0
// A PTX module as read: names of registers, variables and labels resolved, instructions still text.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/error.h>

namespace kf::emulator {

enum class Space : std::uint8_t { kGeneric, kGlobal, kConst, kShared, kLocal, kParam };

// Where an instruction comes from: the CUDA source when the module has line information, and the PTX text.
struct SourceLine {
  std::int32_t file = 0, line = 0;  // file: index into PtxModule::files; line 0: unknown
  std::int32_t ptx_line = 0;
};

struct Initializer {  // bytes of a variable; an address is patched when the module is placed
  struct Patch {
    std::int64_t at = 0;
    std::string symbol;
    std::int64_t addend = 0;
    bool generic = false;
  };
  std::vector<std::uint8_t> bytes;
  std::vector<Patch> patches;
};

struct Variable {
  std::string name;
  Space space = Space::kGlobal;
  std::int64_t bytes = 0;  // 0: `extern __shared__ x[]`
  std::int64_t align = 1;
  bool external = false;
  Initializer init;
};

struct Operand {
  enum class Kind : std::uint8_t {
    kRegister,
    kVariable,
    kLabel,
    kName,
    kInteger,
    kFloat32,
    kFloat64,
    kVector,
    kAddress,
    kPair,
    kSink
  } kind = Kind::kSink;
  std::int32_t index = -1;     // register, variable or label; see the kind
  bool negated = false;        // `!%p1`, `-%r1`
  std::string name;            // kName: a special register, a function, or what nobody declared
  std::uint64_t bits = 0;      // kInteger: value; kFloat32/64: bit pattern
  std::int64_t offset = 0;     // kVariable, kAddress: bytes added
  std::vector<Operand> parts;  // kVector; kAddress: base (a second part: coordinates); kPair: a|b
};

struct PtxInstruction {
  std::string text;                // as written, for messages: "shfl.sync.bfly.b32"
  std::vector<std::string> words;  // {"shfl", "sync", "bfly", "b32"}
  std::int32_t guard = -1;         // predicate register
  bool guard_negated = false;
  std::vector<Operand> operands;
  SourceLine where;

  bool has(std::string_view word) const;
};

struct Register {
  std::string name;
  std::int32_t bits = 0;  // 1 for predicates
};

struct PtxFunction {
  std::string name;
  bool entry = false, defined = false;
  std::vector<std::int32_t> params, returns;  // variables in param space, module indices
  std::vector<Register> registers;
  std::vector<std::string> labels;  // label_at[i]: the instruction it stands before
  std::vector<std::int32_t> label_at;
  std::map<std::int32_t, std::vector<std::int32_t>> branch_targets;  // label of a .branchtargets -> labels
  std::vector<PtxInstruction> instructions;
  std::int32_t first_variable = 0, last_variable = 0;  // declared inside: [first, last) of the module's
  std::int32_t max_threads = 0, max_registers = 0;
  std::int32_t required_threads[3]{}, required_cluster[3]{};
};

struct PtxModule {
  std::vector<std::string> files;
  std::vector<Variable> variables;  // of all scopes
  std::vector<PtxFunction> functions;

  const PtxFunction* find(std::string_view name) const;
};

// Errors name the PTX line. Any text is safe to pass.
OrError<PtxModule> parse_ptx(std::string_view text);

}  // namespace kf::emulator
