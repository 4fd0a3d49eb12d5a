// CUDA's runtime API: device memory.

#include "emulator/api/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <set>

#include "emulator/api/arguments.h"
#include "emulator/api/errors.h"
#include "emulator/api/graphs.h"
#include "emulator/api/host_memory.h"
#include "emulator/api/streams.h"
#include "emulator/api/synchronize.h"
#include "emulator/api/variables.h"
#include "emulator/engine/accesses.h"
#include "emulator/engine/nans.h"
#include "emulator/engine/settings.h"
#include "emulator/engine/unset_variables.h"
#include "emulator/engine/watchdog.h"
#include "emulator/engine/written.h"
#include "emulator/include/cuda_runtime.h"
#include "emulator/trace/address.h"
#include "emulator/trace/heap.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

namespace emulator {

void (*copied_to_host)(const void* bytes, size_t count, const std::string& copy);

namespace {

// How many bytes are allocated. pinned: with those of the host that are pinned.
size_t allocated_bytes(bool pinned) {
    size_t bytes = 0;
    for (const Allocation& a : allocations)
        if (!a.borrowed() && (pinned || a.kind != Memory::pinned)) bytes += a.end - a.begin;
    return bytes;
}

size_t memory_limit() {  // half of the memory, so that the machine stays usable
    return size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGE_SIZE)) / 2;
}

// Whether so many bytes lie in one array, or in the host's own memory if that is allowed. With
// run_ends_only() any memory is taken for device memory.
bool in_bounds(const void* pointer, size_t bytes, bool host_allowed) {
    if (only_ends_run()) return true;
    const auto address = address_value(pointer);
    if (const Allocation* const a = find_allocation(address)) return bytes <= a->end - address;
    return host_allowed && pointer && !find_beside(address) && !find_freed(address);
}

// Describes an array of device memory, or what else the address is.
std::string describe_array(const void* pointer) {
    const auto address = address_value(pointer);
    if (!pointer) return null_pointer();
    if (const Allocation* const a = find_allocation(address))
        return address == a->begin
                   ? "an array of " + std::to_string(a->end - a->begin) + " bytes"
                   : "the last " + std::to_string(a->end - address) + " of an array of " +
                         std::to_string(a->end - a->begin) + " bytes";
    if (const Freed* const f = find_freed(address)) return "memory that was " + freed_by(*f);
    if (const Allocation* const a = find_beside(address))
        return "memory outside an array of " + std::to_string(a->end - a->begin) + " bytes";
    return "memory that is not device memory";
}

const char* kind_name(Memory kind) {
    switch (kind) {
        case Memory::device:
            return "cudaMalloc's, which cudaFree() frees";
        case Memory::managed:
            return "cudaMallocManaged's, which cudaFree() frees";
        case Memory::pinned:
            return "cudaMallocHost's, which cudaFreeHost() frees";
        case Memory::registered:
            return "the host's own, which cudaHostUnregister() unregisters";
        case Memory::variables:
            break;
    }
    return "a __device__ variable, which is never freed";
}

// what: the source or the destination.
cudaError_t refuse_bytes(const char* call, size_t bytes, const char* what, const void* pointer) {
    return refuse(call, cudaErrorInvalidValue,
                  std::to_string(bytes) + " bytes " + what + " " + describe_array(pointer) +
                      (bytes >> 62 ? ", a number that has wrapped round" : ""));
}
cudaError_t refuse_pitch(const char* call, size_t width, size_t pitch) {
    return refuse(
        call, cudaErrorInvalidPitchValue,
        "rows of " + std::to_string(width) + " bytes, every " + std::to_string(pitch) + " bytes");
}

// Reports uninitialised memory that a library's function reads.
void report_unwritten(const char* name, const Region& region) {
    const Allocation& array = *find_allocation(address_value(region.begin));
    size_t unwritten = 0;
    for (size_t row = 0; row < region.rows; ++row)
        unwritten += written::unwritten_bytes(
            array, static_cast<const char*>(region.begin) + row * region.pitch, region.width);
    if (!unwritten || !written::all_launches_succeeded()) return;
    report_problem("uninitialised device memory: " + std::string(name) + " at " +
                   streams::place_in_stream() + " reads " + region.name +
                   ", of which nothing has written " + std::to_string(unwritten) + " of " +
                   std::to_string(region.width * region.rows) + " bytes, in " +
                   written::describe(array, address_value(region.begin)));
}

// Whether the host waits for a copy or a fill because of this memory: always if it is pageable, and
// if it is pinned or managed unless the call is an ...Async, which names its stream. (On a GPU a
// copy from pageable memory returns when that has been read into a staging buffer, and not only
// when the copy has ended.) Source: CUDA runtime API, "API synchronization behavior".
bool host_waits(const void* pointer) {
    const Allocation* const a = find_allocation(address_value(pointer));
    if (!a) return true;
    return a->kind != Memory::device && a->kind != Memory::variables && !streams::in_a_stream();
}

// The error because of which no copy and no fill can start, or cudaSuccess. Where the call names no
// stream it is in the default stream.
cudaError_t may_start() {
    const cudaError_t error =
        streams::in_a_stream() ? captures::permitted("a copy or a fill") : may_use(nullptr);
    return error ? error : launch_error();
}

}  // namespace

}  // namespace emulator

using namespace emulator;

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    *total = memory_limit();
    *free = *total - std::min(*total, allocated_bytes(false));
    return cudaSuccess;
}

// The memory of this machine that so many bytes take. ./run any.cu ceases to trace when memory
// becomes scarce. There the array alone counts, with a tenth for everything else.
static double memory_needed(size_t bytes) {
    return printed_at_exit() ? 1.1 * double(bytes) : host_bytes(double(bytes));
}

static cudaError_t allocate(const char* call, void** pointer, size_t bytes, Memory kind,
                            const void* caller) {
    *pointer = nullptr;
    print_at_exit();
    if (bytes == 0) return cudaSuccess;
    const size_t limit = memory_limit(), allocated = allocated_bytes(true);
    const bool large = bytes >> 20;  // to ask for the machine's memory takes longer than the rest
    const bool fits = bytes <= limit && allocated + bytes <= limit &&
                      !(large && memory_needed(bytes) > available_memory());
    watchdog::install();
    const DeviceMemoryOpen open;
    Allocation* const array = fits ? allocate_device_memory(bytes, kind) : nullptr;
    if (!array) {
        const std::string left = std::to_string(limit - std::min(limit, allocated));
        return decline(
            call, cudaErrorMemoryAllocation,
            std::to_string(bytes) + " bytes, but the emulated device has " + left + " left");
    }
    array->caller = caller;
    if (kind == Memory::device) written::begin_array(*array);
    *pointer = reinterpret_cast<void*>(array->begin);
    return cudaSuccess;
}
cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    if (const cudaError_t error = captures::unsafe_call("cudaMalloc")) return error;
    return allocate("cudaMalloc", pointer, bytes, Memory::device, __builtin_return_address(0));
}
cudaError_t emulator::malloc_async(void** pointer, size_t bytes) {
    const cudaError_t error =
        allocate("cudaMallocAsync", pointer, bytes, Memory::device, __builtin_return_address(0));
    if (Allocation* const a = find_allocation(address_value(*pointer))) a->async = true;
    return error;
}
cudaError_t emulator::begin_async(void* pointer) {
    if (const Allocation* const memory = find_allocation(address_value(pointer)))
        streams::allocate(__builtin_return_address(0), *memory);
    return cudaSuccess;
}
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned) {
    return allocate("cudaMallocManaged", pointer, bytes, Memory::managed,
                    __builtin_return_address(0));
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes, unsigned) {
    return allocate("cudaMallocHost", pointer, bytes, Memory::pinned, __builtin_return_address(0));
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
    if (!pointer || !bytes)
        return refuse("cudaHostRegister", cudaErrorInvalidValue,
                      std::to_string(bytes) + " bytes at " + (pointer ? "an address" : "null"));
    const auto begin = address_value(pointer);
    for (const Allocation& a : allocations)
        if (begin < a.end && a.begin < begin + bytes)
            return decline("cudaHostRegister", cudaErrorHostMemoryAlreadyRegistered,
                           "a part of these bytes is registered, or CUDA's own memory");
    add_allocation(pointer, bytes, Memory::registered)->caller = __builtin_return_address(0);
    return cudaSuccess;
}

// Where memory begins that is freed with a graph. Never destroyed, because destructors of static
// objects may still destroy graphs.
static std::set<uintptr_t>& of_graphs = *new std::set<uintptr_t>;
bool emulator::is_freed_with_graph(const Allocation& a) { return of_graphs.count(a.begin); }

static void free_memory(Allocation& a, const void* caller) {
    of_graphs.erase(a.begin);
    if (a.kind == Memory::managed) {
        const DeviceMemoryOpen open;
        nans::find(a, a.begin, a.end - a.begin);
    }
    accesses::forget(a);
    written::end_array(a);
    remove_allocation(a, caller);
}
void emulator::free_all_memory() {
    streams::host_waits_for_all();
    while (!allocations.empty()) free_memory(allocations.back(), nullptr);
}

// Reports free() or delete of memory that CUDA has allocated, which has another heap: without the
// emulator the program crashes there. Returns whether it is such memory.
static bool refuse_free(void* block) {
    if (address_value(block) % 4096) return false;  // allocate_device_memory() takes whole pages
    const Allocation* const a = find_allocation(address_value(block));
    if (!a || a->borrowed() || a->begin != address_value(block)) return false;
    report_and_print("freed by the wrong function: free() or delete" + place_of_runtime_call() +
                     " gets memory that is " + kind_name(a->kind));
    return true;
}
static const bool free_is_checked = [] {
    not_from_malloc = refuse_free;
    return true;
}();

// Whether memory begins at `pointer` that is of one of these kinds. other: the error for all else.
static cudaError_t may_free(const char* call, void* pointer, std::initializer_list<Memory> kinds,
                            cudaError_t other) {
    const auto address = address_value(pointer);
    const Allocation* const a = find_allocation(address);
    const bool its_kind = a && std::find(kinds.begin(), kinds.end(), a->kind) != kinds.end();
    if (its_kind && a->begin == address) return cudaSuccess;
    // The destructors of a program may come after its cudaDeviceReset(), and do no harm.
    const Freed* const freed = find_freed(address);
    if (!a && freed && !freed->caller) return set_last_error(other);
    return refuse(call, other,
                  a && !its_kind ? std::string("this memory is ") + kind_name(a->kind)
                                 : describe_array(pointer));
}
static cudaError_t free_memory(const char* call, void* pointer, std::initializer_list<Memory> kinds,
                               cudaError_t other, const void* caller) {
    if (const cudaError_t error = may_free(call, pointer, kinds, other)) return error;
    Allocation& a = *find_allocation(address_value(pointer));
    if (!streams::in_a_stream()) {  // cudaFreeAsync does not wait
        if (a.async) streams::host_frees(caller, a);
        else streams::host_waits_for_all();
    }
    free_memory(a, caller);
    return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
    if (const cudaError_t error = captures::unsafe_call("cudaFree")) return error;
    if (!pointer) return cudaSuccess;
    return free_memory("cudaFree", pointer, {Memory::device, Memory::managed},
                       cudaErrorInvalidValue, __builtin_return_address(0));
}
cudaError_t emulator::free_async(void* pointer) {
    const Allocation* const memory = find_allocation(address_value(pointer));
    if (memory && memory->begin == address_value(pointer) && streams::in_a_stream())
        streams::free(__builtin_return_address(0), *memory);
    return free_memory("cudaFreeAsync", pointer, {Memory::device}, cudaErrorInvalidValue,
                       __builtin_return_address(0));
}

// cudaFreeAsync() in a captured stream. The graph may be launched again and then uses the memory
// again, so the memory is freed with the last graph that has this node.
struct FreedWithGraph : CUgraphNode_st {
    uintptr_t address;
    const void* caller;
    FreedWithGraph(void* pointer, const void* caller)
        : address(address_value(pointer)), caller(caller) {
        of_graphs.insert(address);
    }
    ~FreedWithGraph() override {
        if (of_graphs.count(address)) free_memory(*find_allocation(address), caller);
    }
    cudaError_t run() const override { return cudaSuccess; }
};
cudaError_t emulator::free_with_graph(void* pointer, cudaStream_t captured) {
    const cudaError_t error =
        may_free("cudaFreeAsync", pointer, {Memory::device}, cudaErrorInvalidValue);
    return error ? error
                 : capture(captured, new FreedWithGraph(pointer, __builtin_return_address(0)));
}
cudaError_t cudaFreeHost(void* pointer) {
    if (!pointer) return cudaSuccess;
    return free_memory("cudaFreeHost", pointer, {Memory::pinned}, cudaErrorInvalidValue,
                       __builtin_return_address(0));
}
cudaError_t cudaHostUnregister(void* pointer) {
    return free_memory("cudaHostUnregister", pointer, {Memory::registered},
                       cudaErrorHostMemoryNotRegistered, __builtin_return_address(0));
}

static void mark_padding(void* begin, size_t pitch, size_t width, size_t height) {
    for (size_t row = 0; row < height && width < pitch; ++row)
        written::mark_all(static_cast<char*>(begin) + row * pitch + width, pitch - width);
}
void emulator::leave_padding(void* begin, size_t pitch, size_t width, size_t height) {
    if (Allocation* const a = find_allocation(address_value(begin))) a->pitched = true;
    mark_padding(begin, pitch, width, height);
}
// The same of a copy or a fill whose destination has such rows. What lies beside a width that is too
// small, such as one in elements, is not padding: padding is less than the row itself, or less than
// the alignment of the pitch.
static void leave_padding_of_copy(void* to, size_t pitch, size_t width, size_t height) {
    constexpr size_t kAlignment = 512;
    const Allocation* const a = find_allocation(address_value(to));
    if (a && !a->pitched && pitch - width < std::max(width, kAlignment))
        mark_padding(to, pitch, width, height);
}

// Whether it is an array that only kernels access, and not the host.
static bool on_device(const Allocation* array) {
    return array && (array->kind == Memory::device || array->kind == Memory::variables);
}

static std::string direction_name(cudaMemcpyKind kind) {
    return kind == cudaMemcpyHostToDevice   ? "cudaMemcpyHostToDevice"
           : kind == cudaMemcpyDeviceToHost ? "cudaMemcpyDeviceToHost"
                                            : "cudaMemcpyDeviceToDevice";
}

static cudaError_t copy(const written::CopyCall& copying, void* to, const void* from, size_t bytes,
                        cudaMemcpyKind kind) {
    const char* const call = copying.name;
    const void* const caller = copying.caller;
    if (const cudaError_t error = may_start()) return error;
    if (bytes == 0) return cudaSuccess;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (to_device && is_name_of_variable(to))
        return refuse(
            call, cudaErrorInvalidValue,
            "the destination is " + name_of_variable(to) + ": cudaMemcpyToSymbol() takes the name");
    if (from_device && is_name_of_variable(from))
        return refuse(
            call, cudaErrorInvalidValue,
            "the source is " + name_of_variable(from) + ": cudaMemcpyFromSymbol() takes the name");
    const bool to_fits = in_bounds(to, bytes, !to_device);
    if (!to_fits || !in_bounds(from, bytes, !from_device)) {
        const auto owner = [](const void* p) {
            return find_allocation(address_value(p)) ? "device's" : "host's";
        };
        const auto is_host = [](const void* p) {
            return !in_bounds(p, 1, false) && in_bounds(p, 1, true);
        };
        if ((to_device && is_host(to)) || (from_device && is_host(from)))
            return refuse(call, cudaErrorInvalidValue,
                          direction_name(kind) + ", but the destination is the " + owner(to) +
                              " and the source the " + owner(from));
        return to_fits ? refuse_bytes(call, bytes, "from", from)
                       : refuse_bytes(call, bytes, "to", to);
    }
    const DeviceMemoryOpen open;
    streams::copy(call, caller, to, from, bytes, host_waits(to) || host_waits(from));
    std::memmove(to, from, bytes);
    Allocation* const target = find_allocation(address_value(to));
    const Allocation* const source = find_allocation(address_value(from));
    const std::string place = streams::place_in_stream();
    written::note_copy(on_device(target) ? target : nullptr, to, source, from, bytes, copying,
                       place);
    if (!on_device(source)) {
        nans::note_given(from, bytes);
    } else if (!on_device(target)) {
        nans::find(*source, address_value(from), bytes);
        note_functions(to, bytes);
    }
    note_objects(on_device(source) ? nullptr : from, address_value(to), bytes);
    if (source && !on_device(target)) {
        find_unset_variables(*source, from, bytes);
        note_addresses(to, bytes);
        if (copied_to_host)
            copied_to_host(
                to, bytes,
                call + (place.empty() ? place_of_call(uintptr_t(caller)) : " at " + place));
    }
    return cudaSuccess;
}

// Whether these bytes lie in an array of the host, if it is one. If not, the copy is reported and
// left out: on a GPU it overwrites what follows the array, and the program crashes later.
static bool fits_host(const char* call, const char* does, const void* pointer, size_t bytes) {
    const bool is_host = !in_bounds(pointer, 1, false) && in_bounds(pointer, 1, true);
    const HostExtent room = is_host ? host_extent(pointer) : HostExtent();
    if (bytes <= room.bytes) return true;
    report_and_print(
        "out of bounds: " + std::string(call) + place_of_runtime_call() + does +
        std::to_string(bytes) + " bytes of the host's memory, but " +
        (room.local ? "the local variables there end after " : "the array there has ") +
        std::to_string(room.bytes));
    return false;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    if (!fits_host("cudaMemcpy", " writes ", to, bytes) ||
        !fits_host("cudaMemcpy", " reads ", from, bytes))
        return cudaSuccess;
    return copy({"cudaMemcpy", __builtin_return_address(0), bytes}, to, from, bytes, kind);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
    const written::CopyCall call("cudaMemcpy2D", __builtin_return_address(0), width * height);
    for (const size_t pitch : {to_pitch, from_pitch})
        if (height && width > pitch) return refuse_pitch("cudaMemcpy2D", width, pitch);
    if (!width || !height) return may_start();
    const auto fits = [&](const char* does, const void* pointer, size_t pitch) {
        return fits_host("cudaMemcpy2D", does, pointer, (height - 1) * pitch + width);
    };
    if (!fits(" writes ", to, to_pitch) || !fits(" reads ", from, from_pitch)) return cudaSuccess;
    cudaError_t error = cudaSuccess;
    leave_padding_of_copy(to, to_pitch, width, height);
    for (size_t row = 0; row < height && !error; ++row)
        error = copy(call, static_cast<char*>(to) + row * to_pitch,
                     static_cast<const char*>(from) + row * from_pitch, width, kind);
    return error;
}

// Reports the value of a fill that is no byte, because it was meant for whole elements. Four equal
// bytes, such as 0x3f3f3f3f, are what an int then is.
static void check_byte(const char* call, int value) {
    const int filled = int(unsigned(uint8_t(value)) * 0x01010101u);
    if ((-128 <= value && value <= 255) || value == filled) return;
    float as_float;
    std::memcpy(&as_float, &filled, sizeof filled);
    char text[128];
    std::snprintf(text, sizeof text, "0x%02x: an int becomes %d, and a float %g", uint8_t(value),
                  filled, double(as_float));
    report_and_print(std::string(call) + place_of_runtime_call() +
                     " sets bytes, not elements: of the value " + std::to_string(value) +
                     " each byte gets the lowest, " + text);
}

static cudaError_t fill(const char* call, void* to, int value, size_t bytes, const void* caller) {
    if (const cudaError_t error = may_start()) return error;
    if (bytes == 0) return cudaSuccess;
    if (is_name_of_variable(to))
        return refuse(call, cudaErrorInvalidValue,
                      "it gets " + name_of_variable(to) + ": cudaGetSymbolAddress() gives that");
    if (!in_bounds(to, bytes, false)) return refuse_bytes(call, bytes, "in", to);
    check_byte(call, value);
    const DeviceMemoryOpen open;
    streams::copy(call, caller, to, nullptr, bytes, host_waits(to));
    std::memset(to, value, bytes);
    written::mark_all(to, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    return fill("cudaMemset", to, value, bytes, __builtin_return_address(0));
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    const void* const caller = __builtin_return_address(0);
    if (height > 1 && width > pitch) return refuse_pitch("cudaMemset2D", width, pitch);
    cudaError_t error = cudaSuccess;
    leave_padding_of_copy(to, pitch, width, height);
    for (size_t row = 0; row < height && !error; ++row)
        error = fill("cudaMemset2D", static_cast<char*>(to) + row * pitch, value, width, caller);
    return error;
}

cudaError_t emulator::call_library(const char* name, const std::vector<Region>& regions,
                                   const std::function<void()>& work) {
    if (const cudaError_t error = may_start()) return error;
    for (const Region& r : regions) {
        if (!r.bytes() || in_bounds(r.begin, r.bytes(), false)) continue;
        report_and_print("out of bounds: " + std::string(name) + " at " +
                         streams::place_in_stream() + (r.writes ? " writes " : " reads ") + r.name +
                         ", " + std::to_string(r.bytes()) + " bytes, but its pointer is to " +
                         describe_array(r.begin));
        return set_last_error(cudaErrorIllegalAddress);
    }
    const DeviceMemoryOpen open;
    streams::call_library(name, regions);
    for (const Region& r : regions)
        if (!r.writes && r.bytes()) report_unwritten(name, r);
    work();
    for (const Region& r : regions) {
        if (r.writes && r.bytes()) find_allocation(address_value(r.begin))->of_library = true;
        for (size_t row = 0; r.writes && row < r.rows; ++row)
            written::mark_all(static_cast<const char*>(r.begin) + row * r.pitch, r.width);
    }
    return cudaSuccess;
}
