// What the emulated device is, and its streams and events.

#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "emulator/api/errors.h"
#include "emulator/api/graphs.h"
#include "emulator/api/host_clock.h"
#include "emulator/api/limits.h"
#include "emulator/api/memory.h"
#include "emulator/api/streams.h"
#include "emulator/engine/device_memory.h"
#include "emulator/engine/kernel_heap.h"
#include "emulator/engine/printed.h"
#include "emulator/engine/run.h"
#include "emulator/engine/settings.h"
#include "emulator/trace/report.h"

namespace {

using Clock = std::chrono::steady_clock;

cudaError_t no_device(const char* call, int device) {
    return emulator::decline(call, cudaErrorInvalidDevice,
                             "device " + std::to_string(device) + "; the emulator has one, 0");
}

}  // namespace

struct CUevent_st {
    bool timed = true, recorded = false;
    Clock::time_point at{};
};

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : no_device("cudaSetDevice", device);
}

// The emulated device has no peers.
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    return no_device("cudaDeviceEnablePeerAccess", peer);
}
cudaError_t cudaDeviceDisablePeerAccess(int) {
    return emulator::set_last_error(cudaErrorPeerAccessNotEnabled);
}

// By cudaLimit: those of a GPU before they are set.
static constexpr size_t kUsualLimits[] = {1024, emulator::printed::kUsualLimit,
                                          emulator::kernel_heap::kUsualLimit};
static size_t limits[] = {kUsualLimits[0], kUsualLimits[1], kUsualLimits[2]};
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    *value = limits[limit];
    return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    limits[limit] = value;
    if (limit == cudaLimitMallocHeapSize) emulator::kernel_heap::limit = value;
    if (limit == cudaLimitPrintfFifoSize) emulator::printed::limit = value;
    return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
    emulator::free_all_memory();
    emulator::set_last_error(cudaSuccess);
    emulator::forget_limits();
    emulator::captures::forget();
    emulator::streams::forget();
    emulator::add_device_variables();
    for (const cudaLimit limit :
         {cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize})
        cudaDeviceSetLimit(limit, kUsualLimits[limit]);
    return cudaSuccess;
}

// The device has only three SMs, so that a grid of one block for each of them has to loop even over
// a small matrix.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
    if (device != 0) return no_device("cudaGetDeviceProperties", device);
    *p = {};
    std::strcpy(p->name, "CPU emulator");
    size_t free;
    cudaMemGetInfo(&free, &p->totalGlobalMem);
    p->sharedMemPerBlock = 48 * 1024;
    p->sharedMemPerBlockOptin = 227 * 1024;
    p->sharedMemPerMultiprocessor = 228 * 1024;
    p->totalConstMem = 64 * 1024;
    p->memPitch = 0x7fffffff;
    p->textureAlignment = 512;
    p->major = 8;
    p->multiProcessorCount = emulator::only_ends_run() ? emulator::only_ends_run() : 3;
    p->warpSize = 32;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    for (int i = 0; i < 3; ++i) {
        p->maxThreadsDim[i] = i < 2 ? 1024 : 64;
        p->maxGridSize[i] = i ? 65535 : 0x7fffffff;
    }
    p->clockRate = 1000000;  // kHz, of clock()
    p->memoryClockRate = 1000000;
    p->memoryBusWidth = 256;
    p->l2CacheSize = 4 << 20;
    p->asyncEngineCount = p->deviceOverlap = p->concurrentKernels = p->canMapHostMemory = 1;
    p->unifiedAddressing = p->managedMemory = p->streamPrioritiesSupported = 1;
    p->cooperativeLaunch = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp p;
    if (const cudaError_t error = cudaGetDeviceProperties(&p, device)) return error;
    const struct {
        cudaDeviceAttr attribute;
        size_t value;
    } all[] = {{cudaDevAttrMaxThreadsPerBlock, size_t(p.maxThreadsPerBlock)},
               {cudaDevAttrMaxSharedMemoryPerBlock, p.sharedMemPerBlock},
               {cudaDevAttrWarpSize, size_t(p.warpSize)},
               {cudaDevAttrClockRate, size_t(p.clockRate)},
               {cudaDevAttrMultiProcessorCount, size_t(p.multiProcessorCount)},
               {cudaDevAttrCanMapHostMemory, 1},
               {cudaDevAttrConcurrentKernels, 1},
               {cudaDevAttrMemoryClockRate, size_t(p.memoryClockRate)},
               {cudaDevAttrGlobalMemoryBusWidth, size_t(p.memoryBusWidth)},
               {cudaDevAttrL2CacheSize, size_t(p.l2CacheSize)},
               {cudaDevAttrMaxThreadsPerMultiProcessor, size_t(p.maxThreadsPerMultiProcessor)},
               {cudaDevAttrUnifiedAddressing, 1},
               {cudaDevAttrComputeCapabilityMajor, size_t(p.major)},
               {cudaDevAttrMaxSharedMemoryPerMultiprocessor, p.sharedMemPerMultiprocessor},
               {cudaDevAttrManagedMemory, 1},
               {cudaDevAttrCooperativeLaunch, 1},
               {cudaDevAttrMaxSharedMemoryPerBlockOptin, p.sharedMemPerBlockOptin},
               {cudaDevAttrMemoryPoolsSupported, 1}};
    *value = 0;
    for (const auto& each : all)
        if (each.attribute == attribute) *value = int(each.value);
    return cudaSuccess;
}

// Replaces the C library's clock(). In a kernel it counts nanoseconds, as clockRate says: otherwise
// a program that waits for a million cycles would wait for a second.
extern "C" clock_t clock() noexcept {
    emulator::note_clock(__builtin_return_address(0));
    const bool in_kernel = emulator::run.running;
    timespec now;
    clock_gettime(in_kernel ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &now);
    const clock_t nanoseconds = now.tv_sec * 1000000000 + now.tv_nsec;
    return in_kernel ? nanoseconds : nanoseconds / (1000000000 / CLOCKS_PER_SEC);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
    *event = new CUevent_st;
    (*event)->timed = !(flags & cudaEventDisableTiming);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (!event)
        return emulator::refuse("cudaEventRecord", cudaErrorInvalidResourceHandle,
                                "the event is null");
    if (const cudaError_t error = emulator::captures::record(event, stream)) return error;
    event->recorded = true;
    event->at = Clock::now();
    if (!emulator::captured(stream)) emulator::streams::record(event, stream);
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    if (emulator::captured(stream) || emulator::captured(event))
        return emulator::captures::wait(stream, event);
    if (const cudaError_t error = emulator::may_use(stream)) return error;
    emulator::streams::wait(stream, event);
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
    for (const cudaEvent_t event : {begin, end})
        if (!event || !event->recorded || !event->timed)
            return emulator::refuse("cudaEventElapsedTime", cudaErrorInvalidResourceHandle,
                                    std::string(event == begin ? "the first" : "the second") +
                                        " event " +
                                        (!event             ? "is null"
                                         : !event->recorded ? "was never recorded"
                                                            : "is created without timing"));
    for (const cudaEvent_t event : {begin, end})
        if (!emulator::streams::host_has_waited_for(event))
            return emulator::refuse("cudaEventElapsedTime", cudaErrorNotReady,
                                    std::string("the host has not waited for the ") +
                                        (event == begin ? "first" : "second") +
                                        " event, and a GPU may not have come to it: "
                                        "cudaEventSynchronize() is missing");
    if (const std::string launch = emulator::streams::launch_beside(begin, end); !launch.empty())
        emulator::report_note("cudaEventElapsedTime" + emulator::place_of_runtime_call(),
                              "the launch at " + launch +
                                  " is in another stream than the two events, which do not wait "
                                  "for it: the time is not that of the kernel");
    *ms = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    emulator::captures::forget(event);  // another event may get its address
    emulator::streams::forget(event);
    delete event;
    return cudaSuccess;
}
