// NaN that a kernel has computed.
//
// What an x86 processor computes where there is no result (0 / 0, inf - inf) has the sign bit, and
// zeros for all other bits that NaN leaves free. The constant NAN has no sign bit, memory filled with
// 0xff bytes has other bits set, and so has memory that nothing has written. An operation with NaN
// passes on its bits. So this NaN was computed, by a kernel unless the host has passed it.

#include "emulator/engine/nans.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "emulator/engine/names.h"
#include "emulator/engine/races.h"
#include "emulator/engine/written.h"
#include "emulator/include/cuda_runtime.h"
#include "emulator/trace/report.h"
#include "emulator/trace/sites.h"
#include "emulator/trace/tracing.h"

namespace emulator {
namespace {

struct Type {
    const char* plural;
    size_t bytes;
    uint64_t nan;
};
constexpr Type kTypes[] = {{"floats", 4, 0xffc00000},
                           {"doubles", 8, 0xfff8000000000000},
                           {"halves", 2, 0xfe00},
                           {"bfloat16s", 2, 0xffc0}};
bool given[std::size(kTypes)];  // whether the host has passed such a NaN to the device
uint64_t noted = ~uint64_t(0);  // at which number of `resets`

const Type* type_of(Element element) {
    const bool number = element != Element::unknown && element != Element::other;
    return number ? &kTypes[int(element) - int(Element::float32)] : nullptr;
}

template <class Bits>
size_t count_equal(const void* bytes, size_t count, uint64_t value) {
    const auto* const p = static_cast<const char*>(bytes);
    size_t found = 0;
    for (size_t at = 0; at + sizeof(Bits) <= count; at += sizeof(Bits)) {
        Bits bits;
        std::memcpy(&bits, p + at, sizeof bits);
        found += bits == Bits(value);
    }
    return found;
}
size_t count_nans(const Type& type, const void* bytes, size_t count) {
    return (type.bytes == 4   ? count_equal<uint32_t>
            : type.bytes == 8 ? count_equal<uint64_t>
                              : count_equal<uint16_t>)(bytes, count, type.nan);
}

// A NaN that a kernel has stored.
struct Stored {
    uint16_t site = 0;  // 0: there is none
    uint32_t clock = 0;
    uintptr_t address = 0;
};
// The one of these bytes that was stored first.
Stored first_stored(const Allocation& array, const Type& type, uintptr_t begin, size_t bytes) {
    Stored first;
    for (uintptr_t at = begin; at + type.bytes <= begin + bytes; at += type.bytes) {
        if (!count_nans(type, reinterpret_cast<const void*>(at), type.bytes)) continue;
        const Stored now{races::last_writer(array.cells, array.begin, at),
                         races::last_write(array.cells, array.begin, at), at};
        if (now.site && (!first.site || now.clock < first.clock)) first = now;
    }
    return first;
}

}  // namespace

void note_elements(const void* pointer, Element element) {
    Allocation* const array = find_allocation(reinterpret_cast<uintptr_t>(pointer));
    if (!array || array->elements == element || element == Element::unknown) return;
    array->elements = array->elements == Element::unknown ? element : Element::other;
}

namespace nans {

void note_given(const void* bytes, size_t count) {
    if (!compiled_for_tracing) return;  // find() looks only at what was traced
    for (const Type& type : kTypes)
        if (bool& found = given[&type - kTypes]; !found) found = count_nans(type, bytes, count);
}

void find(const Allocation& array, uintptr_t begin, size_t bytes) {
    const Type* const type = type_of(array.elements);
    if (!array.cells || !type || noted == resets) return;
    // Any floats may have two bytes that are NaN as a half.
    for (const Type& t : kTypes)
        if (given[&t - kTypes] && (&t == type || t.bytes > 2)) return;
    const size_t wrong = count_nans(*type, reinterpret_cast<const void*>(begin), bytes);
    const Stored here = wrong ? first_stored(array, *type, begin, bytes) : Stored();
    if (!here.site) return;
    noted = resets;
    // It may have come from another array, where it was stored earlier.
    Stored first = here;
    const Allocation* source = &array;
    for (const Allocation& a : allocations) {
        const Type* const its = type_of(a.elements);
        if (!a.cells || !its) continue;
        const Stored there = first_stored(a, *its, a.begin, a.end - a.begin);
        if (!there.site || there.clock >= first.clock) continue;
        first = there;
        source = &a;
    }
    find_lines_of_sites();
    std::string why = std::to_string(wrong) + " of the " + std::to_string(bytes / type->bytes) +
                      " " + type->plural + " that the host gets from " +
                      written::describe(array, begin) + " are NaN";
    if (source != &array)
        why += ", and the first NaN lies in " + written::describe(*source, first.address);
    report_note(site_of(first.site).where + " stores NaN",
                why +
                    ". The host has passed none: 0 / 0, inf / inf, inf - inf and inf * 0 are NaN, "
                    "and so is the root or the logarithm of a negative number");
}

}  // namespace nans
}  // namespace emulator
