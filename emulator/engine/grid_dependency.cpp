// Which threads of a block come after a cudaGridDependencySynchronize().

#include "emulator/engine/grid_dependency.h"

#include <algorithm>
#include <vector>

#include "emulator/engine/clocks.h"

namespace emulator {
namespace {

struct Wait {
    unsigned thread;
    uint32_t clock;
};
std::vector<Wait>& waits = *new std::vector<Wait>;  // the first of each thread of the block
bool waited[kMaxThreads];  // or comes after one that has

}  // namespace

void note_grid_wait() {
    if (!traced || waited[current_thread]) return;
    waited[current_thread] = true;
    waits.push_back({current_thread, clocks::now(current_thread)});
}

namespace grid_dependency {

void begin_block() {
    waits.clear();
    std::fill_n(waited, run.threads, false);
}

bool has_waited(unsigned actor) {
    const bool is_thread = actor < run.threads;
    if (is_thread && waited[actor]) return true;
    const bool after = std::any_of(waits.begin(), waits.end(), [=](const Wait& wait) {
        return clocks::knows(actor, wait.thread, wait.clock);
    });
    if (is_thread) waited[actor] = after;
    return after;
}

}  // namespace grid_dependency
}  // namespace emulator
