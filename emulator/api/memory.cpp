// CUDA's runtime API: device memory.

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "emulator/api/errors.h"
#include "emulator/api/streams.h"
#include "emulator/api/synchronize.h"
#include "emulator/engine/accesses.h"
#include "emulator/engine/settings.h"
#include "emulator/engine/watchdog.h"
#include "emulator/include/cuda_runtime.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/symbols.h"

extern "C" __attribute__((weak)) char __start_cuda_device, __stop_cuda_device;  // by the linker
extern "C" __attribute__((weak)) char __start_cuda_constant, __stop_cuda_constant;

namespace emulator {
namespace {

size_t allocated_bytes;

size_t memory_limit() {  // half of the memory, so that the machine stays usable
    return size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGE_SIZE)) / 2;
}

bool on_device(const void* pointer, size_t bytes) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const Allocation* a = find_allocation(address);
    return only_ends_run() || (a && bytes <= a->end - address);
}

// Describes an array of device memory, or what else the address is.
std::string describe_array(const void* pointer) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    if (!pointer) return "a null pointer";
    if (const Allocation* const a = find_allocation(address))
        return address == a->begin
                   ? "an array of " + std::to_string(a->end - a->begin) + " bytes"
                   : "the last " + std::to_string(a->end - address) + " of an array of " +
                         std::to_string(a->end - a->begin) + " bytes";
    if (const Freed* const f = find_freed(address)) return "memory that is " + freed_by(*f);
    return "no device memory";
}

// Reports a call that fails because of its source or its destination.
cudaError_t refuse_copy(const char* call, const void* by, size_t bytes, const char* what,
                        const void* pointer) {
    const std::string place = streams::place_in_stream();
    report_aloud(
        call + (place.empty() ? place_of_call(reinterpret_cast<uintptr_t>(by)) : " at " + place) +
        " fails, invalid argument: " + std::to_string(bytes) + " bytes " + what + " " +
        describe_array(pointer) + (bytes >> 62 ? ", a number that has wrapped round" : ""));
    return set_last_error(cudaErrorInvalidValue);
}

// The error because of which no copy and no fill can start, or cudaSuccess. Where the call names no
// stream it is in the default stream.
cudaError_t may_start() {
    const cudaError_t error = streams::in_a_stream() ? cudaSuccess : may_use(nullptr);
    return error ? error : launch_error();
}

}  // namespace

}  // namespace emulator

using namespace emulator;

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    *total = memory_limit();
    *free = *total - std::min(*total, allocated_bytes);
    return cudaSuccess;
}

static cudaError_t allocate(void** pointer, size_t bytes, bool of_host) {
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (bytes > memory_limit() || allocated_bytes + bytes > memory_limit())
        return set_last_error(cudaErrorMemoryAllocation);
    if (bytes >> 20 &&
        (printed_at_exit() ? 1.1 * double(bytes) : host_bytes(double(bytes))) > available_memory())
        return set_last_error(cudaErrorMemoryAllocation);
    watchdog::install();
    const DeviceMemoryOpen open;
    void* const p = allocate_device_memory(bytes, of_host);
    if (!p) return set_last_error(cudaErrorMemoryAllocation);
    std::memset(p, of_host ? 0 : 0xff, bytes);
    allocated_bytes += bytes;
    *pointer = p;
    return cudaSuccess;
}
cudaError_t cudaMalloc(void** pointer, size_t bytes) { return allocate(pointer, bytes, false); }
cudaError_t cudaMallocHost(void** pointer, size_t bytes, unsigned) {
    return allocate(pointer, bytes, true);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
    add_allocation(pointer, bytes, true, true);
    return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
    if (!pointer) return cudaSuccess;
    Allocation* a = find_allocation(reinterpret_cast<uintptr_t>(pointer));
    if (!a || a->begin != reinterpret_cast<uintptr_t>(pointer))
        return set_last_error(cudaErrorInvalidValue);
    streams::host_waits_for_all();
    accesses::forget(*a);
    if (!a->borrowed) allocated_bytes -= a->end - a->begin;
    remove_allocation(*a, __builtin_return_address(0));
    return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* pointer) { return cudaFree(pointer); }

static cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                        const void* by) {
    if (const cudaError_t error = may_start()) return error;
    if (bytes == 0) return cudaSuccess;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (to_device && !on_device(to, bytes)) return refuse_copy("cudaMemcpy", by, bytes, "to", to);
    if (from_device && !on_device(from, bytes))
        return refuse_copy("cudaMemcpy", by, bytes, "from", from);
    const DeviceMemoryOpen open;
    // The host waits for a copy of memory that is not pinned, whatever the call. (On a GPU only
    // until the memory has been read.)
    bool waits = false;
    for (const void* const p : {static_cast<const void*>(to), from}) {
        const Allocation* const memory = find_allocation(reinterpret_cast<uintptr_t>(p));
        waits |= !memory || (memory->of_host && !streams::in_a_stream());
    }
    streams::copy("cudaMemcpy", by, to, from, bytes, waits);
    std::memmove(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return copy(to, from, bytes, kind, __builtin_return_address(0));
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
    cudaError_t error = cudaSuccess;
    for (size_t row = 0; row < height && !error; ++row)
        error = copy(static_cast<char*>(to) + row * to_pitch,
                     static_cast<const char*>(from) + row * from_pitch, width, kind,
                     __builtin_return_address(0));
    return error;
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    const void* const by = __builtin_return_address(0);
    if (const cudaError_t error = may_start()) return error;
    if (bytes == 0) return cudaSuccess;
    if (!on_device(to, bytes)) return refuse_copy("cudaMemset", by, bytes, "in", to);
    const DeviceMemoryOpen open;
    streams::copy("cudaMemset", by, to, nullptr, bytes, false);
    std::memset(to, value, bytes);
    return cudaSuccess;
}

size_t emulator::size_of_variable(const void* symbol) {
    const auto address = reinterpret_cast<uintptr_t>(symbol);
    const auto in = [=](const char& begin, const char& end) {
        return address - reinterpret_cast<uintptr_t>(&begin) < size_t(&end - &begin);
    };
    const Symbol* const found = find_symbol(address);
    return found && (in(__start_cuda_device, __stop_cuda_device) ||
                     in(__start_cuda_constant, __stop_cuda_constant))
               ? found->size
               : 0;
}

cudaError_t emulator::find_variable(const void* symbol, size_t offset, size_t bytes, void** place,
                                    const char* call, const char* file, int line) {
    *place = static_cast<char*>(const_cast<void*>(symbol)) + offset;
    const size_t size = size_of_variable(symbol);
    if (size && offset + bytes <= size) return cudaSuccess;
    report_aloud(std::string(call) + " at " + short_path(file) + ":" + std::to_string(line) +
                 (size ? ": the variable has " + std::to_string(size) + " bytes, not " +
                             std::to_string(offset + bytes)
                       : ": takes a __device__ or __constant__ variable, not its address or name"));
    return set_last_error(size ? cudaErrorInvalidValue : cudaErrorInvalidSymbol);
}
