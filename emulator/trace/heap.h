// How large the blocks of the host's heap are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emulator {

// How many bytes lie from here to the end of the block that malloc() or new has allocated. SIZE_MAX:
// no such block has this address.
size_t extent_in_heap(const void* pointer);

// If they are not null: called after malloc() has allocated a block, and before free() releases one,
// which is kept if this returns true.
extern void (*after_malloc)(void* block, size_t bytes);
extern bool (*before_free)(void* block, const void* caller);
// Likewise before free() looks at the block: whether this is no memory of malloc().
extern bool (*not_from_malloc)(void* block);

}  // namespace emulator
