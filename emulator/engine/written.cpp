// Which words of device memory have been written.

#include "emulator/engine/written.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "emulator/engine/removed_calls.h"
#include "emulator/engine/sections.h"
#include "emulator/trace/address.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/symbols.h"
#include "emulator/trace/tracing.h"

namespace emulator {

void treat_copies_as_fill(const void* array, const char* name) {
    if (Allocation* const a = find_allocation(address_value(array))) a->name = name;
}

namespace written {

bool host_has_unwritten;

namespace {

// What cudaMalloc fills memory with: NaN as half, bf16, float and double.
constexpr uint32_t kFillPattern = 0xfff7fff7;

size_t bits_bytes(const Allocation& array) {
    return ((array.end - array.begin) / kWord / 64 + 1) * sizeof(uint64_t);
}

struct Words {  // of an array, from first to last
    size_t first, last;
};

// A copy to the host of words that nothing has written.
struct UnwrittenCopy {
    // Where it lies on the host: begin and end of each row, from its first unwritten word to its
    // last.
    std::map<uintptr_t, uintptr_t> rows;
    uint32_t fill_pattern;
    size_t unwritten_bytes;
    size_t first_byte;  // its offset in the array
    CopyCall call;
    bool one_call;  // rather than several of a loop
    std::string place;
    uintptr_t array;
    std::vector<Words> written;  // those of the copy that have been written

    bool is_of_line(const UnwrittenCopy& other) const {
        return call.caller == other.call.caller && place == other.place;
    }
    // Whether `next` continues this copy: the next row of one cudaMemcpy2D, or the next copy of a
    // loop.
    bool continued_by(const UnwrittenCopy& next) const {
        return is_of_line(next) && array == next.array &&
               rows.rbegin()->second <= next.rows.begin()->first;
    }
    void join(const UnwrittenCopy& next) {
        const auto [begin, end] = *next.rows.begin();
        uintptr_t& last_end = rows.rbegin()->second;
        if (begin == last_end) last_end = end;
        else rows.emplace(begin, end);
        written.clear();  // incomplete, because rows without unwritten words are not recorded
        unwritten_bytes += next.unwritten_bytes;
        one_call &= call.number == next.call.number;
    }
    bool contains(uintptr_t begin, uintptr_t end) const {
        if (begin < rows.begin()->first || rows.rbegin()->second < end) return false;
        return end <= std::prev(rows.upper_bound(begin))->second;
    }
    void remove(uintptr_t begin, uintptr_t end) {  // another copy has overwritten these bytes
        auto row = rows.lower_bound(begin);
        if (row != rows.begin()) --row;
        while (row != rows.end() && row->first < end) {
            const auto [row_begin, row_end] = *row;
            if (row_end <= begin) {
                ++row;
                continue;
            }
            row = rows.erase(row);
            if (row_begin < begin) rows.emplace(row_begin, begin);
            if (end < row_end) rows.emplace(end, row_end);
        }
    }
};
std::vector<UnwrittenCopy>& copies = *new std::vector<UnwrittenCopy>;

constexpr size_t kFewParts = 3;
// ": only bytes 0 to 447 and 512 to 959 have been written"; nothing where these are many, or none.
std::string parts_written(const UnwrittenCopy& copy) {
    if (copy.written.empty() || copy.written.size() > kFewParts) return "";
    std::string text = ": only bytes ";
    for (const Words& part : copy.written)
        text += (&part == copy.written.data()    ? ""
                 : &part == &copy.written.back() ? " and "
                                                 : ", ") +
                std::to_string(part.first * kWord) + " to " +
                std::to_string((part.last + 1) * kWord - 1);
    return text + " have been written";
}

std::string place_of(const UnwrittenCopy& copy) {
    return copy.place.empty() ? place_of_call(address_value(copy.call.caller))
                              : " at " + copy.place;
}

// The unwritten words of a range, and the parts of it that have been written.
struct Unwritten {
    size_t words = 0, first = 0, last = 0;
    std::vector<Words> written;
};
Unwritten find_unwritten(const Allocation& array, uintptr_t begin, size_t bytes) {
    Unwritten found;
    const size_t end = (begin + bytes - array.begin) / kWord;
    size_t next = (begin - array.begin + kWord - 1) / kWord;  // after the last unwritten one
    const auto close = [&](size_t word) {  // the written part that ends before this word
        if (word > next && found.written.size() <= kFewParts)
            found.written.push_back({next, word - 1});
        next = word + 1;
    };
    for (size_t word = next; word < end; ++word) {
        if (word % 64 == 0 && array.written[word / 64] == ~uint64_t(0)) {
            word += 63;
            continue;
        }
        if (!is_unwritten(array, word)) continue;
        if (found.words++ == 0) found.first = word;
        found.last = word;
        close(word);
    }
    close(end);
    return found;
}

void remove_overwritten(uintptr_t begin, uintptr_t end) {
    for (UnwrittenCopy& copy : copies) copy.remove(begin, end);
    const auto all_overwritten = [](const UnwrittenCopy& copy) { return copy.rows.empty(); };
    copies.erase(std::remove_if(copies.begin(), copies.end(), all_overwritten), copies.end());
}

void note_unwritten(const void* to, const Allocation& array, const void* from, size_t bytes,
                    const CopyCall& call, const std::string& place) {
    const uintptr_t host = address_value(to), device = address_value(from);
    remove_overwritten(host, host + bytes);
    // If the host's words are not the array's, the copy is not followed.
    const bool followed = (host - device) % kWord == 0;
    const Unwritten found = followed ? find_unwritten(array, device, bytes) : Unwritten();
    host_has_unwritten = found.words || !copies.empty();
    if (host_has_unwritten) removed_calls::restore();
    if (!found.words) return;
    const auto on_host = [&](size_t word) { return host + (array.begin + word * kWord - device); };
    const UnwrittenCopy now{{{on_host(found.first), on_host(found.last + 1)}},
                            array.fill_pattern,
                            found.words * kWord,
                            found.first * kWord,
                            call,
                            true,
                            place,
                            array.begin,
                            found.written};
    if (!copies.empty() && copies.back().continued_by(now)) copies.back().join(now);
    else copies.push_back(now);
}

}  // namespace

void begin_array(Allocation& array) {
    array.fill_pattern = kFillPattern;
    const auto words = reinterpret_cast<uint32_t*>(array.begin);
    const size_t bytes = array.end - array.begin;
    std::fill_n(words, bytes / kWord, kFillPattern);
    std::memset(words + bytes / kWord, 0xff, bytes % kWord);
    if (!compiled_for_tracing) return;
    void* const bits = mmap(nullptr, bits_bytes(array), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    array.written = bits == MAP_FAILED ? nullptr : static_cast<uint64_t*>(bits);
}

void end_array(Allocation& array) {
    if (array.written) munmap(array.written, bits_bytes(array));
    array.written = nullptr;
}

void mark_all(const void* begin, size_t bytes) {
    const Allocation* const array = find_allocation(address_value(begin));
    if (!array || !array->written || !bytes) return;
    mark(*array, address_value(begin), std::min<size_t>(bytes, array->end - address_value(begin)));
}

size_t unwritten_bytes(const Allocation& array, const void* begin, size_t bytes) {
    return array.written ? find_unwritten(array, address_value(begin), bytes).words * kWord : 0;
}

void note_copy(Allocation* target, const void* to, const Allocation* source, const void* from,
               size_t bytes, const CopyCall& call, const std::string& place) {
    if (source && !source->written) source = nullptr;
    if (!target && source) return note_unwritten(to, *source, from, bytes, call, place);
    if (!target || !target->written) return;
    if (target->name && !source) {  // what the host copies there is a fill pattern
        std::memset(target->written, 0, bits_bytes(*target));
        std::memcpy(&target->fill_pattern, from, std::min(bytes, kWord));
        return;
    }
    mark(*target, address_value(to), bytes);
    if (!source || (address_value(to) - address_value(from)) % kWord) return;
    const size_t end = (address_value(from) + bytes - source->begin) / kWord;
    for (size_t word = (address_value(from) - source->begin + kWord - 1) / kWord; word < end;
         ++word)
        if (is_unwritten(*source, word)) {
            const size_t there = (address_value(to) - target->begin + source->begin + word * kWord -
                                  address_value(from)) /
                                 kWord;
            target->written[there / 64] &= ~(uint64_t(1) << there % 64);
        }
}

static const char* call_of(const Allocation& array) {
    switch (array.kind) {
        case Memory::managed:
            return "cudaMallocManaged";
        case Memory::pinned:
            return "cudaMallocHost";
        case Memory::registered:
            return "cudaHostRegister";
        case Memory::device:
        case Memory::variables:
            break;
    }
    return array.async ? "cudaMallocAsync" : array.pitched ? "cudaMallocPitch" : "cudaMalloc";
}
// Where the memory begins that describe() describes, and what it is.
static std::pair<uintptr_t, std::string> describe_part(const Allocation& array, uintptr_t address) {
    const Symbol* const variable = array.kind == Memory::variables ? find_symbol(address) : nullptr;
    const size_t bytes = variable ? variable->size : array.end - array.begin;
    std::string text = "the " + std::to_string(bytes) + " bytes ";
    if (variable)
        text += std::string("of the ") +
                (kManagedVariables.contains(address) ? "__managed__" : "__device__") +
                " variable " + short_name(*variable);
    else if (array.kind == Memory::variables) text += "of the __device__ variables";
    else if (array.name) text += std::string("of ") + array.name;
    else
        text += "that " + (call_of(array) + place_of_call(address_value(array.caller))) +
                (array.kind == Memory::registered ? " registered" : " allocated");
    return {variable ? variable->begin : array.begin, text};
}
std::string describe(const Allocation& array, uintptr_t address) {
    return describe_part(array, address).second;
}
std::string describe_byte(const Allocation& array, uintptr_t address) {
    const auto [begin, text] = describe_part(array, address);
    return "byte " + std::to_string(address - begin) + " of " + text;
}

static uint64_t failed_at = ~uint64_t(0);  // at which number of `resets`
void note_failed_launch() { failed_at = resets; }
bool all_launches_succeeded() { return failed_at != resets; }

void host_reads(const void* pointer, size_t bytes, const void* pc) {
    const uintptr_t address = address_value(pointer);
    for (size_t i = 0; i < copies.size(); ++i) {
        if (!copies[i].contains(address, address + bytes)) continue;
        const UnwrittenCopy copy = copies[i];
        // The host may have written its copy meanwhile.
        for (uintptr_t at = address / kWord * kWord; at < address + bytes; at += kWord)
            if (std::memcmp(reinterpret_cast<const void*>(at), &copy.fill_pattern, kWord) != 0)
                return;
        copies.erase(copies.begin() + i);
        host_has_unwritten = !copies.empty();
        if (!all_launches_succeeded()) return;
        const Allocation* const array = find_allocation(copy.array);
        const std::string line = find_lines({address_value(pc)})[0];
        report_problem(
            "uninitialised device memory: " + (line.empty() ? "the host" : line) +
            " reads on the host what nothing has written: " + std::to_string(copy.unwritten_bytes) +
            (copy.one_call ? " of the " + std::to_string(copy.call.bytes) : "") + " bytes that " +
            copy.call.name + place_of(copy) + " copied, the first at " +
            (array ? describe_byte(*array, copy.array + copy.first_byte)
                   : "byte " + std::to_string(copy.first_byte) + " of memory that is freed now") +
            (copy.first_byte && !(array && array->of_library) ? " (does the grid cover it?)" : "") +
            parts_written(copy));
        return;
    }
}

}  // namespace written
}  // namespace emulator
