// Asynchronous copies that a thread has issued and not yet waited for.

#include "emulator/warp/async.h"

#include <climits>
#include <cstring>

#include "emulator/engine/accesses.h"
#include "emulator/engine/threads.h"
#include "emulator/include/cuda_pipeline.h"
#include "emulator/trace/record.h"

namespace emulator {
namespace {

struct Copy {
    void* to;
    size_t size;
    unsigned batch;
    const void* pc;
    unsigned char bytes[16];
};

struct Pipeline {  // of a thread
    std::vector<Copy> copies;  // in the order of their batches
    unsigned batches = 0;  // committed

    void finish(unsigned end_batch) {
        size_t done = 0;
        for (; done < copies.size() && copies[done].batch < end_batch; ++done) {
            const Copy& copy = copies[done];  // counted at the call already
            accesses::note(current_thread, copy.to, int(copy.size), trace::kWrite, copy.pc, false);
            std::memcpy(copy.to, copy.bytes, copy.size);
        }
        copies.erase(copies.begin(), copies.begin() + done);
    }
};
Pipeline pipelines[kMaxThreads];

}  // namespace

void* async_copy(void* to, const void* from, size_t size, size_t zfill, const void* pc,
                 const char* file, int line) {
    if ((size != 4 && size != 8 && size != 16) || zfill > size)
        misuse("__pipeline_memcpy_async copies 4, 8 or 16 bytes, not " + std::to_string(size) +
                   " less " + std::to_string(zfill),
               file, line);
    if (reinterpret_cast<uintptr_t>(to) % size || reinterpret_cast<uintptr_t>(from) % size)
        misuse("__pipeline_memcpy_async: an address is not aligned to the " + std::to_string(size) +
                   " bytes",
               file, line);
    // How many wavefronts the store takes depends on when the data arrive, so it is not counted;
    // see REFERENCE.md.
    if (zfill < size && accesses::note(current_thread, from, int(size - zfill), trace::kRead, pc,
                                       true, size == 16 ? to : nullptr))
        suspend();
    accesses::note(current_thread, to, int(size), trace::kWrite, pc, false);
    Pipeline& self = pipelines[current_thread];
    self.copies.push_back({to, size, self.batches, pc, {}});
    return self.copies.back().bytes;
}

void commit_copies() { ++pipelines[current_thread].batches; }

void wait_for_copies(size_t pending, const char* file, int line) {
    if (record::on) record::call(current_thread, "wait", file, line);
    Pipeline& self = pipelines[current_thread];
    if (self.batches > pending) self.finish(self.batches - unsigned(pending));
}

namespace async {

// A failed launch may have left copies behind.
void begin_launch() {
    for (Pipeline& pipeline : pipelines) pipeline.copies.clear();
}

void end_thread() { pipelines[current_thread].finish(UINT_MAX); }

}  // namespace async
}  // namespace emulator
