// Inline PTX. rewrite_launches.py turns each asm statement into a call:
//
//     asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
//     emulator::inline_ptx(__FILE__, __LINE__, "ld.shared.u32 %0, [%1];", emulator::out<'r'>(x),
//                          emulator::in<'r'>(address));
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

// Bytes of an operand with that constraint; 0: a number of any size.
constexpr size_t ptx_bytes(char letter) {
    return letter == 'h'                    ? 2
           : letter == 'r' || letter == 'f' ? 4
           : letter == 'l' || letter == 'd' ? 8
           : letter == 'q'                  ? 16
                                            : 0;
}

template <char constraint, class T>
struct PtxOutput {
    static constexpr char letter = constraint;
    T* variable;
};
template <char constraint, class T>
struct PtxInput {
    static constexpr char letter = constraint;
    T value;
};
template <char letter, class T>
__attribute__((always_inline)) inline PtxOutput<letter, T> out(T& variable) {
    static_assert(sizeof(T) == ptx_bytes(letter),
                  "an operand's size must be that of its constraint");
    return {&variable};
}
template <char letter, class T>
__attribute__((always_inline)) inline PtxInput<letter, T> in(T value) {
    static_assert(sizeof(T) == ptx_bytes(letter) || ptx_bytes(letter) == 0,
                  "an operand's size must be that of its constraint");
    return {value};
}

template <class T>
__attribute__((always_inline)) inline PtxOperand ptx_operand(T* value) {
    return {const_cast<void*>(static_cast<const volatile void*>(value)), sizeof(T),
            std::is_signed_v<T> || std::is_enum_v<T>};
}
template <char letter, class T>
__attribute__((always_inline)) inline PtxOperand ptx_operand(PtxOutput<letter, T>& output) {
    return ptx_operand(output.variable);
}
template <char letter, class T>
__attribute__((always_inline)) inline PtxOperand ptx_operand(PtxInput<letter, T>& input) {
    return ptx_operand(&input.value);
}

struct PtxStatement {  // as it is executed
    const char* file;
    int line;
    const void* pc;  // the user's code, for the trace
    const char* letters;  // of the operands' constraints
    const char* text;
    const PtxOperand* operands;
};
void run_ptx(const PtxStatement& statement);

template <class... Operands>
__attribute__((noinline, no_sanitize("thread"))) void inline_ptx(const char* file, int line,
                                                                 const char* text,
                                                                 Operands... operands) {
    static constexpr char letters[] = {Operands::letter..., 0};
    const PtxOperand all[] = {ptx_operand(operands)..., {}};
    run_ptx({file, line, __builtin_return_address(0), letters, text, all});
}

}  // namespace emulator

size_t __cvta_generic_to_shared(const void* pointer);
void* __cvta_shared_to_generic(size_t number);
inline size_t __cvta_generic_to_global(const void* pointer) { return size_t(pointer); }
inline void* __cvta_global_to_generic(size_t number) { return reinterpret_cast<void*>(number); }
