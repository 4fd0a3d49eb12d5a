// Which traced accesses are allowed: bounds of every memory, alignment, reads of unwritten memory.
#include <climits>

#include "device.h"

namespace {

class Accesses : public Base {};

void expect_out_of_bounds(const std::string& said, HERE) {
    expect_failure({"out of bounds: " + said}, cudaErrorIllegalAddress, file, line);
}

__global__ void read_at(const float* in, float* out, long i) {
    out[threadIdx.x] = in[i + threadIdx.x];  // @read
}
__global__ void write_at(float* out, long i) {
    out[i + threadIdx.x] = 1;  // @write
}

// The calls by which the compiler traces accesses are removed from code that often runs untraced.
TEST_F(Accesses, AreTracedInCodeThatHasOftenRunUntraced) {
    emulator::set_tracing(false);
    read_at<<<1000, 1>>>(floats.data, floats.data, 0);
    emulator::set_tracing(true);
    read_at<<<1, 4>>>(floats.data, floats.data, 189);
    expect_out_of_bounds("@read reads 4 bytes, just past the end..thread 3)");
}

TEST_F(Accesses, DeviceMemoryHasBounds) {
    Device<float> a(100, 1), b(100, 2);
    read_at<<<1, 4>>>(a.data, floats.data, 96);
    expect_silence();
    for (const auto& [i, where] : {std::pair<long, std::string>{97, "just past the end..thread 3)"},
                                   {5000, "19600 bytes past the end..thread 0)"},
                                   {-1, "4 bytes before the start..thread 0)"}}) {
        read_at<<<1, 4>>>(a.data, floats.data, i);
        expect_out_of_bounds("@read reads 4 bytes, " + where);
        write_at<<<1, 4>>>(b.data, i);
        expect_out_of_bounds("@write writes 4 bytes, " + where);
    }
    for (int i = 0; i < 97; ++i) EXPECT_EQ(b.host()[i], 2);
    write_at<<<1, 4>>>(b.data, 97);
    expect_out_of_bounds("@write..of 400 bytes of device memory");
}

// As a[r * width] with int r and width, and a[i - 1] with unsigned i = 0.
TEST_F(Accesses, IndicesThatHaveWrappedRound) {
    Device<float> a(100, 1);
    read_at<<<1, 4>>>(a.data, floats.data, 50 - (1L << 32));
    expect_out_of_bounds(
        "@read reads 4 bytes, 17179868984 bytes before the start of 400 bytes of device memory, as "
        "if an int index had overflowed: compute a large index with size_t");
    read_at<<<1, 4>>>(a.data, floats.data, (1L << 32) - 1);
    expect_out_of_bounds("@read reads 4 bytes..as if an unsigned index had gone below 0");
}

TEST_F(Accesses, HostPointersAreNoDeviceMemory) {
    std::vector<float> heap(8);
    float stack[8] = {};
    for (const float* host : {&heap[0], &stack[0]}) {
        read_at<<<1, 4>>>(host, floats.data, 0);
        expect_out_of_bounds(
            "@read reads 4 bytes, not in device memory, but in the host's..thread 0)");
    }
    read_at<<<1, 4>>>(reinterpret_cast<float*>(1 << 20), floats.data, 0);
    expect_out_of_bounds("@read reads 4 bytes, where there is no memory at all");
    read_at<<<1, 4>>>(nullptr, floats.data, 0);
    expect_out_of_bounds("@read reads 4 bytes..null pointer..thread 0)");
}

TEST_F(Accesses, FreedMemory) {
    float* freed;
    cudaMalloc(&freed, 32);
    cudaFree(freed);  // @free
    const Device<float> others[] = {Device<float>(8), Device<float>(8)};
    read_at<<<1, 4>>>(freed + 1, floats.data, 0);
    expect_out_of_bounds(
        "@read reads 4 bytes, in 32 bytes of device memory, freed (cudaFree at @free)");
    read_at<<<1, 4>>>(freed + 8, floats.data, 0);
    expect_out_of_bounds(
        "@read reads 4 bytes, just past the end of 32 bytes..freed (cudaFree at @free)");
}

__global__ void store_to_null() {
    int* nowhere = nullptr;
    *nowhere = 1;  // @nowhere
}

TEST_F(Accesses, AStoreThroughNullIsNotCompiledAway) {
    store_to_null<<<1, 1>>>();
    expect_out_of_bounds("@nowhere writes 4 bytes, a null pointer");
}

enum class Heap { right, past, before, straddled, after_free, freed_twice };
struct Pair {
    int value;
    Pair* next;
};
__global__ void kernel_heap(Heap mistake, float* out) {
    Pair* const pair = new Pair{3, nullptr};
    int* const a = static_cast<int*>(malloc(16 * sizeof(int)));
    for (int i = 0; i < 16; ++i) a[i] = i;
    const int past = mistake == Heap::past ? 16 : mistake == Heap::before ? -1 : 15;
    out[threadIdx.x] = a[past] + pair->value;  // @outside
    const auto* const end = reinterpret_cast<const char*>(a + 16);
    if (mistake == Heap::straddled) out[0] = *reinterpret_cast<const long*>(end - 8 + 4);  // @wide
    delete pair;
    int* volatile stale = a;  // about which the compiler does not warn
    free(a);  // @freed
    if (mistake == Heap::after_free) out[0] = stale[3];  // @late
    if (mistake == Heap::freed_twice) free(stale);  // @again
}
// The second kernel frees what the first one has allocated.
__global__ void allocate(int** kept) {
    *kept = new int[8];
    (*kept)[7] = 1;
}
__global__ void release(int** kept) {
    ++(*kept)[7];
    delete[] * kept;
}

TEST_F(Accesses, WhatAKernelAllocatesHasBounds) {
    kernel_heap<<<2, 64>>>(Heap::right, floats.data);
    Device<int*> kept(1, nullptr);
    allocate<<<1, 1>>>(kept.data);
    emulator::set_tracing(false);
    allocate<<<1, 1>>>(kept.data);  // known, too, if its block is not traced
    emulator::set_tracing(true);
    release<<<1, 1>>>(kept.data);
    expect_silence();
    const std::pair<Heap, std::string> mistakes[] = {
        {Heap::past,
         "@outside reads 4 bytes, just past the end of 64 bytes that a kernel has allocated"},
        {Heap::before, "@outside reads 4 bytes, 4 bytes before the start of 64 bytes"},
        {Heap::straddled, "@wide reads 8 bytes, the last 4 past the end of 64 bytes"},
        {Heap::after_free,
         "@late reads 4 bytes, in 64 bytes that a kernel has allocated, freed "
         "at @freed"}};
    for (const auto& [mistake, said] : mistakes) {
        kernel_heap<<<1, 4>>>(mistake, floats.data);
        expect_out_of_bounds(said);
    }
    kernel_heap<<<1, 4>>>(Heap::freed_twice, floats.data);
    expect_failure(
        {"freed twice: at @again a kernel frees 64 bytes..freed at @freed (block 0, thread 0)"});
}

__global__ void neighbours(float* out, int i) {
    __shared__ float first[32], second[32];
    __shared__ alignas(16) float third[2][32];
    const int t = threadIdx.x;
    first[t] = second[t] = third[0][t] = third[1][t] = 1;
    __syncwarp();
    const float *from_first = first, *from_second = second;  // whose types have no length
    out[t] = from_first[t + i] + from_second[t + i] +  // @neighbours
             third[1][t];
}
__global__ void dynamic_bounds(float* out, int i) {
    extern __shared__ float s[];
    s[threadIdx.x] = 1;
    out[threadIdx.x] = s[threadIdx.x + i];  // @dynamic
}

TEST_F(Accesses, SharedArraysHaveBounds) {
    neighbours<<<1, 32>>>(floats.data, 0);
    dynamic_bounds<<<1, 32, 128>>>(floats.data, 0);
    expect_silence();
    neighbours<<<1, 32>>>(floats.data, 1);
    expect_failure(
        {"out of bounds: @neighbours reads 4 bytes, just past the end of first, 128 bytes",
         "out of bounds: @neighbours reads 4 bytes, just past the end of second, 128"},
        cudaErrorIllegalAddress);
    neighbours<<<1, 32>>>(floats.data, -1);
    expect_failure({"out of bounds: @neighbours reads 4 bytes, 4 bytes before the start of first",
                    "out of bounds: @neighbours reads 4 bytes, 4 bytes before the start of second"},
                   cudaErrorIllegalAddress);
    dynamic_bounds<<<1, 32>>>(floats.data, 0);
    expect_failure({"writes 4 bytes, in dynamic shared..third argument gives it 0 bytes"},
                   cudaErrorIllegalAddress);
    dynamic_bounds<<<1, 32, 128>>>(floats.data, 32);
    expect_out_of_bounds("@dynamic reads 4 bytes, just past the end..128 bytes of dynamic shared");
}

int host_counter;
__global__ void count_on_host() { ++host_counter; }  // @count
__global__ void far_past(float* out, int i) {
    __shared__ volatile float large[6000];
    large[threadIdx.x] = 1;
    const volatile float* from = large;
    out[threadIdx.x] = from[threadIdx.x + i];  // @far_past
}

TEST_F(Accesses, TheHostsVariablesAreNoSharedMemory) {
    count_on_host<<<1, 1>>>();
    expect_out_of_bounds("@count reads 4 bytes, the host's variable host_counter");
    far_past<<<1, 1>>>(floats.data, 6000 + 1024);  // past the redzone, where any memory may follow
    expect_out_of_bounds("@far_past reads 4 bytes, ");
}

__global__ void others_variable(int* out) {
    __shared__ int* of_first;
    volatile int mine = threadIdx.x;
    if (threadIdx.x == 0) of_first = const_cast<int*>(&mine);
    __syncthreads();
    out[threadIdx.x] = mine + *of_first;  // @variable
}
__global__ void by_value(float4 v, float* out) { out[threadIdx.x] = v.x + v.w; }

TEST_F(Accesses, LocalVariablesAreAThreadsOwn) {
    others_variable<<<1, 2>>>(ints.data);
    expect_out_of_bounds("@variable reads 4 bytes, a local variable of thread 0..thread 1)");
    by_value<<<1, 4>>>(float4(1, 2, 3, 4), floats.data);  // arguments are copied from the host
    expect_silence();
    EXPECT_EQ(floats.host()[3], 5);
}

__global__ void half_written(float* out) {
    __shared__ float s[64];
    if (threadIdx.x < 32 && blockIdx.x == 0) s[threadIdx.x] = 1;
    out[threadIdx.x] = s[threadIdx.x];  // @unwritten
}
__global__ void dynamic_unwritten(float* out) {
    extern __shared__ float s[];
    out[threadIdx.x] = s[threadIdx.x];  // @dynamic_unwritten
}

TEST_F(Accesses, UninitialisedSharedMemory) {
    half_written<<<1, 32>>>(floats.data);
    expect_silence();
    half_written<<<1, 64>>>(floats.data);
    expect_problem({"uninitialised shared memory: @unwritten reads..block 0, thread 32)"});
    half_written<<<2, 32>>>(floats.data);  // block 1 must not see what block 0 wrote
    expect_some({"uninitialised shared memory: @unwritten reads..block 1, thread 0)"});
    dynamic_unwritten<<<1, 32, 128>>>(floats.data);
    expect_problem({"uninitialised shared memory: @dynamic_unwritten reads"});
    EXPECT_TRUE(floats.host()[0] != floats.host()[0]) << "and it is NaN";
}

__global__ void multiply(int* out, int a, int b) {
    out[0] = a * b;  // @multiply
}
__global__ void subtract(int64_t* out, int64_t a, int64_t b) {
    out[0] = a - b;  // @subtract
}

TEST_F(Accesses, IndicesThatOverflow) {
    multiply<<<1, 1>>>(ints.data, -65536, 32768);
    expect_silence();
    EXPECT_EQ(ints.host()[0], INT_MIN);
    multiply<<<1, 1>>>(ints.data, 32768, 65536);
    expect_failure(
        {"overflow: at @multiply 32768 * 65536 does not fit in 'int' (block 0, thread 0)",
         "overflow: at @multiply 65536 * 32768"});
    Device<int64_t> wide(1);
    subtract<<<1, 1>>>(wide.data, INT64_MIN, 1);
    expect_failure({"overflow: at @subtract -9223372036854775808 - 1 does not fit"});
}

__global__ void read_for_ever(volatile int* n) {
    while (*n) {
    }
}

TEST_F(Accesses, ALaunchCanEndEarly) {
    Device<int> one(1, 1);
    for (const bool single : {true, false}) {
        emulator::run_ends_only(1, 1000, single);
        read_for_ever<<<1, 4>>>(one.data);
        emulator::run_ends_only(0);
        EXPECT_EQ(emulator::ended_early(), single);
    }
    expect_silence();
}

}  // namespace
