// How reports name blocks, threads and places.

#include "emulator/names.h"

#include <cstring>

#include "emulator/clusters.h"
#include "emulator/lines.h"
#include "emulator/symbols.h"

namespace emulator {

bool same_site(const Call& a, const Call& b) {
    return a.line == b.line && a.number == b.number &&
           (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

std::string site_name(const Call& site) {
    return short_path(site.file) + ":" + std::to_string(site.line);
}

std::string block_name() { return "block " + index_name(builtins.block, run.grid); }

std::string kernel_name() {
    const Symbol* const symbol = find_symbol(reinterpret_cast<uintptr_t>(run.kernel));
    return symbol ? short_name(*symbol) : run.name;
}

std::string thread_name(unsigned thread) {
    const std::string name =
        "thread " + index_name(unflatten(thread % run.block_threads, run.block), run.block);
    return run.ranks > 1 ? name + " of rank " + std::to_string(rank_of(thread)) : name;
}

std::string index_name(uint3 index, dim3 extent) {
    const std::string x = std::to_string(index.x), y = std::to_string(index.y),
                      z = std::to_string(index.z);
    return extent.z > 1   ? "(" + x + "," + y + "," + z + ")"
           : extent.y > 1 ? "(" + x + "," + y + ")"
                          : x;
}

uint3 unflatten(uint64_t number, dim3 extent) {
    return {unsigned(number % extent.x), unsigned(number / extent.x % extent.y),
            unsigned(number / extent.x / extent.y)};
}

}  // namespace emulator
