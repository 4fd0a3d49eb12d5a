// How large the blocks of the host's heap are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emulator {

// How many bytes lie from here to the end of the block that malloc() or new has allocated. SIZE_MAX:
// it is none.
size_t extent_in_heap(const void* pointer);

}  // namespace emulator
