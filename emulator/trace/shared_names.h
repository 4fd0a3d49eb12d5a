// The names that a kernel has for what lies in shared memory (include/shared_arrays.h tells them).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/include/shared_arrays.h"

namespace emulator {

struct SharedArray {
    const char *of, *name;  // of: the array whose element `index` has it as a member, or ""
    int index;
    unsigned rank;  // of the block in its cluster
    uintptr_t begin, end;
    bool pointer;  // the first length is not known, and `end` is that of all dynamic memory
    Extents extents;

    std::string full_name() const;  // tiles[0].A
};

namespace shared_names {
void begin_launch();
void add(const SharedArray& array);  // unless it is known
const std::vector<SharedArray>& all();  // of this launch, in the order in which they were declared
uintptr_t end_of(const SharedArray& array);  // a pointer's ends where the next one begins
bool renamed(const SharedArray& array);  // memory there has got another name since
// What lies there, of those that begin last; null if nothing that the kernel has a name for.
const SharedArray* array_at(uintptr_t address);
// "full[1]" or "tiles[0].A[3][17]", the element in which the address lies; "" if it has no name.
std::string element_at(uintptr_t address);
}  // namespace shared_names

}  // namespace emulator
