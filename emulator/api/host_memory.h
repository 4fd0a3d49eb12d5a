// How large the host's own arrays are, as far as that can be told, so that a copy past the end of
// one is reported and does not overwrite what follows it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emulator {

// From here to the end of the array, if it is a block of the heap or a static variable; of a local
// variable, to the end of all of its function.
struct HostExtent {
    size_t bytes = SIZE_MAX;  // not known
    bool local = false;
};
HostExtent host_extent(const void* pointer);

}  // namespace emulator
