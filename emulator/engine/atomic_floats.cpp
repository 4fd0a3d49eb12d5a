// Mistakes with floats that atomics show: counters that stop, and bits in the order of integers.

#include "emulator/engine/atomic_floats.h"

#include <cstdio>
#include <map>
#include <string>

#include "emulator/include/atomic_values.h"
#include "emulator/trace/address.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/tracing.h"

namespace emulator {

uint32_t last_float_bits;

namespace {

struct Lost {
    uint64_t times = 0;
    float sum = 0, value = 0;  // of the first time
};
struct Compared {  // by one instruction
    bool max = false, is_signed = false;
    bool negative = false, positive = false;  // whether there were such values
    bool reversed = false;  // two negative floats were compared as ints
    float kept = 0, lost = 0;
};
std::map<uintptr_t, Lost>& lost = *new std::map<uintptr_t, Lost>;  // by return address
std::map<uintptr_t, Compared>& compared = *new std::map<uintptr_t, Compared>;

std::string text(float value) {
    char number[32];
    std::snprintf(number, sizeof number, "%.9g", double(value));
    return number;
}

}  // namespace

void note_lost_count(float sum, float value, const void* pc) {
    const EmulatorsWork work;
    Lost& here = lost[address_value(pc)];
    if (!here.times++) here.sum = sum, here.value = value;
}

void note_float_bits(bool max, bool is_signed, uint32_t old, uint32_t value, const void* pc) {
    const EmulatorsWork work;
    Compared& here = compared[address_value(pc)];
    here.max = max;
    here.is_signed = is_signed;
    const bool negative = value >> 31;
    (negative ? here.negative : here.positive) = true;
    if (!is_signed || !negative || !(old >> 31) || here.reversed) return;
    const float a = __builtin_bit_cast(float, old), b = __builtin_bit_cast(float, value);
    if (!(a < b) && !(b < a)) return;
    here.reversed = true;
    here.kept = max ? (a < b ? a : b) : (a < b ? b : a);
    here.lost = here.kept == a ? b : a;
}

namespace atomic_floats {

void end_launch() {
    constexpr uint64_t kMany = 64;
    for (const auto& [pc, here] : lost)
        if (here.times >= kMany)
            report_note(line_or_unknown(pc),
                        "atomicAdd() of " + text(here.value) + " to a float that is " +
                            text(here.sum) +
                            " changes nothing, because float has 24 significant "
                            "bits: count in unsigned or unsigned long long");
    for (const auto& [pc, here] : compared) {
        const std::string name = here.max ? "atomicMax()" : "atomicMin()",
                          other = here.max ? "atomicMin()" : "atomicMax()",
                          more = here.max ? "larger" : "smaller";
        const std::string remedy = ": where the value is negative, " + other +
                                   " of its unsigned bits takes the " + more + " one";
        if (here.reversed)
            report_note(line_or_unknown(pc),
                        name + " compares floats as ints, and of " + text(here.kept) + " and " +
                            text(here.lost) + " keeps " + text(here.kept) +
                            ", because ints have the reverse order of negative floats" + remedy);
        else if (!here.is_signed && here.negative && here.positive)
            report_note(line_or_unknown(pc),
                        name +
                            " compares floats as unsigned numbers, of which those of negative "
                            "floats are the largest" +
                            remedy);
    }
    lost.clear();
    compared.clear();
}

}  // namespace atomic_floats
}  // namespace emulator
