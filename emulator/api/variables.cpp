// CUDA's runtime API: __device__ and __constant__ variables by their names.

#include "emulator/api/variables.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "emulator/api/errors.h"
#include "emulator/engine/sections.h"
#include "emulator/include/cuda_runtime.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/symbols.h"

namespace emulator {
namespace {

std::vector<const Symbol*> known;  // the variables whose address on the device the host has

const Symbol* find_named(uintptr_t address) {
    const bool named = kDeviceVariables.contains(address) || kConstants.contains(address);
    return named ? find_symbol(address) : nullptr;
}

// The variable of that name whose address on the device the host does not have, or null.
const Symbol* find_unknown(uintptr_t address) {
    const Symbol* const variable = find_named(address);
    const bool is_known = std::find(known.begin(), known.end(), variable) != known.end();
    return is_known ? nullptr : variable;
}

void note_known(uintptr_t address) {
    if (const Symbol* const variable = find_unknown(address)) known.push_back(variable);
}

}  // namespace

bool is_name_of_variable(const void* pointer) {
    return find_unknown(reinterpret_cast<uintptr_t>(pointer));
}

std::string name_of_variable(const void* pointer) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    return std::string("the host's name of the ") +
           (kConstants.contains(address) ? "__constant__" : "__device__") + " variable " +
           short_name(*find_symbol(address)) + ", which is not its address on the device";
}

void note_addresses(const void* bytes, size_t count) {
    if (kDeviceVariables.begin == kDeviceVariables.end && kConstants.begin == kConstants.end)
        return;
    for (size_t at = 0; at + sizeof(uintptr_t) <= count; at += sizeof(uintptr_t)) {
        uintptr_t word;
        std::memcpy(&word, static_cast<const char*>(bytes) + at, sizeof word);
        note_known(word);
    }
}

void check_pointer(const Launch& launch, const void* pointer) {
    if (!is_name_of_variable(pointer)) return;
    const std::string name = short_name(*find_symbol(reinterpret_cast<uintptr_t>(pointer)));
    report_once("the launch at " + short_place(launch.file, launch.line) +
                    " passes to the kernel " + name_of_variable(pointer) +
                    ": cudaGetSymbolAddress(&pointer, " + name +
                    ") gives the address, or the kernel itself uses " + name,
                launch.name);
}

size_t size_of_variable(const void* symbol) {
    const auto address = reinterpret_cast<uintptr_t>(symbol);
    const bool variable = kDeviceVariables.contains(address) ||
                          kManagedVariables.contains(address) || kConstants.contains(address);
    const Symbol* const found = variable ? find_symbol(address) : nullptr;
    return found ? found->size : 0;
}

cudaError_t find_variable(const void* symbol, size_t offset, size_t bytes, void** place,
                          const char* call, const char* file, int line) {
    *place = static_cast<char*>(const_cast<void*>(symbol)) + offset;
    const size_t size = size_of_variable(symbol);
    if (size && offset <= size && bytes <= size - offset) return cudaSuccess;
    report_and_print(
        std::string(call) + " at " + short_place(file, line) +
        (size ? ": " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                    " exceed the variable's " + std::to_string(size)
              : ": takes a __device__ or __constant__ variable, not its address or name"));
    return set_last_error(size ? cudaErrorInvalidValue : cudaErrorInvalidSymbol);
}

void note_address(const void* variable) { note_known(reinterpret_cast<uintptr_t>(variable)); }

}  // namespace emulator
