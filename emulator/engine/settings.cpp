// What a program chooses for all launches.

#include "emulator/engine/settings.h"

#include <algorithm>
#include <random>
#include <stdexcept>

#include "emulator/include/warp_calls.h"

namespace emulator {
namespace {

struct Settings {
    Order order = Order::forward;
    int ends_only = 0;
    uint64_t accesses = 0;
    bool ended_early = false, leaves_single = false;
    std::mt19937 random{1};
    int architecture = 90;
} settings;

}  // namespace

void set_order(Order order, unsigned seed) {
    settings.order = order;
    settings.random.seed(seed);
}

void set_architecture(int sm) {
    if (sm != 70 && sm != 75 && sm < 80)
        throw std::invalid_argument("set_architecture: 70, 75, 80 or 90, not " +
                                    std::to_string(sm));
    settings.architecture = sm < 80 ? sm : sm < 90 ? 80 : 90;
}

void run_ends_only(int sm_count, uint64_t accesses, bool single) {
    settings.ends_only = sm_count;
    if (sm_count) settings.ended_early = false;
    settings.accesses = accesses;
    settings.leaves_single = sm_count && !single;
}

int architecture() { return settings.architecture; }
int only_ends_run() { return settings.ends_only; }
bool leaves_single_blocks() { return settings.leaves_single; }
bool ended_early() { return settings.ended_early; }
void note_early_end() { settings.ended_early = true; }
uint64_t accesses_run() { return settings.accesses; }
Order thread_order() { return settings.order; }
unsigned random_number() { return settings.random(); }
void shuffle(std::vector<unsigned>& numbers) {
    std::shuffle(numbers.begin(), numbers.end(), settings.random);
}
bool happens_early() {
    return settings.order == Order::reverse ||
           (settings.order == Order::random && random_number() % 2);
}

}  // namespace emulator
