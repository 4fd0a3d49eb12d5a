// Operations in two streams, traced: with and without an order between them.
#include <functional>

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
    // Makes what follows in stream `after` wait for what was done in `before`, or does not.
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

// Memory is there from the allocation on, in the order of its stream.
TEST_F(Streams, Allocations) {
    for (const Order order : kAll) {
        create(kNonBlocking);
        int* a;
        cudaMallocAsync(&a, 256, s);  // @allocated
        put(order, s, t);
        cudaMemsetAsync(a, 0, 256, t);  // @cleared
        add_one<<<1, 64, 0, t>>>(a);
        cudaFreeAsync(a, t);
        if (order == kNothing)
            expect_problem(
                {"race between streams: the cudaMemset at @cleared writes what the "
                 "cudaMallocAsync at @allocated allocates (the cudaMemset at @cleared and the "
                 "cudaMallocAsync at @allocated are in two streams"});
        else expect_silence();
    }
    create(kBlocking);
    int* a;
    cudaMallocAsync(&a, 256, nullptr);
    cudaMemsetAsync(a, 0, 256, s);
    cudaFreeAsync(a, nullptr);
    expect_silence();
}

// cudaFree() does not wait for memory that a stream has allocated.
TEST_F(Streams, FreedByTheHost) {
    for (const Order order : kAll) {
        create(kNonBlocking);
        int* a;
        cudaMallocAsync(&a, 256, s);
        cudaMemsetAsync(a, 0, 256, s);
        add_one<<<1, 64, 0, s>>>(a);  // @launched
        put(order, s, t);
        cudaFree(a);  // @freed
        if (order == kNothing || order == kEvent)
            expect_problem(
                {"missing wait: cudaFree() at @freed frees what @add may still be reading, in the "
                 "launch at @launched: cudaStreamSynchronize(s) is missing"});
        else expect_silence();
    }
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

// ---- What the host accesses itself --------------------------------------------------------------

class HostWaits : public Streams {
protected:
    int *managed, *device = ints.data, seen;
    void SetUp() override {
        Streams::SetUp();
        create(kNonBlocking);
        cudaMallocManaged(&managed, 256);
    }
    void TearDown() override {
        cudaFree(managed);
        Streams::TearDown();
    }
    void download() {
        cudaMemcpyAsync(pinned, device, 128, cudaMemcpyDeviceToHost, s);  // @download
    }
    void upload() {
        cudaMemcpyAsync(device, pinned, 128, cudaMemcpyHostToDevice, s);  // @upload
    }
    [[gnu::noinline]] void read(const int* from) {
        seen = *from;  // @host_reads
    }
    void write(int* to) {
        *to = 1;  // @host_writes
    }
};

TEST_F(HostWaits, ForACopy) {
    download();
    read(pinned + 31);
    expect_problem(
        {"missing wait: @host_reads: the host reads pinned, which the copy at @download "
         "may still be writing: cudaStreamSynchronize(s) is missing"});
    download();
    write(pinned);
    expect_problem(
        {"missing wait: @host_writes: the host writes pinned, which the copy at "
         "@download may still be writing"});
    upload();
    write(pinned);
    expect_problem(
        {"missing wait: @host_writes: the host writes pinned, which the copy at @upload "
         "may still be reading: cudaStreamSynchronize(s) is missing"});
    upload();
    read(pinned);  // both read
    write(pinned + 32);  // another part
    expect_silence();
    cudaDeviceSynchronize();
    cudaMemsetAsync(pinned, 0, 128, t);  // @fill_async
    read(pinned);
    expect_problem(
        {"the host reads what the cudaMemset at @fill_async may still be writing: "
         "cudaStreamSynchronize(t) is missing"});
}

TEST_F(HostWaits, ForALaunch) {
    add_one<<<1, 32>>>(managed);  // @launch
    write(managed + 32);
    expect_silence();
    read(managed + 31);
    expect_problem(
        {"missing wait: @host_reads: the host reads what @add may still be writing, in "
         "the launch at @launch: cudaDeviceSynchronize() is missing"});
    cudaMemset(sum.data, 0, 4);
    cudaDeviceSynchronize();
    sum_up<<<1, 32, 0, t>>>(managed, sum.data);  // @launch_in_t
    read(managed);
    expect_silence();
    write(managed);
    expect_problem(
        {"missing wait: @host_writes: the host writes what @sum may still be reading, "
         "in the launch at @launch_in_t: cudaStreamSynchronize(t) is missing"});
}

TEST_F(HostWaits, InEachOfTheseWays) {
    int own;
    const std::pair<const char*, std::function<void()>> ways[] = {
        {"stream", [&] { cudaStreamSynchronize(s); }},
        {"device", [] { cudaDeviceSynchronize(); }},
        {"query", [&] { EXPECT_EQ(cudaStreamQuery(s), cudaSuccess); }},
        {"event",
         [&] {
             cudaEventRecord(event, s);
             cudaEventSynchronize(event);
         }},
        {"a later stream",
         [&] {
             cudaEventRecord(event, s);
             cudaStreamWaitEvent(t, event, 0);
             cudaStreamSynchronize(t);
         }},
        {"pageable memory", [&] { cudaMemcpyAsync(&own, device, 4, cudaMemcpyDeviceToHost, s); }},
        {"free", [] { Device<int> other(1); }},
        {"polling", [&] { EXPECT_EQ(*static_cast<volatile int*>(pinned), 0); }},
    };
    cudaMemset(device, 0, 256);
    for (const auto& [name, wait] : ways) {
        SCOPED_TRACE(name);
        cudaDeviceSynchronize();
        download();
        wait();
        read(pinned);
        write(pinned);
        expect_silence();
    }
    const std::pair<const char*, std::function<void()>> no_ways[] = {
        {"another stream", [&] { cudaStreamSynchronize(t); }},
        {"an earlier event", [&] { cudaEventSynchronize(event); }},
        {"an event",
         [&] {
             cudaEventRecord(event, s);
             cudaStreamWaitEvent(t, event, 0);
         }},
        {"the default stream", [&] { cudaMemcpy(&own, device, 4, cudaMemcpyDeviceToHost); }},
        {"a free in the stream",
         [&] {
             cudaMallocAsync(&managed, 4, s);
             cudaFreeAsync(managed, s);
             managed = nullptr;
         }},
        {"a free in a capture",
         [&] {
             cudaGraph_t graph;
             cudaStreamCreate(&t);
             cudaStreamBeginCapture(t, cudaStreamCaptureModeRelaxed);
             cudaMallocAsync(&managed, 4, t);
             cudaFreeAsync(managed, t);
             cudaStreamEndCapture(t, &graph);
             cudaGraphDestroy(graph);
             managed = nullptr;
         }},
        {"a callback",
         [&] {
             const auto nothing = [](cudaStream_t, cudaError_t, void*) {};
             cudaStreamAddCallback(s, nothing, nullptr, 0);
         }},
    };
    for (const auto& [name, wait] : no_ways) {
        SCOPED_TRACE(name);
        cudaEventRecord(event, s);
        cudaDeviceSynchronize();
        download();
        wait();
        read(pinned);
        expect_problem({"missing wait: @host_reads"});
    }
}

TEST_F(HostWaits, InCodeThatHasRunBefore) {
    cudaDeviceSynchronize();
    for (int i = 0; i < 1000; ++i) read(pinned);
    download();
    read(pinned);
    expect_problem({"missing wait: @host_reads"});
}

// One missing wait is one problem, however often and in how many places the host then looks.
TEST_F(HostWaits, AreReportedOnce) {
    for (int i = 0; i < 3; ++i) {
        upload();
        add_one<<<1, 32, 0, s>>>(device);
        download();
        read(pinned);
        write(pinned + 1);
    }
    expect_problem({"missing wait: @host_reads"});
}

// A function that a stream calls comes after what the stream has done.
TEST_F(HostWaits, NotInTheStreamItself) {
    download();
    cudaLaunchHostFunc(
        s, [](void* p) { ++*static_cast<int*>(p); }, pinned);
    cudaStreamAddCallback(
        s, [](cudaStream_t, cudaError_t, void* p) { ++*static_cast<int*>(p); }, pinned, 0);
    cudaStreamSynchronize(s);
    read(pinned);
    expect_silence();
}

}  // namespace
