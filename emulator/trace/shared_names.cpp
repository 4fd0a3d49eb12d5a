// A kernel's names for its arrays in shared memory.

#include "emulator/trace/shared_names.h"

#include <algorithm>
#include <regex>

#include "emulator/trace/lines.h"

namespace emulator {
namespace {

std::vector<SharedArray> arrays;
constexpr size_t kMax = 1000;  // an advancing pointer has many

struct Extern {
    std::string name, where;
};
std::vector<Extern>& externs() {
    static std::vector<Extern> all;
    return all;
}

// The only one of them that the source line accesses; null: none or several.
const Extern* only_extern(const std::string& place) {
    const std::string line = source_line(place);
    const Extern* only = nullptr;
    for (const Extern& e : externs())
        if (std::regex_search(line, std::regex("\\b" + e.name + "\\s*\\["))) {
            if (only) return nullptr;
            only = &e;
        }
    return only;
}

}  // namespace

std::string SharedArray::full_name() const {
    return *of ? of + ("[" + std::to_string(index) + "].") + name : name;
}

namespace shared_names {

void begin_launch() { arrays.clear(); }

void add(const SharedArray& array) {
    for (const SharedArray& known : arrays)
        if (known.begin == array.begin && known.name == array.name && known.index == array.index)
            return;
    if (arrays.size() < kMax) arrays.push_back(array);
}

const std::vector<SharedArray>& all() { return arrays; }

uintptr_t end_of(const SharedArray& array) {
    uintptr_t end = array.end;
    for (const SharedArray& other : arrays)
        if (array.pointer && other.begin > array.begin) end = std::min(end, other.begin);
    return end;
}

bool renamed(const SharedArray& array) {
    return std::any_of(arrays.begin(), arrays.end(), [&](const SharedArray& other) {
        return other.begin == array.begin && &other > &array;
    });
}

const SharedArray* array_at(uintptr_t address) {
    const SharedArray* found = nullptr;
    for (const SharedArray& array : arrays)
        if (array.begin <= address && address < end_of(array) && !renamed(array) &&
            (!found || array.begin > found->begin))
            found = &array;
    return found;
}

std::string element_at(uintptr_t address) {
    const SharedArray* const found = array_at(address);
    if (!found) return "";
    const Extents& extents = found->extents;
    size_t row = extents.element;  // bytes of an element of the dimension that is looked at
    for (size_t i = 0; i < extents.dimensions; ++i) row *= extents.lengths[i];
    size_t at = address - found->begin;
    std::string index;
    const auto step = [&](size_t bytes) {
        index += "[" + std::to_string(at / bytes) + "]";
        at %= bytes;
    };
    if (found->pointer) step(row);
    for (size_t i = 0; i < extents.dimensions; ++i) step(row /= extents.lengths[i]);
    return found->full_name() + index;
}

bool several_externs;

std::string same_memory(const std::string& first, const std::string& second) {
    const Extern *const a = only_extern(first), *const b = only_extern(second);
    if (!a || !b || a == b) return "";
    return a->name + " and " + b->name + " (" + a->where + ", " + b->where +
           ") are the same memory";
}

}  // namespace shared_names

bool record_extern(const char* name, const char* file, int line) {
    const bool known = std::any_of(externs().begin(), externs().end(),
                                   [&](const Extern& e) { return e.name == name; });
    if (!known) externs().push_back({name, short_place(file, line)});
    shared_names::several_externs = externs().size() > 1;
    return true;
}

}  // namespace emulator
