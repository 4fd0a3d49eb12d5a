// CUDA's runtime API: device memory, errors.

#include "emulator/api/api.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "emulator/api/streams.h"
#include "emulator/engine/accesses.h"
#include "emulator/engine/scheduler.h"
#include "emulator/engine/settings.h"
#include "emulator/engine/watchdog.h"
#include "emulator/summary.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/symbols.h"

extern "C" __attribute__((weak)) void __asan_init();  // in a program that has AddressSanitizer
extern "C" __attribute__((weak)) char __start_cuda_device, __stop_cuda_device;  // the linker's
extern "C" __attribute__((weak)) char __start_cuda_constant, __stop_cuda_constant;

namespace emulator {

// __device__ variables lie in a section of their own, which is there from the start.
static Allocation device_variables() {
    return {reinterpret_cast<uintptr_t>(&__start_cuda_device),
            reinterpret_cast<uintptr_t>(&__stop_cuda_device), nullptr, true, true};
}
std::vector<Allocation> allocations(&__start_cuda_device ? 1 : 0, device_variables());

namespace {

struct Device {
    cudaError_t last_error = cudaSuccess;
    size_t allocated_bytes = 0;
} device;

std::vector<Allocation>::iterator allocation_after(uintptr_t address) {
    return std::upper_bound(allocations.begin(), allocations.end(), address,
                            [](uintptr_t a, const Allocation& x) { return a < x.begin; });
}

size_t memory_limit() {  // half of the memory, so that the machine stays usable
    return size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGE_SIZE)) / 2;
}

}  // namespace

double available_memory() {
    std::ifstream numbers("/proc/meminfo");
    double kib;
    for (std::string name; numbers >> name;)
        if (name == "MemAvailable:" && numbers >> kib) return kib * 1024;
    return HUGE_VAL;
}

namespace {

bool on_device(const void* pointer, size_t bytes) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const Allocation* a = find_allocation(address);
    return only_ends_run() || (a && bytes <= a->end - address);
}

// As on a GPU, the host sees a failed kernel only when it next waits for the device. Unlike there,
// cudaGetLastError() forgets the failure, so that tests can go on.
cudaError_t launch_error() {
    if (capturing()) return set_last_error(cudaErrorStreamCaptureUnsupported);
    const bool of_kernel = device.last_error == cudaErrorLaunchFailure ||
                           device.last_error == cudaErrorAssert ||
                           device.last_error == cudaErrorIllegalAddress ||
                           device.last_error == cudaErrorMisalignedAddress;
    return of_kernel ? device.last_error : cudaSuccess;
}

// A gap surrounds each allocation, so that an access past its end does not hit the next array.
// AddressSanitizer has red zones of its own, but only for memory from the heap.
constexpr size_t kGap = 1 << 20;

size_t with_gaps(size_t bytes) {
    const size_t page = size_t(sysconf(_SC_PAGE_SIZE));
    return kGap + (bytes + page - 1) / page * page + kGap;
}

void* allocate(size_t bytes) {
    if (__asan_init) return allocate_aligned(256, bytes);
    void* const all = mmap(nullptr, with_gaps(bytes), PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return nullptr;
    void* const begin = static_cast<char*>(all) + kGap;
    if (mprotect(begin, bytes, PROT_READ | PROT_WRITE) == 0) return begin;
    munmap(all, with_gaps(bytes));
    return nullptr;
}

// Its addresses stay taken for a while, so that whoever still uses it is told of that.
constexpr size_t kFreed = 100;
std::deque<Freed>& freed = *new std::deque<Freed>;

void unmap(const Freed& memory) {
    munmap(reinterpret_cast<char*>(memory.begin) - kGap, with_gaps(memory.end - memory.begin));
}

void deallocate(void* pointer, size_t bytes, const void* by) {
    const auto begin = reinterpret_cast<uintptr_t>(pointer);
    if (__asan_init) return std::free(pointer);
    void* const all = static_cast<char*>(pointer) - kGap;
    const Freed memory{begin, begin + bytes, reinterpret_cast<uintptr_t>(by)};
    if (mmap(all, with_gaps(bytes), PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        return unmap(memory);
    freed.push_back(memory);
    if (freed.size() <= kFreed) return;
    unmap(freed.front());
    freed.pop_front();
}

// "12 of 400 bytes of device memory", or what else is there.
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

// Names a call that fails because of where its bytes go, or come from.
cudaError_t refuse_copy(const char* call, const void* by, size_t bytes, const char* what,
                        const void* pointer) {
    const std::string place = streams::place_in_stream();
    report_aloud(
        call + (place.empty() ? place_of_call(reinterpret_cast<uintptr_t>(by)) : " at " + place) +
        " fails, invalid argument: " + std::to_string(bytes) + " bytes " + what + " " +
        describe_array(pointer) + (bytes >> 62 ? ", a number that has wrapped round" : ""));
    return set_last_error(cudaErrorInvalidValue);
}

void protect_all(int protection) {
    if (__asan_init) return;
    for (const Allocation& a : allocations)
        if (!a.of_host) mprotect(reinterpret_cast<void*>(a.begin), a.end - a.begin, protection);
}

}  // namespace

Allocation* find_allocation(uintptr_t address) {
    const auto after = allocation_after(address);
    return after != allocations.begin() && address < after[-1].end ? &after[-1] : nullptr;
}

const Freed* find_freed(uintptr_t address) {
    for (auto f = freed.rbegin(); f != freed.rend(); ++f)
        if (f->begin - kGap <= address && address < f->end + kGap) return &*f;
    return nullptr;
}

std::string place_of_call(uintptr_t return_address) {
    const std::string line = find_lines({return_address})[0];
    return line.empty() ? "" : " at " + line;
}

std::string freed_by(const Freed& memory) {
    const std::string place = place_of_call(memory.by);
    return place.empty() ? "freed" : "freed (cudaFree" + place + ")";
}

DeviceMemoryOpen::DeviceMemoryOpen() { protect_all(PROT_READ | PROT_WRITE); }
DeviceMemoryOpen::~DeviceMemoryOpen() { protect_all(PROT_NONE); }

// Allocates exactly `bytes`, so that AddressSanitizer notices an access past the end.
void* allocate_aligned(size_t alignment, size_t bytes) {
    void* p = nullptr;
    return posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
}

cudaError_t set_last_error(cudaError_t error) { return device.last_error = error; }

}  // namespace emulator

using namespace emulator;

static const char* describe(cudaError_t error, bool by_name) {
#define EMULATOR_DESCRIBED(name, number, text) \
    if (error == name) return by_name ? #name : text;
    EMULATOR_ERRORS(EMULATOR_DESCRIBED)
    return "unrecognized error code";
}
const char* cudaGetErrorName(cudaError_t error) { return describe(error, true); }
const char* cudaGetErrorString(cudaError_t error) { return describe(error, false); }
cudaError_t cudaGetLastError() { return std::exchange(device.last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return device.last_error; }
cudaError_t cudaDeviceSynchronize() {
    if (!capturing()) streams::host_waits_for_all();
    return launch_error();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (!capturing()) streams::host_waits_for(stream);
    return launch_error();
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (!capturing()) streams::host_waits_for(event);
    return launch_error();
}
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : set_last_error(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceReset() {
    while (!allocations.empty()) cudaFree(reinterpret_cast<void*>(allocations.back().begin));
    device = Device();
    forget_limits();
    streams::forget();
    if (&__start_cuda_device) allocations.push_back(device_variables());
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    *total = memory_limit();
    *free = *total - std::min(*total, device.allocated_bytes);
    return cudaSuccess;
}

static cudaError_t allocate(void** pointer, size_t bytes, bool of_host) {
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (bytes > memory_limit() || device.allocated_bytes + bytes > memory_limit())
        return set_last_error(cudaErrorMemoryAllocation);
    if (bytes >> 20 &&
        (summary::wanted() ? 1.1 * double(bytes) : host_bytes(double(bytes))) > available_memory())
        return set_last_error(cudaErrorMemoryAllocation);
    watchdog::install();
    const DeviceMemoryOpen open;
    void* p = allocate(bytes);
    if (!p) return set_last_error(cudaErrorMemoryAllocation);
    std::memset(p, of_host ? 0 : 0xff, bytes);
    const auto begin = reinterpret_cast<uintptr_t>(p);
    allocations.insert(allocation_after(begin), {begin, begin + bytes, nullptr, of_host});
    device.allocated_bytes += bytes;
    *pointer = p;
    return cudaSuccess;
}
cudaError_t cudaMalloc(void** pointer, size_t bytes) { return allocate(pointer, bytes, false); }
cudaError_t cudaMallocHost(void** pointer, size_t bytes, unsigned) {
    return allocate(pointer, bytes, true);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
    const auto begin = reinterpret_cast<uintptr_t>(pointer);
    allocations.insert(allocation_after(begin), {begin, begin + bytes, nullptr, true, true});
    return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
    if (!pointer) return cudaSuccess;
    Allocation* a = find_allocation(reinterpret_cast<uintptr_t>(pointer));
    if (!a || a->begin != reinterpret_cast<uintptr_t>(pointer))
        return set_last_error(cudaErrorInvalidValue);
    streams::host_waits_for_all();
    const size_t bytes = a->end - a->begin;
    const bool borrowed = a->borrowed;
    trace::forget(*a);
    allocations.erase(allocations.begin() + (a - allocations.data()));
    if (borrowed) return cudaSuccess;
    device.allocated_bytes -= bytes;
    deallocate(pointer, bytes, __builtin_return_address(0));
    return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* pointer) { return cudaFree(pointer); }

static cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                        const void* by) {
    if (const cudaError_t error = launch_error()) return error;
    if (bytes == 0) return cudaSuccess;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (to_device && !on_device(to, bytes)) return refuse_copy("cudaMemcpy", by, bytes, "to", to);
    if (from_device && !on_device(from, bytes))
        return refuse_copy("cudaMemcpy", by, bytes, "from", from);
    const DeviceMemoryOpen open;
    // The host waits for what is not pinned, whatever the call. (Really, until it has been read.)
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
    if (const cudaError_t error = launch_error()) return error;
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
