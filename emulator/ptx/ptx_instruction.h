// The instructions of an asm statement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emulator {

// Of .b32, .f16x2 and the like. kind: the letter, but 'n' for bf16, 't' for tf32, 'p' for pred.
struct PtxType {
    char kind = 0;
    int bytes = 0, count = 1;  // of an element; how many of them a register packs

    int width() const { return bytes * count; }
    bool is_floating() const { return kind == 'f' || kind == 'n' || kind == 't'; }
};
PtxType ptx_type(const std::string& name);  // kind 0: no type

struct PtxArgument {
    // A register or the statement's operand; a number; a special register; "_"; {a, b}; [a + b, c];
    // a + b; p|q; the target of a branch.
    enum Kind { slot, number, special, nothing, list, address, sum, pair, label } kind = nothing;
    int index = 0;  // of the slot
    uint64_t bits = 0;  // of the number
    bool floating = false;  // the number has a fraction: its bits are those of a double
    bool negated = false;  // !p, -a
    uint64_t (*read)(const char* name) = nullptr;  // a special register
    std::string name{};
    std::vector<PtxArgument> parts{};
};

struct PtxInstruction;
class PtxThread;
struct PtxRow {  // of the table of instructions
    const char* name;  // the first parts of its name: mbarrier.try_wait
    // That may follow. "type" stands for every type; a row that begins with a type needs one.
    const char* modifiers;
    int least, most;  // operands
    void (*run)(PtxThread& thread, const PtxInstruction& instruction);
};
struct PtxInstruction {
    const PtxRow* row = nullptr;
    std::string opcode;
    std::vector<std::string> modifiers;  // that follow the row's name
    std::vector<PtxType> types;  // among these
    std::vector<PtxArgument> arguments;
    PtxArgument guard;  // @p; nothing: none
    size_t target = 0;  // of a branch
    mutable const void* prepared = nullptr;  // what `run` has looked up once

    bool has(const char* modifier) const;
    PtxType type() const { return types.empty() ? PtxType{} : types.back(); }
};

struct PtxProgram {
    std::vector<PtxInstruction> instructions;
    int operands = 0, registers = 0;  // registers have the slots after the operands
    std::vector<char> letters;  // by slot: the constraint's (r, l, h, f, d, n), or the type's
    std::string error;  // why it cannot be run
};

}  // namespace emulator
