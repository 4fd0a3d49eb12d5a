// How large the blocks of the host's heap are. Each is preceded by its size: malloc() and its like are
// replaced, in the whole program, by functions that add it and call the C library's.

#include "emulator/trace/heap.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "emulator/trace/address.h"

#ifdef __GLIBC__
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* pointer, size_t bytes);
void __libc_free(void* pointer);
}
#endif

namespace emulator {
namespace {

struct Header {
    uint64_t mark;  // depends on the address, so that no copy of it passes for one
    size_t bytes;
};
static_assert(sizeof(Header) == 16, "malloc() aligns to 16 bytes");

uint64_t mark_of(const void* block) { return address_value(block) ^ 0x9d39247e33776d41; }
Header* header_of(void* block) { return static_cast<Header*>(block) - 1; }
bool is_block(const void* pointer) {  // of the functions below
    return header_of(const_cast<void*>(pointer))->mark == mark_of(pointer);
}

[[maybe_unused]] void* block_in(void* memory, size_t bytes) {
    if (!memory) return nullptr;
    void* const block = static_cast<Header*>(memory) + 1;
    *header_of(block) = {mark_of(block), bytes};
    return block;
}
[[maybe_unused]] void* memory_of(void* block) {
    header_of(block)->mark = 0;
    return header_of(block);
}

// Whether this byte can be read: a pipe refuses it otherwise.
bool is_readable(uintptr_t address) {
    static int ends[2];
    static const bool open = pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
    char byte;
    return open && write(ends[1], reinterpret_cast<const void*>(address), 1) == 1 &&
           read(ends[0], &byte, 1) == 1;
}

}  // namespace

// Searches backwards from here for the block's beginning.
size_t extent_in_heap(const void* pointer) {
    const uintptr_t address = address_value(pointer);
    constexpr uintptr_t kStep = sizeof(Header), kPage = 4096, kMax = uintptr_t(1) << 30;
    uintptr_t at = address / kStep * kStep;
    if (!is_readable(at)) return SIZE_MAX;
    for (const uintptr_t stop = at > kMax ? at - kMax : kPage; at > stop; at -= kStep) {
        if (at % kPage == 0 && !is_readable(at - kStep)) return SIZE_MAX;
        const auto block = reinterpret_cast<const void*>(at);
        if (!is_block(block)) continue;
        const size_t bytes = header_of(const_cast<void*>(block))->bytes;
        return address < at + bytes ? at + bytes - address : SIZE_MAX;
    }
    return SIZE_MAX;
}

void (*after_malloc)(void*, size_t);
bool (*before_free)(void*, const void*);
bool (*not_from_malloc)(void*);

}  // namespace emulator

#ifdef __GLIBC__
using namespace emulator;

extern "C" {

void* malloc(size_t bytes) {
    if (bytes > PTRDIFF_MAX) return __libc_malloc(bytes);  // which fails
    void* const block = block_in(__libc_malloc(bytes + sizeof(Header)), bytes);
    if (block && after_malloc) after_malloc(block, bytes);
    return block;
}
void* calloc(size_t count, size_t bytes) {
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all) || all > PTRDIFF_MAX)
        return __libc_calloc(count, bytes);
    return block_in(__libc_calloc(1, all + sizeof(Header)), all);
}
void* realloc(void* block, size_t bytes) {
    if (!block) return malloc(bytes);
    if (!is_block(block)) return __libc_realloc(block, bytes);
    if (bytes == 0) {
        free(block);
        return nullptr;
    }
    const size_t before = header_of(block)->bytes;
    void* const memory = memory_of(block);
    void* const grown =
        bytes > PTRDIFF_MAX ? nullptr : __libc_realloc(memory, bytes + sizeof(Header));
    if (grown) return block_in(grown, bytes);
    block_in(memory, before);  // it is still there
    return nullptr;
}
void* reallocarray(void* block, size_t count, size_t bytes) {
    size_t all;
    return __builtin_mul_overflow(count, bytes, &all) ? nullptr : realloc(block, all);
}
void free(void* block) {
    if (block && before_free && before_free(block, __builtin_return_address(0))) return;
    if (block && not_from_malloc && not_from_malloc(block)) return;
    if (block && is_block(block)) __libc_free(memory_of(block));
    else __libc_free(block);
}
size_t malloc_usable_size(void* block) {
    return block && is_block(block) ? header_of(block)->bytes : 0;
}

}  // extern "C"
#endif
