// What the arguments of a launch may not be.

#include "emulator/api/arguments.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "emulator/engine/device_memory.h"
#include "emulator/engine/names.h"
#include "emulator/engine/races.h"
#include "emulator/engine/run.h"
#include "emulator/engine/sections.h"
#include "emulator/engine/written.h"
#include "emulator/include/cuda_runtime.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/symbols.h"
#include "emulator/trace/tracing.h"

extern "C" char __executable_start, _end;  // by the linker: the program

namespace emulator {
namespace {

std::set<uintptr_t> functions;  // whose address on the device the host has
// Objects that the host has copied to the device, by their place there: the host's table of virtual
// functions.
std::map<uintptr_t, const Symbol*> objects;

// An object points past the first two words of its table, at the first function.
constexpr size_t kFirstFunction = 2 * sizeof(uintptr_t);
// Whether it is the table of virtual functions of one of the program's own classes.
bool is_table(const Symbol& symbol) {
    const std::string name = symbol.mangled;
    for (const char* other : {"St", "NSt", "N8emulator", "N5boost", "N10__cxxabiv1"})
        if (name.find(std::string("_ZTV") + other) == 0) return false;
    return name.find("_ZTV") == 0;
}

// Two __restrict__ parameters of the launch that runs are this pointer.
struct Restricted {
    uintptr_t pointer = 0;
    std::string kernel, names;
} restricted;

// Calls use(address, word) for each aligned word of 8 bytes that is an address in the program.
template <class Use>
void for_each_address(const void* bytes, uintptr_t to, size_t count, const Use& use) {
    const auto begin = reinterpret_cast<uintptr_t>(&__executable_start),
               end = reinterpret_cast<uintptr_t>(&_end);
    for (size_t at = -to % sizeof(uintptr_t); at + sizeof(uintptr_t) <= count;
         at += sizeof(uintptr_t)) {
        uintptr_t word;
        std::memcpy(&word, static_cast<const char*>(bytes) + at, sizeof word);
        if (word - begin < end - begin) use(to + at, word);
    }
}

// Kernels have stored this address in memory that the host may read itself.
bool in_managed_memory(uintptr_t function) {
    const DeviceMemoryOpen open;
    bool found = false;
    const auto compare = [&](uintptr_t, uintptr_t word) { found |= word == function; };
    for (const Allocation& a : allocations)
        if (a.kind != Memory::device &&
            (a.kind != Memory::variables || kManagedVariables.contains(a.begin)))
            for_each_address(reinterpret_cast<const void*>(a.begin), a.begin, a.end - a.begin,
                             compare);
    return found;
}

// The launch has called a virtual function of an object if it has read the object's first word,
// which kernels do for nothing else.
void check_objects() {
    for (auto object = objects.begin(); object != objects.end();) {
        const auto [at, table] = *object;
        const Allocation* const array = find_allocation(at);
        if (!array || (array->cells && races::last_writer(array->cells, array->begin, at))) {
            object = objects.erase(object);  // it is freed, or a kernel has overwritten it
            continue;
        }
        ++object;
        if (!array->cells || array->elements == Element::other ||  // an integer looks like it
            !races::accessed_since(races::clock_before_launch(), false, array->cells, array->begin,
                                   at, at + sizeof(uintptr_t)))
            continue;
        std::string type = name_of(*table);  // "vtable for Square"
        type.erase(0, type.rfind(' ') + 1);
        report_once(site_name(run.launched) + " launches " + run.name +
                        ", which calls virtual functions of an object that the host has copied to "
                        "the device: a " +
                        type +
                        " whose table of virtual functions is the "
                        "host's. A kernel must construct it",
                    written::describe_byte(*array, at));
    }
}

void check_restricted() {
    const uintptr_t pointer = std::exchange(restricted.pointer, 0);
    const Allocation* const array = pointer ? find_allocation(pointer) : nullptr;
    if (!array || !array->cells ||
        !races::accessed_since(races::clock_before_launch(), true, array->cells, array->begin,
                               pointer, array->end))
        return;
    report_once(restricted.kernel + " declares " + restricted.names +
                    " as __restrict__, but two of them are the same array, which the kernel reads "
                    "and writes: a compiler may keep an old value in a register",
                "the launch at " + site_name(run.launched));
}

}  // namespace

void note_objects(const void* bytes, uintptr_t to, size_t count) {
    if (!compiled_for_tracing) return;  // check_objects() looks only at what was traced
    objects.erase(objects.lower_bound(to), objects.lower_bound(to + count));
    if (!bytes) return;
    for_each_address(bytes, to, count, [](uintptr_t at, uintptr_t word) {
        const Symbol* const table = find_symbol(word);
        if (table && word == table->begin + kFirstFunction && is_table(*table)) objects[at] = table;
    });
}

void note_functions(const void* bytes, size_t count) {
    for_each_address(bytes, 0, count, [](uintptr_t, uintptr_t word) {
        const Symbol* const function = find_symbol(word);
        if (function && function->function && function->begin == word) functions.insert(word);
    });
}

void check_function(const Launch& launch, const void* pointer) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const Symbol* const function = find_symbol(address);
    if (!function || functions.count(address) || in_managed_memory(address)) return;
    const std::string name = short_name(*function);
    report_once("the launch at " + short_place(launch.file, launch.line) +
                    " passes to the kernel the host's address of " + name +
                    "(), which is not its address on the device: copy that with "
                    "cudaMemcpyFromSymbol() from a __device__ variable that holds " +
                    name,
                launch.name);
}

void report_virtual_argument(const Launch& launch, const char* type) {
    char* const name = abi::__cxa_demangle(type, nullptr, nullptr, nullptr);
    report_once(
        "the launch at " + short_place(launch.file, launch.line) + " passes to the kernel a " +
            (name ? name : type) +
            ", which has virtual functions: the table of these is the host's. The kernel must "
            "construct the object",
        launch.name);
    std::free(name);
}

void note_restrict(const char* file, int line, const char* names, const void* both) {
    if (restricted.pointer) return;
    const EmulatorsWork work;
    restricted = {reinterpret_cast<uintptr_t>(both), short_place(file, line), names};
}

namespace arguments {

void end_launch() {
    if (!run.restart && !run.error && compiled_for_tracing) {
        check_restricted();
        if (!objects.empty()) check_objects();
    }
    restricted.pointer = 0;
}

}  // namespace arguments
}  // namespace emulator
