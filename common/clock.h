// The clock that the multiprocessors really have while kernels run. A GPU slows down within
// microseconds of its tensor cores' getting to work, and recovers as fast. So a driver that is
// asked from the host reports another clock, and so would a kernel before or after. Here one
// thread, in a stream of its own, counts its multiprocessor's cycles beside the launches in
// question.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <string>

// Cycles of a multiprocessor, and nanoseconds. 0 on the emulator.
struct Elapsed {
    unsigned long long cycles, nanoseconds;
};

__device__ inline unsigned long long nanoseconds_now() {
#ifdef CUDA_EMULATOR
    return 0;
#else
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
#endif
}

__device__ inline Elapsed clock_now() {
#ifdef CUDA_EMULATOR
    return {0, 0};
#else
    return {static_cast<unsigned long long>(clock64()), nanoseconds_now()};
#endif
}

// A kernel that reads its own clock ends with this: an entry a block, until its last warp is done.
__device__ inline void report_elapsed(const Elapsed& begin, Elapsed* own) {
    __syncthreads();
    const Elapsed end = clock_now();
    if (threadIdx.x == 0)
        own[blockIdx.x] = {end.cycles - begin.cycles, end.nanoseconds - begin.nanoseconds};
}

inline double mhz_of(const Elapsed& elapsed) {
    const double ns = double(elapsed.nanoseconds);
    return ns > 0 ? 1e3 * double(elapsed.cycles) / ns : 0;
}

#ifndef CUDA_EMULATOR

void check_cuda(cudaError_t status, const std::string& call);  // gpu.h

// Rounds are numbered from 1. In each, the thread counts from the round's opening to its close.
struct Counting {
    unsigned running, opened, closed;  // the last such round
    Elapsed all;  // in all rounds
};

class ClockProbe {
public:
    ClockProbe();
    ~ClockProbe();
    ClockProbe(const ClockProbe&) = delete;
    ClockProbe& operator=(const ClockProbe&) = delete;

    // Queues `launches` on the default stream, with the thread counting beside them. They take `ms`
    // milliseconds: what comes after does not count. (One block may have to wait for the thread's
    // multiprocessor, and then run alone.)
    void beside(const std::function<void()>& launches, double ms);

    // Waits. MHz in all rounds since the last call; 0 where the thread could not run beside any.
    double mhz();

private:
    cudaStream_t stream_;
    cudaEvent_t before_;
    Counting* counting_;
    unsigned round_ = 0;
};

#ifndef HARNESS_COMPILED_APART

// Counts no longer than `limit` nanoseconds.
static __global__ void count_cycles(volatile Counting* counting, unsigned round,
                                    unsigned long long limit) {
    const auto pause = [] {  // polling without one costs power
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
        __nanosleep(200);
#endif
    };
    counting->running = round;
    // Where kernels can't run side by side (in a profiler, for one), no round is opened meanwhile.
    const unsigned long long give_up = nanoseconds_now() + 2'000'000;
    while (counting->opened != round && nanoseconds_now() < give_up) pause();
    if (counting->opened != round || counting->closed == round) return;
    const Elapsed begin = clock_now();
    while (counting->closed != round && nanoseconds_now() - begin.nanoseconds < limit) pause();
    const Elapsed end = clock_now();
    counting->all.cycles += end.cycles - begin.cycles;
    counting->all.nanoseconds += end.nanoseconds - begin.nanoseconds;
}

// The launches that follow shall find the counting thread in its place, unless that takes too long.
static __global__ void open_round(volatile Counting* counting, unsigned round) {
    const unsigned long long give_up = nanoseconds_now() + 1'000'000;
    while (counting->running != round && nanoseconds_now() < give_up) continue;
    counting->opened = round;
}

static __global__ void close_round(volatile Counting* counting, unsigned round) {
    counting->closed = round;
}

ClockProbe::ClockProbe() {
    int least = 0, greatest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest),
               "cudaDeviceGetStreamPriorityRange");
    // Non-blocking: the default stream does not wait for this one, nor this one for it.
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
               "cudaStreamCreateWithPriority");
    check_cuda(cudaEventCreateWithFlags(&before_, cudaEventDisableTiming),
               "cudaEventCreateWithFlags");
    check_cuda(cudaMalloc(&counting_, sizeof(Counting)), "cudaMalloc");
    check_cuda(cudaMemset(counting_, 0, sizeof(Counting)), "cudaMemset");
    // A block with shared memory can join the thread on its multiprocessor only if that has some.
    check_cuda(cudaFuncSetAttribute(count_cycles, cudaFuncAttributePreferredSharedMemoryCarveout,
                                    cudaSharedmemCarveoutMaxShared),
               "cudaFuncSetAttribute");
    beside([] {}, 0);  // loads the kernels: later that might have to wait for what runs
    mhz();
}

ClockProbe::~ClockProbe() {
    cudaStreamSynchronize(stream_);
    cudaFree(counting_);
    cudaEventDestroy(before_);
    cudaStreamDestroy(stream_);
}

void ClockProbe::beside(const std::function<void()>& launches, double ms) {
    ++round_;
    check_cuda(cudaEventRecord(before_, cudaStreamLegacy), "cudaEventRecord");
    check_cuda(cudaStreamWaitEvent(stream_, before_, 0), "cudaStreamWaitEvent");
    count_cycles<<<1, 1, 0, stream_>>>(counting_, round_, ms * 1e6);
    open_round<<<1, 1>>>(counting_, round_);
    launches();
    close_round<<<1, 1>>>(counting_, round_);
    check_cuda(cudaGetLastError(), "launching the clock's probe");
}

double ClockProbe::mhz() {
    check_cuda(cudaStreamSynchronize(cudaStreamLegacy), "launches beside the clock's probe");
    check_cuda(cudaStreamSynchronize(stream_), "the clock's probe");
    Counting counting;
    check_cuda(cudaMemcpy(&counting, counting_, sizeof counting, cudaMemcpyDeviceToHost),
               "cudaMemcpy from the device");
    check_cuda(cudaMemset(counting_, 0, sizeof counting), "cudaMemset");
    return mhz_of(counting.all);
}

#endif  // HARNESS_COMPILED_APART
#endif  // CUDA_EMULATOR
