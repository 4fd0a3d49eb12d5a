// Asynchronous copies that a thread has issued and not yet waited for.

#include "emulator/warp/async.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "emulator/engine/accesses.h"
#include "emulator/engine/clocks.h"
#include "emulator/engine/names.h"
#include "emulator/engine/races.h"
#include "emulator/engine/threads.h"
#include "emulator/include/cuda_pipeline.h"
#include "emulator/trace/record.h"

namespace emulator {
namespace {

struct Copy {
    char* to;
    size_t size;
    unsigned batch;
    const void* pc;
    unsigned char bytes[16];
    // The last wait of its thread since the call, and why that does not cover the copy.
    Call left_by{};
    size_t left = 0;  // batches that may still be in flight
    bool committed = false;
    // What other threads have done to the destination since the call, once for each instruction.
    std::vector<races::InFlightAccess> accesses{};
};

std::string why_not_covered(const Copy& copy) {
    if (!copy.left_by.file) return "no wait follows the copy";
    const std::string wait = "the wait at " + site_name(copy.left_by);
    if (!copy.committed) return wait + " does not cover it, because no commit comes before";
    if (copy.left == 1) return wait + " leaves the last group in flight, and the copy is in it";
    return wait + " leaves the last " + std::to_string(copy.left) +
           " groups in flight, and the copy is in one of them";
}

struct Pipeline {  // of a thread
    std::vector<Copy> copies;  // in the order of their batches
    unsigned batches = 0;  // committed

    void finish(unsigned thread, unsigned end_batch) {
        size_t done = 0;
        for (; done < copies.size() && copies[done].batch < end_batch; ++done) {
            const Copy& copy = copies[done];  // counted at the call already
            accesses::set_in_flight(copy.to, int(copy.size), false);
            // A wait that comes after the access is too late for it. If nothing orders the two, the
            // copy and the access race with each other.
            for (const races::InFlightAccess& access : copy.accesses)
                if (clocks::knows(thread, access.thread, access.clock))
                    report_missing_wait(access, thread, copy);
            accesses::note(thread, copy.to, int(copy.size), trace::kWrite, copy.pc, false);
            std::memcpy(copy.to, copy.bytes, copy.size);
        }
        copies.erase(copies.begin(), copies.begin() + done);
    }

    static void report_missing_wait(const races::InFlightAccess& access, unsigned thread,
                                    const Copy& copy) {
        const auto pc = reinterpret_cast<uintptr_t>(copy.pc);
        races::report_missing_wait(access, thread, find_site(pc, false, true).number,
                                   why_not_covered(copy));
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
        misuse("__pipeline_memcpy_async: an address is not aligned to " + std::to_string(size) +
                   " bytes",
               file, line);
    // How many wavefronts the store takes depends on when the data arrive, so it is not counted;
    // see REFERENCE.md.
    if (zfill < size && accesses::note(current_thread, from, int(size - zfill), trace::kRead, pc,
                                       true, size == 16 ? to : nullptr))
        suspend();
    accesses::note(current_thread, to, int(size), trace::kWrite, pc, false);
    if (tracing()) accesses::set_in_flight(to, int(size), true);
    Pipeline& self = pipelines[current_thread];
    self.copies.push_back({static_cast<char*>(to), size, self.batches, pc, {}});
    return self.copies.back().bytes;
}

void commit_copies() { ++pipelines[current_thread].batches; }

void wait_for_copies(size_t pending, const char* file, int line) {
    if (record::on) record::call(current_thread, "wait", file, line);
    Pipeline& self = pipelines[current_thread];
    if (self.batches > pending) self.finish(current_thread, self.batches - unsigned(pending));
    for (Copy& copy : self.copies) {
        copy.left_by = {file, line, 0};
        copy.left = pending;
        copy.committed = copy.batch < self.batches;
    }
}

namespace async {

void access_in_flight(unsigned copier, const races::InFlightAccess& access) {
    for (Copy& copy : pipelines[copier].copies) {
        const auto begin = reinterpret_cast<uintptr_t>(copy.to);
        if (access.address + access.bytes <= begin || begin + copy.size <= access.address) continue;
        if (access.thread == copier) {
            Pipeline::report_missing_wait(access, copier, copy);
            continue;
        }
        const auto same = [&](const races::InFlightAccess& e) { return e.site == access.site; };
        if (std::none_of(copy.accesses.begin(), copy.accesses.end(), same))
            copy.accesses.push_back(access);
    }
}

// A thread need not wait for a copy that nobody needs. Whoever has accessed its destination has
// come too early.
void end_block() {
    for (unsigned t = 0; t < run.threads; ++t) {
        Pipeline& pipeline = pipelines[t];
        if (!pipeline.copies.empty()) pipeline.finish(t, UINT_MAX);
        pipeline.batches = 0;
    }
}

}  // namespace async
}  // namespace emulator
