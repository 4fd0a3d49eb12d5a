// Inline PTX. rewrite_launches.py turns each asm statement into a call:
//
//     asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
//     emulator::inline_ptx(__FILE__, __LINE__, "=r,r", "ld.shared.u32 %0, [%1];",
//                          emulator::out<4>(x), emulator::in<4>(address));
//
// emulator/ptx/ reads the string when the statement is first executed, and executes it.
#pragma once

#include <cstdint>
#include <type_traits>

namespace emulator {

struct PtxOperand {
    void* at;  // the variable of an output, the statement's copy of an input
    uint8_t bytes;
    bool is_signed;
};

template <class T>
struct PtxOutput {
    T* variable;
};
template <int bytes, class T>
__attribute__((always_inline)) inline PtxOutput<T> out(T& variable) {
    static_assert(sizeof(T) == bytes, "an operand's size must be that of its constraint");
    return {&variable};
}
template <int bytes, class T>
__attribute__((always_inline)) inline T in(T value) {
    static_assert(sizeof(T) == bytes, "an operand's size must be that of its constraint");
    return value;
}

template <class T>
__attribute__((always_inline)) inline PtxOperand ptx_operand(T& value) {
    return {const_cast<void*>(static_cast<const volatile void*>(&value)), sizeof(T),
            std::is_signed_v<T> || std::is_enum_v<T>};
}
template <class T>
__attribute__((always_inline)) inline PtxOperand ptx_operand(PtxOutput<T>& output) {
    return ptx_operand(*output.variable);
}

struct PtxStatement {  // as it is executed
    const char* file;
    int line;
    const void* pc;  // the user's code, for the trace
    const char* constraints;  // "=r,+f,r"
    const char* text;
    const PtxOperand* operands;
    int count;
};
void run_ptx(const PtxStatement& statement);

template <class... T>
__attribute__((noinline, no_sanitize("thread"))) void inline_ptx(const char* file, int line,
                                                                 const char* constraints,
                                                                 const char* text, T... operands) {
    const PtxOperand all[] = {ptx_operand(operands)..., {}};
    run_ptx({file, line, __builtin_return_address(0), constraints, text, all, sizeof...(T)});
}

}  // namespace emulator

size_t __cvta_generic_to_shared(const void* pointer);
void* __cvta_shared_to_generic(size_t number);
inline size_t __cvta_generic_to_global(const void* pointer) { return size_t(pointer); }
inline void* __cvta_global_to_generic(size_t number) { return reinterpret_cast<void*>(number); }
