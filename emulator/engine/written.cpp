// Which words of device memory have been written.

#include "emulator/engine/written.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "emulator/engine/removed_calls.h"
#include "emulator/trace/address.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/tracing.h"

namespace emulator {

void treat_copies_as_fill(const void* array, const char* name) {
    if (Allocation* const a = find_allocation(address_value(array))) a->name = name;
}

namespace written {

bool host_has_some;

namespace {

// What cudaMalloc fills memory with: NaN as half, bf16, float and double.
constexpr uint32_t kFillPattern = 0xfff7fff7;

size_t bits_bytes(const Allocation& array) {
    return ((array.end - array.begin) / kWord / 64 + 1) * sizeof(uint64_t);
}

struct Words {  // of an array, from first to last
    size_t first, last;
};

// A copy to the host of words that nothing has written: from the first of these to the last.
struct UnwrittenCopy {
    uintptr_t begin, end;
    uint32_t fill_pattern;
    size_t unwritten, bytes;  // of the whole copy
    size_t first;  // where the first one lies in the array
    const char* call;
    const void* caller;
    std::string place;
    uintptr_t array;
    std::vector<Words> written;  // those of the copy that have been written

    // Of one line: the rows of a cudaMemcpy2D, or the copies of a loop.
    bool comes_before(const UnwrittenCopy& next) const {
        return caller == next.caller && place == next.place && array == next.array &&
               end <= next.begin;
    }
    void join(const UnwrittenCopy& next) {
        end = next.end;
        written.clear();  // copies of which all is written are not among these
        unwritten += next.unwritten;
        bytes += next.bytes;
    }
};
std::vector<UnwrittenCopy>& copies = *new std::vector<UnwrittenCopy>;

constexpr size_t kFewParts = 3;
// ": written are only bytes 0 to 447 and 512 to 959"; nothing where these are many, or none.
std::string parts_written(const UnwrittenCopy& b) {
    if (b.written.empty() || b.written.size() > kFewParts) return "";
    std::string text = ": written are only bytes ";
    for (const Words& part : b.written)
        text += (&part == b.written.data()    ? ""
                 : &part == &b.written.back() ? " and "
                                              : ", ") +
                std::to_string(part.first * kWord) + " to " +
                std::to_string((part.last + 1) * kWord - 1);
    return text;
}

std::string place_of(const UnwrittenCopy& b) {
    return b.place.empty() ? place_of_call(address_value(b.caller)) : " at " + b.place;
}

// Of the words of a range: how many are unwritten, the first and the last one, and what is written.
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

void note_unwritten(const void* to, const Allocation& array, const void* from, size_t bytes,
                    const char* call, const void* caller, const std::string& place) {
    const uintptr_t host = address_value(to), device = address_value(from);
    if ((host - device) % kWord) return;
    copies.erase(std::remove_if(copies.begin(), copies.end(),
                                [=](const UnwrittenCopy& b) {
                                    return b.begin < host + bytes && host < b.end;
                                }),
                 copies.end());
    const Unwritten found = find_unwritten(array, device, bytes);
    host_has_some = found.words || !copies.empty();
    if (host_has_some) removed_calls::restore();
    if (!found.words) return;
    const auto on_host = [&](size_t word) { return host + (array.begin + word * kWord - device); };
    const UnwrittenCopy now{on_host(found.first),
                            on_host(found.last + 1),
                            array.fill_pattern,
                            found.words * kWord,
                            bytes,
                            found.first * kWord,
                            call,
                            caller,
                            place,
                            array.begin,
                            found.written};
    if (!copies.empty() && copies.back().comes_before(now)) copies.back().join(now);
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
               size_t bytes, const char* call, const void* caller, const std::string& place) {
    if (source && !source->written) source = nullptr;
    if (!target && source) return note_unwritten(to, *source, from, bytes, call, caller, place);
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

std::string describe(const Allocation& array) {
    return "the " + std::to_string(array.end - array.begin) + " bytes " +
           (array.name
                ? "of " + std::string(array.name)
                : "that cudaMalloc" + place_of_call(address_value(array.caller)) + " allocated");
}

static bool failed;
static uint64_t failed_since;
void note_failed_launch() {
    failed = true;
    failed_since = resets;
}
bool all_launches_succeeded() { return !failed || failed_since != resets; }

void host_reads(const void* pointer, size_t bytes, const void* pc) {
    const uintptr_t address = address_value(pointer);
    for (size_t i = 0; i < copies.size(); ++i) {
        const UnwrittenCopy b = copies[i];
        if (address < b.begin || b.end < address + bytes) continue;
        // The host may have written its copy meanwhile.
        for (uintptr_t at = address / kWord * kWord; at < address + bytes; at += kWord)
            if (std::memcmp(reinterpret_cast<const void*>(at), &b.fill_pattern, kWord) != 0) return;
        copies.erase(copies.begin() + i);
        host_has_some = !copies.empty();
        if (!all_launches_succeeded()) return;
        const Allocation* const array = find_allocation(b.array);
        const std::string line = find_lines({address_value(pc)})[0];
        report_problem(
            "uninitialised device memory: " + (line.empty() ? "the host" : line) +
            " reads on the host what nothing has written: " + std::to_string(b.unwritten) +
            " of the " + std::to_string(b.bytes) + " bytes that " + b.call + place_of(b) +
            " copied, the first at byte " + std::to_string(b.first) + " of " +
            (array ? describe(*array) : "memory that is freed now") +
            (b.first && !(array && array->of_library) ? " (does the grid cover it?)" : "") +
            parts_written(b));
        return;
    }
}

}  // namespace written
}  // namespace emulator
