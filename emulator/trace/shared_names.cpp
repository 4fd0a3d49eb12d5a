// A kernel's names for its arrays in shared memory.

#include "emulator/trace/shared_names.h"

#include <algorithm>

namespace emulator {
namespace {

std::vector<SharedArray> arrays;
constexpr size_t kMost = 1000;  // an advancing pointer has many

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
    if (arrays.size() < kMost) arrays.push_back(array);
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

}  // namespace shared_names
}  // namespace emulator
