// Which words of device memory have been written. Memory that no kernel, copy or fill has written
// must not be read, and its content must not be used by the host.
#pragma once

#include <cstring>
#include <string>

#include "emulator/engine/device_memory.h"

namespace emulator::written {

// A word of 4 bytes counts as unwritten as long as no write of any part of it was seen and it still
// holds its array's fill pattern. What is not seen (a block that is not traced, memset() in a
// kernel) therefore causes no false report.
constexpr size_t kWord = 4;

void begin_array(Allocation& array);  // fills it; in a traced program it counts as unwritten
void end_array(Allocation& array);

inline void mark(const Allocation& array, uintptr_t address, size_t bytes) {
    const size_t last = (address + bytes - 1 - array.begin) / kWord;
    for (size_t word = (address - array.begin) / kWord; word <= last; ++word)
        array.written[word / 64] |= uint64_t(1) << word % 64;
}
inline bool is_unwritten(const Allocation& array, size_t word) {
    uint32_t content;
    if (array.written[word / 64] >> word % 64 & 1) return false;
    std::memcpy(&content, reinterpret_cast<const char*>(array.begin) + word * kWord, kWord);
    return content == array.fill_pattern;
}
// Whether nothing has written any of these bytes. A vector load may reach past what was written, and
// a struct has padding, so that a part is enough.
inline bool all_unwritten(const Allocation& array, uintptr_t address, size_t bytes) {
    const size_t last = (address + bytes - 1 - array.begin) / kWord;
    for (size_t word = (address - array.begin) / kWord; word <= last; ++word)
        if (!is_unwritten(array, word)) return false;
    return true;
}

// The host writes these bytes, or does not write them and leaves them out as padding.
void mark_all(const void* begin, size_t bytes);
// How many of these bytes nothing has written.
size_t unwritten_bytes(const Allocation& array, const void* begin, size_t bytes);
// A call that copies, each row of cudaMemcpy2D by itself.
struct CopyCall {
    const char* name;
    const void* caller;  // its return address
    size_t bytes;  // of all rows
    uint64_t number = ++count;  // of the call
    static inline uint64_t count;

    CopyCall(const char* name, const void* caller, size_t bytes)
        : name(name), caller(caller), bytes(bytes) {}
};
// A copy, before or after it was made. It passes on what is unwritten; of the host's memory all is
// written. target, source: the arrays that `to` and `from` lie in, null on the host. place: of the
// call, if it names its stream, or "".
void note_copy(Allocation* target, const void* to, const Allocation* source, const void* from,
               size_t bytes, const CopyCall& call, const std::string& place);

// "the 400 bytes that cudaMalloc at mine.cu:31 allocated", or "the 4 bytes of the __device__ variable
// sum". address: in the array, in which many variables may lie.
std::string describe(const Allocation& array, uintptr_t address);
std::string describe_byte(const Allocation& array,
                          uintptr_t address);  // "byte 12 of the 400 bytes.."

// Because a launch has failed, it has not written its results. That is not reported again, and
// from then on until reset_counts() nothing unwritten is reported.
void note_failed_launch();
bool all_launches_succeeded();

// While the host has copies of unwritten memory, host_reads() looks at what its traced code reads.
extern bool host_has_unwritten;
void host_reads(const void* address, size_t bytes, const void* pc);

}  // namespace emulator::written
