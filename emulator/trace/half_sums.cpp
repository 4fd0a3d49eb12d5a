// Additions of halves and bfloat16s whose sum stagnates.

#include "emulator/trace/half_sums.h"

#include <cstdint>
#include <map>
#include <utility>

#include "emulator/include/half_sums.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/tracing.h"

namespace emulator {
namespace {

struct Additions {  // of one instruction, which have lost their addend
    uint16_t sum = 0;  // of the last one
    uint64_t still = 0;  // how many had the same sum as the one before
    std::string where;
};
struct {
    uint64_t all = 0;
    std::map<uintptr_t, Additions> lost;
    std::map<std::string, uint64_t> by_tensor_cores;  // how many were lost at a line
} of_type[2];  // half, bfloat16
std::map<uintptr_t, uint64_t> overflows;  // by instruction: how many sums of halves are infinite

}  // namespace

void note_addition(bool bfloat16, uint16_t sum, bool lost) {
    auto& type = of_type[bfloat16];
    ++type.all;
    if (!lost) return;
    Additions& here = type.lost[reinterpret_cast<uintptr_t>(__builtin_return_address(0))];
    here.still += std::exchange(here.sum, sum) == sum;
}

void note_overflow() {
    const EmulatorsWork work;
    ++overflows[reinterpret_cast<uintptr_t>(__builtin_return_address(0))];
}

void note_additions(const char* file, int line, uint64_t all, uint64_t lost) {
    of_type[0].all += all;
    if (lost) of_type[0].by_tensor_cores[short_place(file, line)] += lost;
}

namespace half_sums {

std::vector<std::string> notes() {
    constexpr uint64_t kMany = 64;
    std::vector<std::string> all;
    for (const bool bfloat16 : {false, true}) {
        const auto add = [&](const std::string& where, uint64_t lost) {
            if (lost < kMany || lost < of_type[bfloat16].all / 4) return;
            all.push_back(
                where + ": " + std::to_string(lost) + " of " +
                std::to_string(of_type[bfloat16].all) + " additions changed nothing, because " +
                (bfloat16 ? "bfloat16 has 8 significant bits" : "half has 11 significant bits") +
                ": keep the sum in float");
        };
        for (auto& [pc, additions] : of_type[bfloat16].lost) {
            if (additions.still < kMany) continue;
            if (additions.where.empty()) additions.where = line_or_unknown(pc);
            add(additions.where, additions.still);
        }
        for (const auto& [where, lost] : of_type[bfloat16].by_tensor_cores) add(where, lost);
    }
    for (const auto& [pc, times] : overflows) {
        all.push_back(line_or_unknown(pc) + ": " + std::to_string(times) +
                      (times == 1 ? " sum is" : " sums are") +
                      " infinite, because half ends at 65504: keep the sum in float");
    }
    return all;
}

void reset() {
    for (auto& type : of_type) type = {};
    overflows.clear();
}

}  // namespace half_sums
}  // namespace emulator
