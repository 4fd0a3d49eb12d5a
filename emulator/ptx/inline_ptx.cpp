// Inline PTX: executes asm statements.
//
// A statement's text is read once into a list of instructions (ptx_reader.cpp). Each instruction
// is a row of the table (ptx_table.cpp), whose function does what the instruction does, mostly by
// calling the emulator's function for it, as common/ptx/ does. A thread executes them one by one,
// and may wait in one. An output operand ("=" or "+") is the variable itself, so that
// wgmma, which completes after its statement, finds its accumulators; an input is a copy.

#include "emulator/include/inline_ptx.h"

#include <algorithm>
#include <unordered_map>

#include "emulator/engine/threads.h"
#include "emulator/ptx/ptx_reader.h"
#include "emulator/ptx/ptx_thread.h"
#include "emulator/trace/tracing.h"

namespace emulator {
namespace {

// The linker merges equal literals, so statements with other operands may share a text.
struct Key {
    const char *text, *letters;
    bool operator==(const Key& other) const {
        return text == other.text && letters == other.letters;
    }
};
struct Hash {
    size_t operator()(const Key& key) const {
        return reinterpret_cast<size_t>(key.text) * 31 + reinterpret_cast<size_t>(key.letters);
    }
};

const PtxProgram& program_of(const PtxStatement& statement) {
    static auto& programs = *new std::unordered_map<Key, PtxProgram, Hash>;
    const auto [entry, is_new] = programs.try_emplace({statement.text, statement.letters});
    if (is_new) entry->second = read_ptx(statement.letters, statement.text);
    return entry->second;
}

}  // namespace

void run_ptx(const PtxStatement& statement) {
    const EmulatorsWork work;
    const PtxProgram& program = program_of(statement);
    if (!program.error.empty())
        misuse("inline PTX: " + program.error, statement.file, statement.line);
    PtxOperand slots[program.operands + program.registers + 1];
    uint64_t registers[program.registers + 1];
    std::copy_n(statement.operands, program.operands, slots);
    for (int i = 0; i < program.registers; ++i) {
        registers[i] = ~uint64_t(0) / 3;  // the value of a register that is never set
        slots[program.operands + i] = {&registers[i], 8, false};
    }
    threads[current_thread].asm_pc = statement.pc;
    PtxThread(statement, program, slots).run();
    threads[current_thread].asm_pc = nullptr;
}

}  // namespace emulator
