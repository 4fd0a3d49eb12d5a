// CUDA's runtime API: memory, errors, attributes, streams, events. Calls complete before they
// return, whichever stream they name; in a captured stream they are only recorded.
#pragma once

#include <cstddef>
#include <cstring>

#include "cuda_graphs.h"
#include "vector_types.h"

// The place of a call, so that a problem can be reported even where there is no debug info.
#define EMULATOR_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()
// Inlined wrappers: the function that they call takes its return address for the place of the call,
// which must be in the program and not in the wrapper.
#define EMULATOR_INLINE inline __attribute__((always_inline))

// clang-format off
using cudaEvent_t = struct CUevent_st*;
#define CUDART_VERSION 13000  // but what CUDA 13 has removed is kept, so that older programs compile
#define CUDART_CB
#define CUDARTAPI
#define __DRIVER_TYPES_H__  // other headers test these for CUDA's
#define __CUDA_RUNTIME_H__

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrClockRate = 13,
    cudaDevAttrGpuOverlap = 15,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrIntegrated = 18,
    cudaDevAttrCanMapHostMemory = 19,
    cudaDevAttrComputeMode = 20,
    cudaDevAttrConcurrentKernels = 31,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrUnifiedAddressing = 41,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrManagedMemory = 83,
    cudaDevAttrPageableMemoryAccess = 88,
    cudaDevAttrConcurrentManagedAccess = 89,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrMemoryPoolsSupported = 115,
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum { cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxL1 = 0, cudaSharedmemCarveoutMaxShared = 100 };
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaSharedMemConfig { cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte };
enum cudaComputeMode { cudaComputeModeDefault, cudaComputeModeExclusive, cudaComputeModeProhibited, cudaComputeModeExclusiveProcess };
enum cudaLimit { cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize };
enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1,
    cudaMemAdviseUnsetReadMostly,
    cudaMemAdviseSetPreferredLocation,
    cudaMemAdviseUnsetPreferredLocation,
    cudaMemAdviseSetAccessedBy,
    cudaMemAdviseUnsetAccessedBy
};
enum : unsigned {
    cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2,
    cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4,
    cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2, cudaMemAttachGlobal = 1,
    cudaMemAttachHost = 2, cudaMemAttachSingle = 4, cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1,
    cudaDeviceScheduleYield = 2, cudaDeviceScheduleBlockingSync = 4, cudaDeviceBlockingSync = 4, cudaDeviceMapHost = 8
};
constexpr int cudaCpuDeviceId = -1;
enum cudaMemLocationType { cudaMemLocationTypeInvalid, cudaMemLocationTypeDevice, cudaMemLocationTypeHost };
struct cudaMemLocation {
    cudaMemLocationType type;
    int id;
};
#define cudaStreamLegacy (cudaStream_t(1))
#define cudaStreamPerThread (cudaStream_t(2))

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor, reservedSharedMemPerBlock,
        totalConstMem, memPitch, textureAlignment;
    int major, minor, multiProcessorCount, warpSize, maxThreadsPerBlock, maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor,
        regsPerBlock, regsPerMultiprocessor, maxThreadsDim[3], maxGridSize[3], clockRate, memoryClockRate, memoryBusWidth,
        l2CacheSize, persistingL2CacheMaxSize, asyncEngineCount, deviceOverlap, concurrentKernels, canMapHostMemory, integrated,
        unifiedAddressing, managedMemory, concurrentManagedAccess, pageableMemoryAccess,
        pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, cooperativeLaunch, cooperativeMultiDeviceLaunch,
        computePreemptionSupported, globalL1CacheSupported, localL1CacheSupported, singleToDoublePrecisionPerfRatio, computeMode,
        kernelExecTimeoutEnabled, ECCEnabled, tccDriver, streamPrioritiesSupported, hostNativeAtomicSupported, pciBusID,
        pciDeviceID, pciDomainID, isMultiGpuBoard;
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, maxDynamicSharedSizeBytes;
};

// clang-format on
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();  // also resets it to cudaSuccess
cudaError_t cudaPeekAtLastError();
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
// The emulated device has three SMs, or as many as run_ends_only() sets.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
// Allocates exactly `bytes` and fills them with NaN.
cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaFree(void* pointer);
namespace emulator {
cudaError_t malloc_async(void** pointer, size_t bytes);
// An operation of the stream: the memory is there from now on.
cudaError_t begin_async(void* pointer);
cudaError_t free_async(void* pointer);
cudaError_t free_with_graph(void* pointer, cudaStream_t captured);
}  // namespace emulator
// In a captured stream it is a node of the graph. Here the graph has that memory from now on.
EMULATOR_INLINE cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream,
                                            EMULATOR_SITE) {
    const cudaError_t error = emulator::malloc_async(pointer, bytes);
    if (error || emulator::captured(stream)) return error;
    return emulator::in_stream(
        stream, [=] { return emulator::begin_async(*pointer); }, file, line);
}
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream, EMULATOR_SITE) {
    if (emulator::captured(stream)) return emulator::free_with_graph(pointer, stream);
    return emulator::in_stream(
        stream, [=] { return emulator::free_async(pointer); }, file, line);
}
// Memory that both the host and kernels access: managed, pinned and registered.
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags = cudaMemAttachGlobal);
cudaError_t cudaMallocHost(void** pointer, size_t bytes, unsigned flags = 0);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemset(void* to, int value, size_t bytes);
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind);
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags = 0);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
// Measures the emulator's own time, with the host's clock.
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);

namespace emulator {
cudaError_t allow_dynamic_shared(const void* kernel, int bytes, const char* file, int line);
// Marks the padding after each row of `width` bytes as written, so that it is not reported when a
// copy reads whole rows.
void leave_padding(void* begin, size_t pitch, size_t width, size_t height);
}  // namespace emulator

template <class T>
EMULATOR_INLINE cudaError_t cudaMalloc(T** pointer, size_t bytes) {
    return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
EMULATOR_INLINE cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t stream,
                                            EMULATOR_SITE) {
    return cudaMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream, file, line);
}

using cudaMemPool_t = void*;
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t*, int) { return cudaSuccess; }
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
    return cudaSuccess;
}

template <class Function>
cudaError_t cudaFuncSetAttribute(Function* kernel, cudaFuncAttribute attribute, int value,
                                 EMULATOR_SITE) {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    const auto address = reinterpret_cast<const void*>(kernel);
    return emulator::allow_dynamic_shared(address, value, file, line);
}

// ---- Typed and asynchronous forms ----

template <class T>
EMULATOR_INLINE cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned = 0) {
    return cudaMallocHost(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
EMULATOR_INLINE cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned) {
    return cudaMallocHost(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
EMULATOR_INLINE cudaError_t cudaMallocManaged(T** pointer, size_t bytes,
                                              unsigned = cudaMemAttachGlobal) {
    return cudaMallocManaged(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) {
    *device = static_cast<T*>(host);
    return cudaSuccess;
}
template <class T>
EMULATOR_INLINE cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width,
                                            size_t height) {
    *pitch = (width + 511) / 512 * 512;
    const cudaError_t error = cudaMalloc(reinterpret_cast<void**>(pointer), *pitch * height);
    if (!error) emulator::leave_padding(*pointer, *pitch, width, height);
    return error;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream = nullptr, EMULATOR_SITE) {
    return emulator::in_stream(
        stream, [=] { return cudaMemcpy(to, from, bytes, kind); }, file, line);
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                     size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t stream = nullptr, EMULATOR_SITE) {
    return emulator::in_stream(
        stream, [=] { return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind); },
        file, line);
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream = nullptr,
                                   EMULATOR_SITE) {
    return emulator::in_stream(
        stream, [=] { return cudaMemset(to, value, bytes); }, file, line);
}
// ---- Three dimensions: slices of rows, of which each begins `pitch` bytes after the one before ----

struct cudaExtent {  // width: in bytes
    size_t width, height, depth;
};
struct cudaPos {  // x: in bytes
    size_t x, y, z;
};
struct cudaPitchedPtr {  // a slice has ysize rows
    void* ptr;
    size_t pitch, xsize, ysize;
};
struct cudaMemcpy3DParms {  // from memory to memory: the emulator has no cudaArray
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
};
inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
    return {width, height, depth};
}
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
inline cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t xsize, size_t ysize) {
    return {pointer, pitch, xsize, ysize};
}
EMULATOR_INLINE cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
    *pointer = {nullptr, 0, extent.width, extent.height};
    return cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width,
                           extent.height * extent.depth);
}
EMULATOR_INLINE cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) {
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; z < extent.depth && !error; ++z)
        error = cudaMemset2D(static_cast<char*>(pointer.ptr) + z * pointer.ysize * pointer.pitch,
                             pointer.pitch, value, extent.width, extent.height);
    return error;
}
EMULATOR_INLINE cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy) {
    const auto at = [](const cudaPitchedPtr& p, const cudaPos& pos, size_t z) {
        return static_cast<char*>(p.ptr) + ((pos.z + z) * p.ysize + pos.y) * p.pitch + pos.x;
    };
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; z < copy->extent.depth && !error; ++z)
        error = cudaMemcpy2D(at(copy->dstPtr, copy->dstPos, z), copy->dstPtr.pitch,
                             at(copy->srcPtr, copy->srcPos, z), copy->srcPtr.pitch,
                             copy->extent.width, copy->extent.height, copy->kind);
    return error;
}
inline cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream = nullptr,
                                     EMULATOR_SITE) {
    return emulator::in_stream(
        stream, [copy = *copy] { return cudaMemcpy3D(&copy); }, file, line);
}
inline cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
    return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
inline cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                                       cudaStream_t stream = nullptr, EMULATOR_SITE) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream, file, line);
}

// ---- Streams, events, occupancy ----

inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
    return cudaStreamCreateWithFlags(stream, flags);
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = *greatest = 0;
    return cudaSuccess;
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
inline cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return cudaEventCreate(event, flags);
}
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    *can = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit);
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);  // of the heap alone it is looked at
using cudaStreamCallback_t = void (*)(cudaStream_t, cudaError_t, void*);
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void* data,
                                         unsigned, EMULATOR_SITE) {
    // A callback cannot be captured: it invalidates the capture, as waiting for the stream does.
    if (emulator::captured(stream)) return cudaStreamSynchronize(stream);
    const auto called = [=] {
        const emulator::HostFunction scope(stream);
        call(stream, cudaSuccess, data);
        return cudaSuccess;
    };
    return emulator::in_stream(stream, called, file, line);
}
using cudaHostFn_t = void (*)(void*);
inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void* data,
                                      EMULATOR_SITE) {
    const auto called = [=] {
        const emulator::HostFunction scope(stream);
        call(data);
        return cudaSuccess;
    };
    return emulator::in_stream(stream, called, file, line);
}
namespace emulator {
cudaFuncAttributes attributes_of(const void* kernel);
int blocks_per_sm(const void* kernel, int threads, size_t dynamic_shared_bytes);
}  // namespace emulator
template <class Function>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Function* kernel) {
    *attributes = emulator::attributes_of(reinterpret_cast<const void*>(kernel));
    return cudaSuccess;
}
// Considers threads and shared memory, but not registers, which only nvcc knows.
template <class Function>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function* kernel,
                                                          int threads, size_t dynamic_bytes) {
    const auto address = reinterpret_cast<const void*>(kernel);
    *blocks = emulator::blocks_per_sm(address, threads, dynamic_bytes);
    return cudaSuccess;
}
// The launch attributes that the emulator supports.
enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore = 0,
    cudaLaunchAttributeCooperative = 2,
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6,
    cudaLaunchAttributePriority = 8
};
struct cudaLaunchAttributeValue {
    int cooperative;
    dim3 clusterDim;
    int programmaticStreamSerializationAllowed, priority;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute* attrs;
    unsigned numAttrs;
};
// Pretends that each emulated SM holds a whole cluster. Otherwise the three SMs would hold at most
// one, and the clusters of a persistent grid would have no others to divide the tiles with.
template <class Function>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, Function*, const cudaLaunchConfig_t*) {
    return cudaDeviceGetAttribute(clusters, cudaDevAttrMultiProcessorCount, 0);
}
// The largest block with which most threads of an SM are busy, and how many the device then holds.
template <class Function, class Bytes>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* blocks, int* threads,
                                                           Function* kernel, Bytes dynamic_bytes,
                                                           int most = 0) {
    int per_sm = 0, sms = 0;
    *threads = 0;
    for (int n = most > 0 && most < 1024 ? most : 1024; n > 0; n -= n % 32 ? n % 32 : 32) {
        int fitting = 0;
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fitting, kernel, n, dynamic_bytes(n));
        if (fitting * n > per_sm * *threads) per_sm = fitting, *threads = n;
    }
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    *blocks = sms * per_sm;
    return cudaSuccess;
}
template <class Function>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* blocks, int* threads, Function* kernel,
                                               size_t dynamic_bytes = 0, int most = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
        blocks, threads, kernel, [=](int) { return dynamic_bytes; }, most);
}

// Accepted, but without effect here.
#define EMULATOR_IGNORED(name)            \
    template <class... Ignored>           \
    cudaError_t name(const Ignored&...) { \
        return cudaSuccess;               \
    }
EMULATOR_IGNORED(cudaStreamDestroy)
EMULATOR_IGNORED(cudaStreamAttachMemAsync)
EMULATOR_IGNORED(cudaGraphUpload)
EMULATOR_IGNORED(cudaMemPrefetchAsync)
EMULATOR_IGNORED(cudaMemAdvise)
EMULATOR_IGNORED(cudaFuncSetCacheConfig)
EMULATOR_IGNORED(cudaFuncSetSharedMemConfig)
EMULATOR_IGNORED(cudaDeviceSetCacheConfig)
EMULATOR_IGNORED(cudaDeviceSetSharedMemConfig)
EMULATOR_IGNORED(cudaSetDeviceFlags)
EMULATOR_IGNORED(cudaProfilerStart)
EMULATOR_IGNORED(cudaProfilerStop)
EMULATOR_IGNORED(cudaThreadExit)
#undef EMULATOR_IGNORED
