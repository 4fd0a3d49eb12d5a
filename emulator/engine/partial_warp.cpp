// Values that the last, partial warp of a block leaves in shared memory for nobody: each warp stores
// one, those of the whole warps are read, and that of the partial one is not, because the program
// counts blockDim.x / 32 warps.

#include "emulator/engine/partial_warp.h"

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "emulator/engine/accesses.h"
#include "emulator/engine/names.h"
#include "emulator/engine/races.h"
#include "emulator/engine/run.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/sites.h"

namespace emulator::partial_warp {
namespace {

struct Stored {  // by the threads of one warp, with one instruction
    unsigned values = 0;
    uint16_t thread = 0, reader = 0;  // reader: an instruction of warp 0
    bool read = false, zero = true;
    uintptr_t end = 0;
};

// Whether the program has a number of warps that is rounded down.
bool rounds_down(const std::string& source) {
    static const std::regex whole_warps(
        R"(\bblockDim\s*\.\s*x\s*(/|>>)\s*(32|5|warpSize|\w*WARP\w*|k\w*Warp\w*)\b)");
    return std::regex_search(source, whole_warps);
}

}  // namespace

void end_block() {
    const unsigned rest = run.block_threads % 32, whole = run.block_threads / 32;
    if (!traced || !run.first_or_last || run.ranks > 1 || rest == 0 || whole == 0) return;
    std::map<uint16_t, std::vector<Stored>> by_site;
    accesses::for_each_shared_write([&](const races::SharedWrite& write) {
        auto& warps = by_site[write.site];
        warps.resize(whole + 1);
        if (write.thread >= run.block_threads) return;
        Stored& s = warps[write.thread / 32];
        if (!s.values || s.end != write.begin || s.thread != write.thread) ++s.values;
        s.end = write.end;
        s.thread = write.thread;
        s.read |= write.read;
        s.reader = std::max(s.reader, write.reader);
        for (uintptr_t at = write.begin; at < write.end; ++at)
            s.zero &= *reinterpret_cast<const char*>(at) == 0;
    });
    for (const auto& [site, warps] : by_site) {
        const auto one = [](const Stored& s) { return s.values == 1; };
        const auto read_by_the_first = [](const Stored& s) { return s.reader != 0; };
        const Stored& last = warps.back();
        if (!std::all_of(warps.begin(), warps.end(), one) || last.read || last.zero ||
            !std::all_of(warps.begin(), warps.end() - 1, read_by_the_first))
            continue;
        const std::string reader = line_or_unknown(site_of(warps[0].reader).pc);
        if (!rounds_down(source_text(reader))) continue;
        report_note(reader,
                    "in a block of " + std::to_string(run.block_threads) +
                        " threads nothing reads what " + thread_name(last.thread) +
                        " has stored at " + line_or_unknown(site_of(site).pc) +
                        " for the last warp, which has " + std::to_string(rest) +
                        " threads: blockDim.x / 32 is the number of whole warps. The number of all "
                        "warps is (blockDim.x + 31) / 32");
    }
}

}  // namespace emulator::partial_warp
