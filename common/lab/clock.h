// The clock's probe: one thread beside the launches that counts the cycles of its multiprocessor.
#pragma once

#include "common/lab/bench.h"

// A GPU's event.
class Event {
public:
    Event() { check_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
    ~Event() { cudaEventDestroy(event_); }
    Event& operator=(Event&&) = delete;  // nor are there copies
    operator cudaEvent_t() const { return event_; }
    void record() { check_cuda(cudaEventRecord(event_), "cudaEventRecord"); }
    float ms_since(const Event& begin) const {  // waits
        float ms = 0;
        check_cuda(cudaEventSynchronize(event_), "a timed launch");
        check_cuda(cudaEventElapsedTime(&ms, begin, event_), "cudaEventElapsedTime");
        return ms;
    }

private:
    cudaEvent_t event_;
};

// The thread counts from the opening of a round to its close. Rounds are numbered from 1.
struct Counting {
    unsigned running, opened, closed;  // last round that ran, was opened, was closed
    Elapsed all;  // in all rounds
};

// Counts for at most `limit` nanoseconds.
static __global__ void count_cycles(volatile Counting* counting, unsigned round,
                                    unsigned long long limit) {
    const auto pause = [] {  // polling without a pause would cost power
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
        __nanosleep(200);
#endif
    };
    counting->running = round;
    // If kernels can't run side by side, as under a profiler, nobody opens the round: give up.
    const unsigned long long give_up = clock_now().nanoseconds + 2'000'000;
    while (counting->opened != round && clock_now().nanoseconds < give_up) pause();
    if (counting->opened != round || counting->closed == round) return;
    const Elapsed begin = clock_now();
    while (counting->closed != round && clock_now().nanoseconds - begin.nanoseconds < limit)
        pause();
    const Elapsed end = clock_now();
    counting->all.cycles += end.cycles - begin.cycles;
    counting->all.nanoseconds += end.nanoseconds - begin.nanoseconds;
}

// Waits for the counting thread, a millisecond at most: it then counts a launch from its start.
static __global__ void open_round(volatile Counting* counting, unsigned round) {
    const unsigned long long give_up = clock_now().nanoseconds + 1'000'000;
    while (counting->running != round && clock_now().nanoseconds < give_up) continue;
    counting->opened = round;
}

static __global__ void close_round(volatile Counting* counting, unsigned round) {
    counting->closed = round;
}

class ClockProbe {
public:
    ClockProbe() {
        // Non-blocking: the default stream does not wait for this one, nor this one for it.
        check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
                   "cudaStreamCreateWithFlags");
        // Give the thread's multiprocessor shared memory: a block that needs some could not join.
        check_cuda(
            cudaFuncSetAttribute(count_cycles, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared),
            "cudaFuncSetAttribute");
        counting_.upload({Counting{}});
        beside([] {}, 0);  // loads the kernels now: later that might have to wait for a running one
        mhz();
    }
    ~ClockProbe() {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }

    // Queues `launches` on the default stream and lets the thread count beside them, for at most
    // `ms` milliseconds, the time that they take. (A block may have to wait for the thread's
    // multiprocessor and then run alone; that tail must not count.)
    void beside(const Launch& launches, double ms) {
        ++round_;
        before_.record();
        check_cuda(cudaStreamWaitEvent(stream_, before_, 0), "cudaStreamWaitEvent");
        count_cycles<<<1, 1, 0, stream_>>>(counting_.data(), round_, ms * 1e6);
        open_round<<<1, 1>>>(counting_.data(), round_);
        launches();
        close_round<<<1, 1>>>(counting_.data(), round_);
        check_cuda(cudaGetLastError(), "launching the clock's probe");
    }
    // Waits. Returns the mean MHz of all rounds since the last call, or 0 if none was counted.
    double mhz() {
        check_cuda(cudaStreamSynchronize(cudaStreamLegacy), "launches beside the clock's probe");
        check_cuda(cudaStreamSynchronize(stream_), "the clock's probe");
        Counting counting;
        counting_.read(0, 1, &counting);
        counting_.upload({Counting{}});
        return mhz_of(counting.all);
    }

private:
    cudaStream_t stream_;
    Event before_;
    DeviceArray<Counting> counting_{1};
    unsigned round_ = 0;
};
