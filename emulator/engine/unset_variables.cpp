// Values of variables that a kernel has used before it set them.
//
// The compiler fills each variable with 0xfe bytes (-ftrivial-auto-var-init=pattern). As a float that
// is a number so large that a sum which begins with it stays equal to it.

#include "emulator/engine/unset_variables.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "emulator/engine/names.h"
#include "emulator/engine/races.h"
#include "emulator/engine/threads.h"
#include "emulator/engine/written.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/sites.h"

namespace emulator {

void find_unset_variables(const Allocation& array, const void* begin, size_t bytes) {
    constexpr uint32_t kUnset = 0xfefefefe;
    if (!array.cells) return;  // no kernel has written it
    const auto from = reinterpret_cast<uintptr_t>(begin);
    std::set<uint16_t> found;
    for (uintptr_t at = (from + 3) / 4 * 4; at + 4 <= from + bytes; at += 4) {
        if (std::memcmp(reinterpret_cast<const void*>(at), &kUnset, sizeof kUnset) != 0) continue;
        const uint16_t writer = races::last_writer(array.cells, array.begin, at);
        if (!writer || !found.insert(writer).second) continue;
        find_lines_of_sites();
        report_once("uninitialised variable: " + site_of(writer).where +
                        " stores 0xfefefefe (as a float -1.69e+38), which a variable holds here "
                        "until it is set",
                    written::describe_byte(array, at));
    }
}

void check_accumulators(const std::string& instruction, const void* accumulators, size_t bytes,
                        const char* file, int line) {
    const auto* const first = static_cast<const unsigned char*>(accumulators);
    if (!std::all_of(first, first + bytes, [](unsigned char byte) { return byte == 0xfe; })) return;
    report_once("uninitialised variable: " + instruction + " at " + short_place(file, line) +
                    " adds to accumulators that were never set",
                block_name() + ", " + thread_name(current_thread));
}

}  // namespace emulator
