// A thread that executes an asm statement: the values of its operands and registers.

#include "emulator/ptx/ptx_thread.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "emulator/engine/accesses.h"
#include "emulator/engine/shared_window.h"
#include "emulator/engine/stacks.h"
#include "emulator/engine/threads.h"
#include "emulator/include/cuda_bf16.h"

namespace emulator {

void PtxThread::run() {
    while (next < program.instructions.size()) {
        const PtxInstruction& instruction = program.instructions[next++];
        if (instruction.guard.kind == PtxArgument::nothing || holds(instruction.guard))
            instruction.row->run(*this, instruction);
    }
}

void PtxThread::refuse(const std::string& why) const {
    misuse(program.instructions[next - 1].row->name + (": " + why), file(), line());
    std::abort();  // not reached
}

// An operand that a kernel keeps in memory, as in "=f"(s[i]), is accessed like any other memory.
void PtxThread::trace(const PtxOperand& slot, trace::Kind kind) const {
    if (!traced || reinterpret_cast<uintptr_t>(slot.at) - stacks_begin < stacks_bytes) return;
    accesses::note_compiled(slot.at, slot.bytes, kind, statement.pc, true);
    in_kernel = false;
}

uint64_t PtxThread::bits(const PtxArgument& argument, const PtxType& type) const {
    uint64_t found = argument.bits;
    if (argument.kind == PtxArgument::slot) {
        const PtxOperand& slot = slots_[argument.index];
        found = 0;
        trace(slot, trace::kRead);
        std::memcpy(&found, slot.at, std::min<size_t>(slot.bytes, 8));
        if (slot.is_signed && slot.bytes < 8 && found >> (8 * slot.bytes - 1) & 1)
            found |= ~uint64_t(0) << 8 * slot.bytes;
    } else if (argument.kind == PtxArgument::special) {
        found = argument.read(argument.name.c_str());
    } else if (argument.kind == PtxArgument::sum) {
        found = 0;
        for (const PtxArgument& part : argument.parts) found += bits(part, {'s', 8});
    } else if (argument.kind == PtxArgument::number && type.is_floating() && argument.floating) {
        double value;
        std::memcpy(&value, &argument.bits, sizeof value);
        found = bits_of_double(value, type);
    } else if (argument.kind != PtxArgument::number) {
        refuse("an operand is not a value");
    }
    if (argument.negated && type.kind == 'p') found ^= 1;
    else if (argument.negated) found = -found;
    return type.width() < 8 ? found & ((uint64_t(1) << 8 * type.width()) - 1) : found;
}

void PtxThread::write(const PtxArgument& argument, const PtxType& type, uint64_t bits) const {
    if (argument.kind == PtxArgument::nothing) return;
    if (argument.kind != PtxArgument::slot) refuse("the result needs a register");
    const PtxOperand& slot = slots_[argument.index];
    if (argument.index < program.operands && slot.bytes < type.width())
        refuse("the result has " + std::to_string(type.width()) + " bytes, its operand " +
               std::to_string(slot.bytes));
    if (slot.bytes > type.width() && type.kind == 's')  // a wider register is sign-extended
        bits = uint64_t(int64_t(bits << (64 - 8 * type.width())) >> (64 - 8 * type.width()));
    trace(slot, trace::kWrite);
    std::memcpy(slot.at, &bits, std::min<size_t>(slot.bytes, 8));
}

int64_t PtxThread::integer(const PtxArgument& argument, const PtxType& type) const {
    const uint64_t found = bits(argument, type);
    const int unused = 64 - 8 * type.width();
    return type.kind == 's' ? int64_t(found << unused) >> unused : int64_t(found);
}

double PtxThread::floating(const PtxArgument& argument, const PtxType& type) const {
    return double_of(bits(argument, type), type);
}

void PtxThread::write_floating(const PtxArgument& argument, const PtxType& type,
                               double value) const {
    write(argument, type, bits_of_double(value, type));
}

void* PtxThread::pointer(const PtxArgument& address, bool in_shared) const {
    if (address.kind != PtxArgument::address || address.parts.empty())
        refuse("an address stands in brackets: [%0]");
    const uint64_t number = bits(address.parts[0], {'u', 8});
    if (!in_shared) return reinterpret_cast<void*>(number);
    // The upper half of a 32-bit register that a pointer was cut down to is lost, too.
    void* const found = number >> 32 ? nullptr : from_shared(number);
    if (!found)
        refuse("that is not a shared-memory address: __cvta_generic_to_shared(pointer) gives it");
    return found;
}

void* PtxThread::contiguous(const PtxArgument& list, int bytes) const {
    const auto at = [&](const PtxArgument& part) {
        return part.kind == PtxArgument::slot ? static_cast<char*>(slots_[part.index].at) : nullptr;
    };
    char* const first = list.parts.empty() ? nullptr : at(list.parts[0]);
    for (size_t i = 0; i < list.parts.size(); ++i)
        if (!first || at(list.parts[i]) != first + i * bytes) return nullptr;
    return first;
}

double double_of(uint64_t bits, const PtxType& type) {
    if (type.kind == 'f' && type.bytes == 2) return half_to_float(uint16_t(bits));
    if (type.kind == 'n') return __builtin_bit_cast(float, uint32_t(bits) << 16);
    if (type.bytes == 8) return __builtin_bit_cast(double, bits);
    return __builtin_bit_cast(float, uint32_t(bits));
}

uint64_t bits_of_double(double value, const PtxType& type) {
    if (type.bytes == 8) return __builtin_bit_cast(uint64_t, value);
    if (type.kind == 'n') return float_to_bfloat16(before_rounding(value));
    if (type.bytes == 2) return float_to_half(before_rounding(value));
    return __builtin_bit_cast(uint32_t, float(value));
}

}  // namespace emulator
