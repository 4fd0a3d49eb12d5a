// Accesses of the blocks of a cluster to each other's shared memory.

#include "emulator/hopper/ranks.h"

#include <algorithm>

#include "emulator/engine/clocks.h"
#include "emulator/engine/names.h"
#include "emulator/engine/threads.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

namespace emulator {
namespace {

// The last access of each thread to another block.
struct RemoteAccess {
    const char* name = nullptr;
    Call site;
    uintptr_t pc = 0;  // of an access, which has no site
    uint32_t clock = 0;
};
RemoteAccess last_access[kMaxRanks][kMaxThreads];

}  // namespace

unsigned running_threads(unsigned rank) {
    unsigned count = 0;
    for (unsigned t = 0; t < run.block_threads; ++t)
        count += threads[rank * run.block_threads + t].state != State::returned;
    return count;
}

std::string rank_names(unsigned mask) {
    std::string ranges;
    for (unsigned rank = 0; mask >> rank;) {
        const unsigned first = rank;
        while (mask >> rank & 1) ++rank;
        if (rank == first) {
            ++rank;
            continue;
        }
        ranges += (ranges.empty() ? "" : ", ") + std::to_string(first) +
                  (rank - 1 > first ? " to " + std::to_string(rank - 1) : "");
    }
    return ((mask & (mask - 1)) ? "ranks " : "rank ") + ranges;
}

void* in_rank(void* pointer, unsigned rank, const char* name, const char* file, int line) {
    if (rank >= run.ranks)
        misuse(std::string(name) + ": rank " + std::to_string(rank) + " of a cluster of " +
                   std::to_string(run.ranks),
               file, line);
    if (running_threads(rank) == 0)  // here its memory is still there
        report_once(std::string(name) + ": the block of rank " + std::to_string(rank) +
                        " has left its cluster at " + short_place(file, line),
                    block_name() + ", " + thread_name(current_thread));
    if (rank != rank_of(current_thread))
        last_access[rank][current_thread] = {name, {file, line, 0}, 0, clocks::now(current_thread)};
    const auto offset = static_cast<char*>(pointer) - static_cast<char*>(builtins.dynamic_shared);
    if (offset < 0 || size_t(offset) >= run.shared_stride)
        misuse(std::string(name) + ": the address is not in the block's own shared memory", file,
               line);
    return static_cast<char*>(run.shared) + size_t(rank) * run.shared_stride + offset;
}

void* in_its_rank(void* there, const char* name, const char* file, int line) {
    const auto offset = size_t(static_cast<char*>(there) - static_cast<char*>(run.shared));
    if (!run.shared || offset >= run.ranks * run.shared_stride) return there;  // a static array
    char* const mine = static_cast<char*>(builtins.dynamic_shared) + offset % run.shared_stride;
    return in_rank(mine, unsigned(offset / run.shared_stride), name, file, line);
}

namespace ranks {

void note_access(unsigned thread, unsigned rank, uintptr_t pc) {
    last_access[rank][thread] = {"access", {}, pc, clocks::now(thread)};
}

void begin_block() {
    for (unsigned rank = 0; run.ranks > 1 && rank < run.ranks; ++rank)
        std::fill_n(last_access[rank], run.threads, RemoteAccess());
}

// A block must not leave its cluster before it has synchronised with every thread that accessed it.
// The last access of a thread stands for all before it.
void end_thread() {
    if (run.ranks == 1) return;
    const unsigned rank = rank_of(current_thread);
    if (!tracing() || running_threads(rank) > 0) return;
    for (unsigned accessing = 0; accessing < run.threads; ++accessing) {
        const RemoteAccess& access = last_access[rank][accessing];
        if (!access.name) continue;
        bool synchronised = false;
        for (unsigned t = 0; t < run.block_threads; ++t)
            synchronised |= clocks::knows(rank * run.block_threads + t, accessing, access.clock);
        if (synchronised) continue;
        report_once("the block of rank " + std::to_string(rank) +
                        " leaves its cluster too early: it has not waited for the " + access.name +
                        " at " + (access.pc ? find_lines({access.pc})[0] : site_name(access.site)),
                    block_name() + ", " + thread_name(accessing));
        return;
    }
}

}  // namespace ranks
}  // namespace emulator
