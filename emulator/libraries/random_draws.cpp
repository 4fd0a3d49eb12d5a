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

struct LastDraw {
    uint32_t launch, initialised;
    uint64_t thread;  // of the launch
};
struct Hash {
    size_t operator()(const Philox& p) const {
        uint64_t hash = p.generator;
        for (const uint64_t each : {p.seed, p.sequence, p.position})
            hash = (hash ^ each) * 0x9e3779b97f4a7c15u;
        return hash >> 16;
    }
};
struct Equal {
    bool operator()(const Philox& a, const Philox& b) const {
        return a.seed == b.seed && a.sequence == b.sequence && a.position == b.position &&
               a.generator == b.generator;
    }
};
constexpr size_t kMaxDraws = 1 << 17;  // that are remembered: later ones are not checked
auto& draws = *new std::unordered_map<Philox, LastDraw, Hash, Equal>;

uint64_t thread_index_in_grid() {
    return flatten(indices.block, run.grid) * run.block_threads +
           current_thread % run.block_threads;
}

std::string described(const Philox& state) {
    return "(seed " + std::to_string(state.seed) + ", sequence " + std::to_string(state.sequence) +
           ", offset " + std::to_string(state.position) + ")";
}

}  // namespace

uint32_t launch_number() { return run.number; }

void note_draw(const Philox& state, uint32_t initialised, const void* pc) {
    if (!run.running) return;
    const EmulatorsWork work;
    const LastDraw now{run.number, initialised, thread_index_in_grid()};
    const auto found = draws.find(state);
    if (found == draws.end()) {
        if (draws.size() < kMaxDraws) draws.emplace(state, now);
        return;
    }
    const LastDraw before = std::exchange(found->second, now);
    if (before.launch == now.launch && before.thread != now.thread)
        report_note(line_or_unknown(address_value(pc)) +
                        " draws the same random numbers in several threads",
                    block_name() + ", " + thread_name(current_thread) +
                        " begins where another thread has begun " + described(state) +
                        ": pass a different sequence number to curand_init() in each thread");
    if (before.launch != now.launch && before.initialised == now.initialised)
        report_note(line_or_unknown(address_value(pc)) +
                        " draws random numbers that an earlier launch has drawn",
                    block_name() + ", " + thread_name(current_thread) +
                        " begins at the same place " + described(state) +
                        ": write the state back to device memory after drawing from it");
}

}  // namespace emulator
