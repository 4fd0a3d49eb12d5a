// A kernel's names for its arrays in shared memory, which include/shared_arrays.h passes on.
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
    bool pointer;  // its first length is unknown, and `end` is the end of all dynamic memory
    Extents extents;

    std::string full_name() const;  // tiles[0].A
};

namespace shared_names {
void begin_launch();
void add(const SharedArray& array);  // unless it is known already
const std::vector<SharedArray>& all();  // of this launch, in the order in which they were declared
uintptr_t end_of(const SharedArray& array);  // a pointer's array ends where the next one begins
bool renamed(const SharedArray& array);  // that memory has been given another name since
// The array at that address; of several, the one that begins last. null: the kernel has no name for
// it.
const SharedArray* array_at(uintptr_t address);
// "full[1]" or "tiles[0].A[3][17]", the element in which the address lies; "" if it has no name.
std::string element_at(uintptr_t address);

// Arrays that are declared as extern __shared__ by different names, and so are the same memory.
extern bool several_externs;
// If the first line stores by the name of one of them, and the second by that of another one:
// "ta and tb (x.cu:7, x.cu:8) are the same memory". Else "".
std::string same_memory(const std::string& first, const std::string& second);
}  // namespace shared_names

}  // namespace emulator
