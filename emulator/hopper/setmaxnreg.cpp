// setmaxnreg: how many registers the threads of a warpgroup have. Here it only checks: no warp
// waits, and none has fewer registers.

#include "emulator/hopper/setmaxnreg.h"

#include <algorithm>

#include "emulator/engine/names.h"
#include "emulator/engine/threads.h"
#include "emulator/hopper/warpgroups.h"
#include "emulator/include/common/ptx/hopper.cuh"
#include "emulator/trace/record.h"
#include "emulator/trace/report.h"

namespace emulator {
namespace {

struct Registers {
    int count = 0;  // of a thread; 0: never set
    const char* name = nullptr;  // of the instruction that has set them
    Call site;
} registers_of[kMaxThreads / 32];  // by warp

// "8 warps have 240 each (warpgroup_reg_alloc at mine.cu:90), 4 have 24 (...)": those of a block.
std::string all_of(const Registers* first) {
    std::string text;
    for (unsigned w = 0; w < block_warps(); ++w) {
        const auto alike = [&](unsigned other) {
            return first[other].count == first[w].count &&
                   same_site(first[other].site, first[w].site);
        };
        unsigned before = 0, all = 0;
        for (unsigned other = 0; other < block_warps(); ++other)
            if (first[other].count && alike(other)) {
                ++all;
                before += other < w;
            }
        if (first[w].count == 0 || before) continue;
        text += (text.empty() ? "" : ", ") + std::to_string(all) + " warps would have " +
                std::to_string(first[w].count) + " a thread (" + first[w].name + " at " +
                site_name(first[w].site) + ")";
    }
    return text;
}

}  // namespace

void set_max_registers(const WarpCall& call) {
    const int count = *static_cast<const int*>(call.arguments[0]), registers = std::abs(count);
    const char* const name = count < 0 ? "warpgroup_reg_dealloc" : "warpgroup_reg_alloc";
    const auto refuse = [&](const std::string& why) {
        misuse(std::string(name) + ": " + why, call.file, call.line);
    };
    require(90, name, call.file, call.line);
    record::collective = "setmaxnreg";
    const unsigned number = current_thread / 32;
    if (registers < 24 || registers > 256 || registers % 8)
        refuse(std::to_string(registers) + " registers, not a multiple of 8 from 24 to 256");
    if (!run.bounded) refuse("the kernel has no __launch_bounds__");
    registers_of[number] = {registers, name, {call.file, call.line, 0}};
    require_whole_warpgroup(number, refuse);
    const Registers* const first = registers_of + (number - number % block_warps());
    int sum = 0;
    for (unsigned w = 0; w < block_warps(); ++w) sum += 32 * first[w].count;
    // The registers that the block got at its launch, a multiple of 8 for each thread. A GPU would
    // wait forever for more.
    const int warps = block_warps(), had = 32 * warps * std::min(256, 65536 / 32 / warps / 8 * 8);
    if (sum > had)
        misuse_by(current_thread,
                  std::string(name) + ": the warps would have " + std::to_string(sum) +
                      " registers, and the block has " + std::to_string(had),
                  call.file, call.line, all_of(first));
}

namespace setmaxnreg {

void begin_block() { std::fill(std::begin(registers_of), std::end(registers_of), Registers()); }

void end_block() {
    for (unsigned w = 0; w < (run.threads + 31) / 32; ++w) {
        const int first = registers_of[first_of_warpgroup(w)].count, mine = registers_of[w].count;
        if (mine != first)
            report_problem("the block ends, and the warps of a warpgroup have set " +
                           std::to_string(first) + " and " + std::to_string(mine) + " registers (" +
                           block_name() + ")");
    }
}

}  // namespace setmaxnreg
}  // namespace emulator
