// A thread that executes an asm statement: the values of its operands and registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emulator/include/inline_ptx.h"
#include "emulator/ptx/ptx_instruction.h"
#include "emulator/trace/sites.h"

namespace emulator {

class PtxThread {
public:
    PtxThread(const PtxStatement& statement, const PtxProgram& program, const PtxOperand* slots)
        : statement(statement), program(program), slots_(slots) {}
    void run();

    // Reports misuse by the current instruction, and ends the launch.
    [[noreturn]] void refuse(const std::string& why) const;

    // An argument's value converted to the type, in the low-order bits; the others are 0. write()
    // stores such a value.
    uint64_t bits(const PtxArgument& argument, const PtxType& type) const;
    void write(const PtxArgument& argument, const PtxType& type, uint64_t bits) const;
    uint32_t word(const PtxArgument& argument) const { return uint32_t(bits(argument, {'u', 4})); }
    // The value of an integer type, sign-extended if the type is signed.
    int64_t integer(const PtxArgument& argument, const PtxType& type) const;
    bool holds(const PtxArgument& predicate) const { return bits(predicate, {'p', 1}) & 1; }
    void set_predicate(const PtxArgument& predicate, bool value) const {
        write(predicate, {'p', 1}, value);
    }
    bool is_predicate(const PtxArgument& argument) const {
        return argument.kind == PtxArgument::slot && program.letters[argument.index] == 'p';
    }
    double floating(const PtxArgument& argument, const PtxType& type) const;
    void write_floating(const PtxArgument& argument, const PtxType& type, double value) const;

    // The host pointer for an address operand, [address]. in_shared: the operand is a shared-memory
    // address, as __cvta_generic_to_shared() returns it.
    void* pointer(const PtxArgument& address, bool in_shared) const;
    uint64_t* mbarrier(const PtxArgument& address) const {
        return static_cast<uint64_t*>(pointer(address, true));
    }
    // The first register of a list whose registers are contiguous in memory; null if they are not.
    void* contiguous(const PtxArgument& list, int bytes) const;

    const char* file() const { return statement.file; }
    int line() const { return statement.line; }

    const PtxStatement& statement;
    const PtxProgram& program;
    size_t next = 0;  // the instruction that comes next

private:
    void trace(const PtxOperand& slot, trace::Kind kind) const;

    const PtxOperand* slots_;  // of the operands, then of the registers
};

double double_of(uint64_t bits, const PtxType& type);  // of one element
uint64_t bits_of_double(double value, const PtxType& type);

}  // namespace emulator
