// Operations in two streams, traced: with and without an order between them.
#include "device.h"

namespace {

__global__ void add_one(int* x) {
    x[threadIdx.x] += 1;  // @add
}
__global__ void sum_up(const int* x, int* sum) {
    atomicAdd(sum, x[threadIdx.x]);  // @sum
}

enum Order { kNothing, kDevice, kStream, kEvent, kEventOfHost, kDefault };
enum Kind { kBlocking, kNonBlocking };

class Streams : public Base {
protected:
    cudaStream_t s, t;
    cudaEvent_t event;
    int* pinned;
    Device<int> sum{1};
    void create(Kind kind) {
        const unsigned flags = kind == kBlocking ? cudaStreamDefault : cudaStreamNonBlocking;
        cudaStreamCreateWithFlags(&s, flags);
        cudaStreamCreateWithFlags(&t, flags);
        cudaDeviceSynchronize();
    }
    void SetUp() override {
        Base::SetUp();
        cudaEventCreate(&event);
        cudaMallocHost(&pinned, 256);
    }
    void TearDown() override {
        cudaFreeHost(pinned);
        cudaEventDestroy(event);
    }
    // Orders what follows in stream `after` behind what was done in `before`, or does not.
    void put(Order order, cudaStream_t before, cudaStream_t after) {
        if (order == kDevice) cudaDeviceSynchronize();
        if (order == kStream) cudaStreamSynchronize(before);
        if (order == kEvent || order == kEventOfHost) cudaEventRecord(event, before);
        if (order == kEvent) cudaStreamWaitEvent(after, event, 0);
        if (order == kEventOfHost) cudaEventSynchronize(event);
        if (order == kDefault) cudaMemsetAsync(sum.data, 0, 4);
    }
};

const Order kAll[] = {kNothing, kDevice, kStream, kEvent, kEventOfHost};

TEST_F(Streams, AKernelAfterAFill) {
    for (const Order order : kAll) {
        create(kNonBlocking);
        cudaMemset(ints.data, 0, 256);  // @fill
        put(order, nullptr, s);
        add_one<<<1, 64, 0, s>>>(ints.data);  // @filled
        if (order == kNothing)
            expect_problem(
                {"race between streams: @add reads what the cudaMemset at @fill writes "
                 "(the launch at @filled and the cudaMemset at @fill are in two"});
        else expect_silence();
    }
    create(kBlocking);  // these wait for the default stream
    cudaMemset(ints.data, 0, 256);
    add_one<<<1, 64, 0, s>>>(ints.data);
    expect_silence();
}

TEST_F(Streams, TwoKernels) {
    for (const Order order : {kNothing, kDevice, kStream, kEvent, kEventOfHost, kDefault})
        for (const Kind kind : {kBlocking, kNonBlocking}) {
            create(kind);
            for (int i = 0; i < 3; ++i) {
                add_one<<<1, 64, 0, s>>>(ints.data);  // @first
                put(order, s, t);
                sum_up<<<1, 64, 0, t>>>(ints.data, sum.data);  // @second
                put(order, t, s);
            }
            if (order == kNothing)
                expect_some(
                    {"race between streams: @sum reads what @add writes (the launch at "
                     "@second and the launch at @first are in two streams"});
            else if (order != kDefault || kind == kBlocking) expect_silence();
            emulator::reset_counts();
        }
    create(kNonBlocking);
    add_one<<<1, 64, 0, s>>>(ints.data);
    add_one<<<1, 64, 0, t>>>(ints.data + 64);  // another part of the array
    expect_silence();
    cudaDeviceSynchronize();
    sum_up<<<1, 64, 0, s>>>(ints.data, sum.data);
    sum_up<<<1, 64, 0, t>>>(ints.data, sum.data + 0);  // both launches read, and add
    expect_silence();
}

TEST_F(Streams, Copies) {
    for (const Order order : kAll) {
        create(kNonBlocking);
        cudaMemcpyAsync(ints.data, pinned, 256, cudaMemcpyHostToDevice, s);  // @in
        put(order, s, t);
        add_one<<<1, 64, 0, t>>>(ints.data);  // @between
        put(order, t, nullptr);
        cudaMemcpy(pinned, ints.data + 60, 16, cudaMemcpyDeviceToHost);  // @out
        if (order == kNothing) {
            const std::string all = problem();
            for (const std::string said :
                 {"@add reads what the cudaMemcpy at @in writes (the launch "
                  "at @between and the cudaMemcpy at @in",
                  "the cudaMemcpy at @out reads what @add writes (the "
                  "cudaMemcpy at @out and the launch at @between"})
                EXPECT_NE(all.find(said), all.npos) << all;
            emulator::reset_counts();
        } else {
            expect_silence();
        }
    }
    create(kNonBlocking);
    int own[64] = {};
    // Pageable, so the call waits.
    cudaMemcpyAsync(ints.data, own, 256, cudaMemcpyHostToDevice, s);
    add_one<<<1, 64, 0, t>>>(ints.data);
    expect_silence();
}

// A fill of pinned memory has ended when the call returns, unless it is an Async.
TEST_F(Streams, FillsOfPinnedMemory) {
    create(kNonBlocking);
    cudaMemset(pinned, 0, 256);
    add_one<<<1, 64, 0, s>>>(pinned);
    expect_silence();
    cudaDeviceSynchronize();
    cudaMemsetAsync(pinned, 0, 256);  // @fill_pinned
    add_one<<<1, 64, 0, s>>>(pinned);
    expect_problem({"race between streams: @add reads what the cudaMemset at @fill_pinned writes"});
}

__device__ int variable[64];
__global__ void add_variable(int* x) {
    x[threadIdx.x] += variable[threadIdx.x];  // @variable
}

TEST_F(Streams, CopiesToAVariable) {
    create(kNonBlocking);
    cudaMemset(ints.data, 0, 256);
    cudaDeviceSynchronize();
    cudaMemcpyToSymbol(variable, pinned, 256);
    add_variable<<<1, 64, 0, s>>>(ints.data);
    expect_silence();
    cudaDeviceSynchronize();
    cudaMemcpyToSymbolAsync(variable, pinned, 256, 0, cudaMemcpyHostToDevice, t);  // @to_variable
    add_variable<<<1, 64, 0, s>>>(ints.data);
    expect_problem({"race between streams: @variable reads what the cudaMemcpy at @to_variable"});
}

// An event that gets the address of one that was destroyed has not been recorded.
TEST_F(Streams, ANewEventOrdersNothing) {
    create(kNonBlocking);
    add_one<<<1, 64, 0, s>>>(ints.data);
    for (int i = 0; i < 10; ++i) {
        cudaEventRecord(event, s);
        cudaEventDestroy(event);
        cudaEventCreate(&event);
        cudaStreamWaitEvent(t, event, 0);
    }
    add_one<<<1, 64, 0, t>>>(ints.data);
    expect_problem({"race between streams"});
}

TEST_F(Streams, AreReportedOnce) {
    create(kNonBlocking);
    for (int i = 0; i < 3; ++i) {
        add_one<<<1, 64, 0, s>>>(ints.data);
        add_one<<<1, 64, 0, t>>>(ints.data);
    }
    // One for each order of the two.
    EXPECT_EQ(emulator::counts().problems.size(), 2u) << problem();
    emulator::reset_counts();
}

}  // namespace
