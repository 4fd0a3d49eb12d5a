// setmaxnreg: how many registers the threads of a warpgroup have. Nothing waits, and nobody has fewer.

#include <algorithm>
#include <numeric>

#include "emulator/include/hopper.h"
#include "emulator/names.h"
#include "emulator/record.h"
#include "emulator/report.h"
#include "emulator/wgmma.h"

namespace emulator {
namespace {

int registers_of[kMaxThreads / 32];  // a thread, by warp; 0: never set

}  // namespace

void set_max_registers(const WarpCall& call) {
    const int count = *static_cast<const int*>(call.arguments[0]), registers = std::abs(count);
    const char* const name = count < 0 ? "setmaxnreg_fewer" : "setmaxnreg_more";
    const auto refuse = [&](const std::string& why) {
        misuse(std::string(name) + ": " + why, call.file, call.line);
    };
    require(90, name, call.file, call.line);
    record::collective = "setmaxnreg";
    const unsigned number = current_thread / 32;
    if (registers < 24 || registers > 256 || registers % 8)
        refuse(std::to_string(registers) + " registers, not a multiple of 8 from 24 to 256");
    if (!run.bounded) refuse("the kernel has no __launch_bounds__");
    registers_of[number] = registers;
    want_whole_warpgroup(number, refuse);
    const int* const first = registers_of + (number - number % block_warps());
    const int sum = 32 * std::accumulate(first, first + block_warps(), 0);
    // What the block got at its launch: by thread a multiple of 8. More would be waited for forever.
    const int warps = block_warps(), had = 32 * warps * std::min(256, 65536 / 32 / warps / 8 * 8);
    if (sum > had)
        refuse("the warps would have " + std::to_string(sum) + " registers, and the block has " +
               std::to_string(had));
}

namespace setmaxnreg {

void begin_block() { std::fill(std::begin(registers_of), std::end(registers_of), 0); }

void end_block() {
    for (unsigned w = 0; w < (run.threads + 31) / 32; ++w) {
        const int first = registers_of[first_of_warpgroup(w)];
        if (registers_of[w] != first)
            report_problem("the block ends, and the warps of a warpgroup have set " +
                           std::to_string(first) + " and " + std::to_string(registers_of[w]) +
                           " registers (" + block_name() + ")");
    }
}

}  // namespace setmaxnreg
}  // namespace emulator
