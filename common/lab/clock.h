// The clock's probe: one thread beside the launches that counts the cycles of its multiprocessor.
#pragma once

#include "common/lab/bench.h"

// A GPU's event.
class Event {
public:
    explicit Event(unsigned flags = cudaEventDefault) {
        check_cuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreateWithFlags");
    }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    operator cudaEvent_t() const { return event_; }
    void record() { check_cuda(cudaEventRecord(event_), "cudaEventRecord"); }
    void wait() const { check_cuda(cudaEventSynchronize(event_), "a timed launch"); }
    bool reached() const {
        const cudaError_t status = cudaEventQuery(event_);
        if (status != cudaErrorNotReady) check_cuda(status, "a timed launch");
        return status == cudaSuccess;
    }
    float ms_since(const Event& begin) const {
        float ms = 0;
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

class ClockProbe {
public:
    ClockProbe();
    ~ClockProbe();
    ClockProbe(const ClockProbe&) = delete;
    ClockProbe& operator=(const ClockProbe&) = delete;

    // Queues `launches` on the default stream and lets the thread count beside them, for at most
    // `ms` milliseconds, the time that they take. (A block may have to wait for the thread's
    // multiprocessor and then run alone; that tail must not count.)
    void beside(const Launch& launches, double ms);
    // Waits. Returns the mean MHz of all rounds since the last call, or 0 if none was counted.
    double mhz();

private:
    cudaStream_t stream_;
    Event before_{cudaEventDisableTiming};
    DeviceArray<Counting> counting_{1};
    unsigned round_ = 0;
};
