// Random numbers that are drawn twice: by two threads, or by two launches.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "emulator/engine/names.h"
#include "emulator/engine/run.h"
#include "emulator/include/curand_kernel.h"
#include "emulator/trace/address.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/tracing.h"

namespace emulator {
namespace {

struct Drawn {  // the last time
    uint32_t launch, initialised;
    uint64_t thread;  // of the launch
};
struct Hash {
    size_t operator()(const Philox& p) const {
        return ((p.seed * 0x9e3779b97f4a7c15u ^ p.sequence) * 0x9e3779b97f4a7c15u ^ p.position) *
                   0x9e3779b97f4a7c15u >>
               16;
    }
};
struct Equal {
    bool operator()(const Philox& a, const Philox& b) const {
        return a.seed == b.seed && a.sequence == b.sequence && a.position == b.position;
    }
};
constexpr size_t kMost = 1 << 17;  // that are remembered
auto& draws = *new std::unordered_map<Philox, Drawn, Hash, Equal>;

uint64_t number_of_thread() {
    const uint3 block = indices.block;
    const dim3 grid = builtins.grid_dim;
    return ((uint64_t(block.z) * grid.y + block.y) * grid.x + block.x) * run.block_threads +
           current_thread % run.block_threads;
}

std::string described(const Philox& state) {
    return "(seed " + std::to_string(state.seed) + ", sequence " + std::to_string(state.sequence) +
           ", offset " + std::to_string(state.position) + ")";
}

}  // namespace

uint32_t number_of_launch() { return run.number; }

void note_draw(const Philox& state, uint32_t initialised, const void* pc) {
    if (!run.running) return;
    const EmulatorsWork work;
    const Drawn now{run.number, initialised, number_of_thread()};
    const auto found = draws.find(state);
    if (found == draws.end()) {
        if (draws.size() < kMost) draws.emplace(state, now);
        return;
    }
    const Drawn before = std::exchange(found->second, now);
    if (before.launch == now.launch && before.thread != now.thread)
        report_note(line_or_unknown(address_value(pc)) +
                        " draws the same random numbers in several threads",
                    block_name() + ", " + thread_name(current_thread) +
                        " begins where another thread has begun " + described(state) +
                        ": pass curand_init() another sequence in each thread of the grid");
    if (before.launch != now.launch && before.initialised == now.initialised)
        report_note(
            line_or_unknown(address_value(pc)) +
                " draws random numbers that an earlier launch has drawn",
            block_name() + ", " + thread_name(current_thread) + " begins at the same place " +
                described(state) +
                ": store the state in device memory again when the kernel has drawn from it");
}

}  // namespace emulator
