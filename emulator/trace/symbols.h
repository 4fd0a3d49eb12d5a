// The program's own symbol table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emulator {

struct Symbol {  // a function or a variable
    uintptr_t begin;
    size_t size;
    bool function;
    const char* mangled;
};
const std::vector<Symbol>& symbols();  // sorted by address; empty in a stripped program
const Symbol* find_symbol(uintptr_t address);
uintptr_t load_address();  // 0 if the program runs at its link address
std::string name_of(const Symbol& symbol);  // demangled
// A function as short_name() has it; for a variable in a function, that function.
std::string function_of(const Symbol& symbol);
std::string short_name(const Symbol& symbol);  // as in the source: As, matmul<true>
// Whether it is surely a shared array: by its declaration, or as a variable of this kernel.
bool belongs_to_kernel(const Symbol& symbol, const Symbol* kernel);
bool is_shared_array(const Symbol& symbol);  // rather than a variable of the host
bool is_data(uintptr_t address);  // in the program's writable data

}  // namespace emulator
