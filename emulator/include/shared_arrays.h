// Describes the arrays in shared memory, as the compiler knows them, for reports and the record of
// a launch. rewrite_launches.py makes kernels call record_shared() and record_pointer() where they
// declare such memory, and adds emulator_members() to structs that are used there.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace emulator {

struct Extents {  // for float[2][8]: 4 bytes; 2 and 8
    size_t element, dimensions, lengths[8];
};
template <class T>
constexpr Extents extents_of() {
    if constexpr (std::is_array_v<T>) {
        Extents all{0, 1, {std::extent_v<T>}};
        const Extents inner = extents_of<std::remove_extent_t<T>>();
        all.element = inner.element;
        for (size_t i = 0; i < inner.dimensions; ++i)
            all.lengths[all.dimensions++] = inner.lengths[i];
        return all;
    } else {
        return {sizeof(T), 0, {}};
    }
}
template <class T>
inline constexpr Extents kExtents = extents_of<T>();

// name: of the array; of a member, where the struct is element `index` of `owner`. bytes 0: as many
// elements as fit.
void record_array(const char* owner, int index, const char* name, const volatile void* begin,
                  size_t bytes, const Extents& extents);

template <class T, class = void>
constexpr bool kHasMembers = false;
template <class T>
constexpr bool
    kHasMembers<T, std::void_t<decltype(std::declval<const T&>().emulator_members("", 0))>> = true;

template <class T>
__attribute__((no_sanitize("thread"))) void record_shared(const char* name, const T& object) {
    using Element = std::remove_extent_t<T>;
    if constexpr (!kHasMembers<Element>) record_array("", 0, name, &object, sizeof(T), kExtents<T>);
    else if constexpr (std::is_array_v<T>)
        for (size_t i = 0; i < std::extent_v<T>; ++i) object[i].emulator_members(name, int(i));
    else object.emulator_members("", 0);
}

// A member that is a struct is described by its own members.
template <class T>
void record_member(const char* owner, int index, const char* name, const T& member) {
    if constexpr (kHasMembers<std::remove_extent_t<T>>) record_shared(name, member);
    else record_array(owner, index, name, &member, sizeof(T), kExtents<T>);
}

// An extern __shared__ array of a file that has several of different names, which are the same
// memory. Returns true.
bool record_extern(const char* name, const char* file, int line);

// Dynamic shared memory, accessed through a pointer.
template <class T>
void record_pointer(const char* name, const T* first) {
    if constexpr (kHasMembers<T>) first->emulator_members("", 0);
    else record_array("", 0, name, first, 0, kExtents<T>);
}

}  // namespace emulator
