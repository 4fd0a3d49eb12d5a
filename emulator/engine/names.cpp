// How reports name blocks, threads and places.

#include "emulator/engine/names.h"

#include <algorithm>
#include <cstring>

#include "emulator/trace/lines.h"
#include "emulator/trace/shared_names.h"
#include "emulator/trace/symbols.h"

namespace emulator {

bool same_site(const Call& a, const Call& b) {
    return a.line == b.line && a.number == b.number &&
           (a.file == b.file || (a.file && b.file && std::strcmp(a.file, b.file) == 0));
}

std::string site_name(const Call& site) { return short_place(site.file, site.line); }

std::string block_name() { return "block " + index_name(indices.block, run.grid); }

std::string kernel_name() {
    const Symbol* const symbol = find_symbol(reinterpret_cast<uintptr_t>(run.kernel));
    return symbol ? short_name(*symbol) : run.name;
}

std::string thread_name(unsigned thread) {
    const std::string name =
        "thread " + index_name(unflatten(thread % run.block_threads, run.block), run.block);
    return run.ranks > 1 ? name + " of rank " + std::to_string(rank_of(thread)) : name;
}

std::string thread_names(const std::vector<unsigned>& numbers) {
    constexpr size_t kRanges = 4;
    std::vector<std::string> ranges;
    const auto index = [](unsigned t) { return thread_name(t).substr(7); };  // without "thread "
    for (size_t i = 0, last; i < numbers.size(); i = last + 1) {
        for (last = i; last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1 &&
                       rank_of(numbers[last + 1]) == rank_of(numbers[i]);)
            ++last;
        std::string first = index(numbers[i]);
        if (last > i) first = first.substr(0, first.find(" of rank"));
        ranges.push_back(last == i ? first : first + " to " + index(numbers[last]));
    }
    std::string all = numbers.size() == 1 ? "thread " : "threads ";
    const size_t shown = ranges.size() > kRanges ? kRanges - 1 : ranges.size();
    for (size_t i = 0; i < shown; ++i)
        all += (i == 0 ? "" : i + 1 == ranges.size() ? " and " : ", ") + ranges[i];
    return shown < ranges.size() ? all + " and others" : all;
}

std::string place_of_return(const Thread& thread) {
    return thread.returned_at.file ? " at " + site_name(thread.returned_at) : "";
}

std::string describe_waits(const std::vector<unsigned>& numbers) {
    constexpr size_t kPlaces = 6;
    std::vector<std::vector<unsigned>> groups;
    const auto alike = [](unsigned one, unsigned other) {
        const Thread &a = threads[one], &b = threads[other];
        if (a.state != b.state) return false;
        if (a.state == State::returned) return same_site(a.returned_at, b.returned_at);
        return same_site(a.site, b.site) &&
               (a.state != State::waiting || a.waits_for == b.waits_for);
    };
    for (const unsigned t : numbers) {
        const auto group = std::find_if(groups.begin(), groups.end(),
                                        [&](const auto& g) { return alike(g[0], t); });
        if (group == groups.end()) groups.push_back({t});
        else group->push_back(t);
    }
    std::string text;
    for (size_t i = 0; i < groups.size() && i < kPlaces; ++i) {
        const Thread& one = threads[groups[i][0]];
        const bool single = groups[i].size() == 1;
        text += (i ? "; " : "") + thread_names(groups[i]);
        if (one.state == State::returned)
            text += (single ? " has returned" : " have returned") + place_of_return(one);
        else text += (single ? " waits at " : " wait at ") + site_name(one.site);
        if (one.state == State::waiting) text += one.why(one.waits_for);
    }
    return groups.size() > kPlaces ? text + "; and others at " +
                                         std::to_string(groups.size() - kPlaces) + " more places"
                                   : text;
}

std::string index_name(uint3 index, dim3 extent) {
    const std::string x = std::to_string(index.x), y = std::to_string(index.y),
                      z = std::to_string(index.z);
    return extent.z > 1   ? "(" + x + "," + y + "," + z + ")"
           : extent.y > 1 ? "(" + x + "," + y + ")"
                          : x;
}

uint64_t count(dim3 extent) { return uint64_t(extent.x) * extent.y * extent.z; }

uint64_t flatten(uint3 index, dim3 extent) {
    return (uint64_t(index.z) * extent.y + index.y) * extent.x + index.x;
}

uint3 unflatten(uint64_t number, dim3 extent) {
    return {unsigned(number % extent.x), unsigned(number / extent.x % extent.y),
            unsigned(number / extent.x / extent.y)};
}

// Every thread calls this, mostly for arrays that are known already.
void record_array(const char* owner, int index, const char* name, const volatile void* first,
                  size_t bytes, const Extents& extents) {
    const auto begin = reinterpret_cast<uintptr_t>(first);
    const auto dynamic = reinterpret_cast<uintptr_t>(builtins.dynamic_shared);
    const uintptr_t end = bytes ? begin + bytes : dynamic + run.shared_bytes;
    const unsigned rank = run.ranks > 1 ? rank_of(current_thread) : 0;
    shared_names::add({owner, name, index, rank, begin, end, bytes == 0, extents});
}

}  // namespace emulator
