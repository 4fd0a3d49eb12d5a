// Device memory that nothing has written: who may not read it, and what counts as written.
#include "device.h"

namespace {

class Written : public Base {
protected:
    float* unwritten = nullptr;
    void SetUp() override {
        Base::SetUp();
        ASSERT_EQ(cudaMalloc(&unwritten, 256), cudaSuccess);  // @malloc
    }
    void TearDown() override { cudaFree(unwritten); }
};

// The calls by which the compiler traces accesses are removed from code that often runs without need
// for them. (This test is the first, because after a copy of unwritten memory they are needed.)
[[gnu::noinline]] float sum_of(const float* host, int count) {
    float sum = 0;
    for (int i = 0; i < count; ++i) sum += host[i];  // @sum
    return sum;
}
TEST_F(Written, TheHostUsesItInCodeThatHasRunBefore) {
    std::vector<float> host(1000, 1);
    EXPECT_EQ(sum_of(host.data(), 1000), 1000);
    cudaMemcpy(host.data(), unwritten, 256, cudaMemcpyDeviceToHost);
    EXPECT_NE(sum_of(host.data(), 64), 64);
    expect_problem({"@sum reads on the host what nothing has written"});
}

__global__ void add_one(const float* in, float* out) {
    out[threadIdx.x] = in[threadIdx.x] + 1;  // @add_one
}
__global__ void add_up(float* sum) {
    atomicAdd(sum + threadIdx.x % 4, 1.0f);  // @add_up
}
__global__ void exchange(float* sum) {
    atomicExch(sum + threadIdx.x, 0.0f);
    atomicAdd(sum + threadIdx.x, 1.0f);
}
__global__ void write(float* out) { out[threadIdx.x] = 1; }
__global__ void read_vectors(const float4* in, float* out) {
    out[threadIdx.x] = in[threadIdx.x].x;  // @vector
}

TEST_F(Written, AKernelReadsWhatNobodyHasWritten) {
    add_one<<<1, 64>>>(unwritten, floats.data);
    expect_problem(
        {"uninitialised device memory: @add_one reads what nothing has written (byte 0 of "
         "the 256 bytes that cudaMalloc at @malloc allocated, block 0, thread 0)..63 more"});
    write<<<1, 63>>>(unwritten);
    add_one<<<1, 63>>>(unwritten, floats.data);
    expect_silence();
    add_one<<<1, 64>>>(unwritten, floats.data);
    expect_problem({"@add_one reads what nothing has written (byte 252 of..thread 63)"});
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // the mistake that is tested
__global__ void add_to_unset(const float* in, float* out) {
    float sum;
    sum += in[threadIdx.x];
    out[threadIdx.x] = sum;  // @unset
}
#pragma GCC diagnostic pop

TEST_F(Written, AVariableThatIsNeverSetIsKnownByItsValue) {
    float result[32];
    const auto copy_back = [&] {
        cudaMemcpy(result, unwritten, sizeof result, cudaMemcpyDeviceToHost);
    };
    cudaMemset(unwritten, 0xfe, sizeof result);
    copy_back();
    expect_silence();
    add_to_unset<<<1, 32>>>(floats.data, unwritten);
    copy_back();
    expect_problem({"uninitialised variable: @unset stores 0xfefefefe..byte 0 of the 256 bytes"});
    write<<<1, 32>>>(unwritten);
    copy_back();
    expect_silence();
}

__device__ float one_result[32], other_result[32];

TEST_F(Written, TheMemoryIsNamedAsItWasDeclaredOrAllocated) {
    float *managed, *pinned, *async, *pitched;
    size_t pitch;
    std::vector<float> registered(32);
    cudaMallocManaged(&managed, 128);  // @managed
    cudaMallocHost(&pinned, 128);  // @pinned
    cudaMallocAsync(&async, 128, nullptr);  // @ordered
    cudaMallocPitch(&pitched, &pitch, 128, 1);  // @pitched
    cudaHostRegister(registered.data(), 128, 0);  // @registered
    const auto expect_named = [&](float* result, const std::string& name) {
        float host[32];
        add_to_unset<<<1, 32>>>(floats.data, result);
        cudaMemcpy(host, result, sizeof host, cudaMemcpyDeviceToHost);
        expect_problem({"@unset stores 0xfefefefe..(byte 0 of the " + name + ")"});
    };
    for (const auto& [variable, name] :
         {std::pair(&one_result, "one_result"), std::pair(&other_result, "other_result")}) {
        void* address;
        cudaGetSymbolAddress(&address, *variable);
        expect_named(static_cast<float*>(address),
                     std::string("128 bytes of the __device__ variable ") + name);
    }
    expect_named(managed, "128 bytes that cudaMallocManaged at @managed allocated");
    expect_named(pinned, "128 bytes that cudaMallocHost at @pinned allocated");
    expect_named(async, "128 bytes that cudaMallocAsync at @ordered allocated");
    expect_named(pitched, "512 bytes that cudaMallocPitch at @pitched allocated");
    expect_named(registered.data(), "128 bytes that cudaHostRegister at @registered registered");
    cudaHostUnregister(registered.data());
    cudaFree(pitched);
    cudaFreeAsync(async, nullptr);
    cudaFreeHost(pinned);
    cudaFree(managed);
    cudaDeviceSynchronize();
}

__global__ void copy_or_mark(const float* in, float* out, int* numbers) {
    out[threadIdx.x] = threadIdx.x % 2 ? in[threadIdx.x] : NAN;
    numbers[threadIdx.x] = -4194304;  // the bits of a NaN
}
__global__ void divide(const float* in, float* out) {
    const float x = in[threadIdx.x];
    out[threadIdx.x] = x / x;  // @divide
}

TEST_F(Written, ANaNIsNotedIfAKernelHasComputedIt) {
    const auto expect_notes = [&](std::vector<std::string> expected) {
        float result[64];
        cudaMemcpy(result, unwritten, sizeof result, cudaMemcpyDeviceToHost);
        ints.host();
        const auto notes = emulator::counts().notes;
        ASSERT_EQ(notes.size(), expected.size());
        for (size_t i = 0; i < notes.size(); ++i)
            EXPECT_EQ(named(notes[i]).find(expected[i]), 0u) << notes[i];
    };
    cudaMemset(unwritten, 0xff, 256);
    expect_notes({});
    copy_or_mark<<<1, 64>>>(unwritten, unwritten, ints.data);
    expect_notes({});
    divide<<<1, 48>>>(floats.data, unwritten);
    const std::string said = "@divide stores NaN: 48 of the 64 floats that the host gets from";
    expect_notes({said});
    divide<<<1, 64>>>(floats.data, unwritten);
    expect_notes({said});  // of the first
    emulator::reset_counts();
    std::vector<float> result(64);
    cudaMemcpy(result.data(), unwritten, 256, cudaMemcpyDeviceToHost);
    emulator::reset_counts();
    const Device<float> given(result);
    copy_or_mark<<<1, 64>>>(given.data, unwritten, ints.data);
    expect_notes({});
}

TEST_F(Written, AnAtomicReadsAndWrites) {
    add_up<<<1, 64>>>(unwritten);
    expect_problem({"@add_up adds to what nothing has written (byte 0 of..3 more"});
    add_up<<<1, 64>>>(unwritten);
    expect_silence();
    exchange<<<1, 64>>>(unwritten);
    expect_silence();
}

TEST_F(Written, AVectorMayReachPastIt) {
    write<<<1, 61>>>(unwritten);
    read_vectors<<<1, 16>>>(reinterpret_cast<float4*>(unwritten), floats.data);
    expect_silence();
    float* other;
    cudaMalloc(&other, 256);
    write<<<1, 60>>>(other);
    read_vectors<<<1, 16>>>(reinterpret_cast<float4*>(other), floats.data);
    expect_problem({"@vector reads what nothing has written (byte 240 of"});
    cudaFree(other);
}

TEST_F(Written, ByCopiesAndFills) {
    const std::vector<float> ones(64, 1);
    cudaMemcpy(unwritten, ones.data(), 128, cudaMemcpyHostToDevice);
    cudaMemset(unwritten + 32, 0, 128);
    add_one<<<1, 64>>>(unwritten, floats.data);
    expect_silence();
    float *none, *copied;
    cudaMalloc(&none, 256);
    cudaMalloc(&copied, 256);
    cudaMemcpy(none, unwritten, 128, cudaMemcpyDeviceToDevice);
    cudaMemcpy(copied, none, 256, cudaMemcpyDeviceToDevice);
    expect_silence();
    add_one<<<1, 64>>>(copied, floats.data);
    expect_problem({"@add_one reads what nothing has written (byte 128 of..31 more"});
    cudaFree(none);
    cudaFree(copied);
}

TEST_F(Written, PaddingNeedNotBe) {
    const std::vector<float> ones(100, 1);
    size_t pitch;
    float *pitched, *own;
    cudaMallocPitch(&pitched, &pitch, 40, 10);
    cudaMalloc(&own, 640);
    cudaMemcpy2D(pitched, pitch, ones.data(), 40, 40, 10, cudaMemcpyHostToDevice);
    cudaMemcpy2D(own, 64, ones.data(), 40, 40, 10, cudaMemcpyHostToDevice);
    add_one<<<1, 160>>>(pitched, floats.data);
    add_one<<<1, 160>>>(own, floats.data);
    expect_silence();
    cudaFree(pitched);
    cudaFree(own);
}

TEST_F(Written, TheHostUsesWhatNobodyHasWritten) {
    write<<<1, 60>>>(unwritten);
    std::vector<float> host(64);
    cudaMemcpy(host.data(), unwritten, 256, cudaMemcpyDeviceToHost);  // @copy
    float sum = 0;
    for (int i = 0; i < 60; ++i) sum += host[i];
    EXPECT_EQ(sum, 60);
    expect_silence();
    sum += host[60];  // @use
    EXPECT_NE(sum, sum);
    expect_problem(
        {"uninitialised device memory: @use reads on the host what nothing has written: "
         "16 of the 256 bytes that cudaMemcpy at @copy copied, the first at byte 240 of "
         "the 256 bytes that cudaMalloc at @malloc allocated (does the grid cover it?)"});
    cudaMemcpy(host.data(), unwritten, 256, cudaMemcpyDeviceToHost);
    host[60] = 1;
    EXPECT_EQ(host[60], 1) << "the host has written it meanwhile";
    expect_silence();
    float one;
    cudaMemcpyAsync(&one, unwritten + 63, 4, cudaMemcpyDeviceToHost);  // @async
    EXPECT_NE(one, one);
    expect_problem({"4 of the 4 bytes that cudaMemcpy at @async copied, the first at byte 252"});
}

TEST_F(Written, TheHostUsesItWhereverItsMemoryIs) {
    float *pinned, *managed;
    std::vector<float> registered(64);
    cudaMallocHost(&pinned, 256);
    cudaMallocManaged(&managed, 256);
    cudaHostRegister(registered.data(), 256, 0);
    for (float* const host : {pinned, managed, registered.data()}) {
        cudaMemcpy(host, unwritten, 256, cudaMemcpyDeviceToHost);
        expect_silence();
        EXPECT_NE(host[0], host[0]);
        expect_problem({"reads on the host what nothing has written: 256 of the 256 bytes"});
        cudaMemcpy(host, unwritten, 256, cudaMemcpyDeviceToHost);
        add_one<<<1, 64>>>(floats.data, host);
        cudaDeviceSynchronize();
        EXPECT_EQ(host[63], floats.host()[63] + 1);
        expect_silence();
    }
    cudaHostUnregister(registered.data());
    cudaFree(managed);
    cudaFreeHost(pinned);
}

TEST_F(Written, RowsThatTheHostCopies) {
    std::vector<float> host(40);
    cudaMemcpy2D(host.data(), 40, unwritten, 64, 40, 4, cudaMemcpyDeviceToHost);  // @rows
    float sum = 0;
    for (const float f : host) sum += f;
    EXPECT_NE(sum, sum);
    expect_problem({"160 of the 160 bytes that cudaMemcpy2D at @rows copied, the first at byte 0"});
}

TEST_F(Written, OnlySomeOfTheRowsThatTheHostCopies) {
    constexpr size_t kRow = 10 * sizeof(float);
    std::vector<float> host(40);
    const auto sum = [&] {
        float all = 0;
        for (const float f : host) all += f;
        return all;
    };
    write<<<1, 25>>>(unwritten);
    cudaMemcpy2D(host.data(), kRow, unwritten, kRow, kRow, 4, cudaMemcpyDeviceToHost);  // @last
    EXPECT_NE(sum(), 40);
    expect_problem(
        {"60 of the 160 bytes that cudaMemcpy2D at @last copied, the first at byte 100"});
    for (int i = 0; i < 40; i += 10)
        cudaMemcpy(&host[i], unwritten + i, kRow, cudaMemcpyDeviceToHost);  // @each
    EXPECT_NE(sum(), 40);
    expect_problem({"written: 60 bytes that cudaMemcpy at @each copied, the first at byte 100"});
}

TEST_F(Written, RowsBetweenWhichTheHostCopiesOthers) {
    constexpr int kRows = 4, kColumns = 16, kPitch = 2 * kColumns;
    const Device<float> zeros(std::vector<float>(kRows * kColumns));
    std::vector<float> host(kRows * kPitch);
    const auto copy = [&](float* to, const float* from) {
        cudaMemcpy2D(to, kPitch * 4, from, kColumns * 4, kColumns * 4, kRows,  // @halves
                     cudaMemcpyDeviceToHost);
    };
    const auto sum_of_half = [&](const float* half) {
        float sum = 0;
        for (int i = 0; i < kRows * kColumns; ++i)
            sum += half[i / kColumns * kPitch + i % kColumns];
        return sum;
    };
    copy(host.data(), unwritten);
    copy(host.data() + kColumns, zeros.data);
    EXPECT_EQ(sum_of_half(host.data() + kColumns), 0);
    expect_silence();
    EXPECT_NE(sum_of_half(host.data()), 0);
    expect_problem({"256 of the 256 bytes that cudaMemcpy2D at @halves copied"});
    copy(host.data(), unwritten);
    copy(host.data(), zeros.data);
    EXPECT_EQ(sum_of_half(host.data()), 0);
    expect_silence();
    for (int i = 0; i < 3; ++i) copy(host.data(), unwritten);
    EXPECT_NE(sum_of_half(host.data()), 0);
    EXPECT_EQ(problem().find("more like it"), std::string::npos);
    expect_problem({"256 of the 256 bytes that cudaMemcpy2D at @halves copied"});
}

TEST_F(Written, ByALaunchThatIsNotTraced) {
    emulator::set_tracing(false);
    write<<<1, 64>>>(unwritten);
    emulator::set_tracing(true);
    add_one<<<1, 64>>>(unwritten, floats.data);
    expect_silence();
}

TEST_F(Written, NotByALaunchThatFailed) {
    write<<<1, 2048>>>(unwritten);  // @fails
    expect_failure({"the launch at @fails asks for blocks"}, cudaErrorInvalidConfiguration);
    write<<<1, 2048>>>(unwritten);  // @again
    cudaGetLastError();
    add_one<<<1, 64>>>(unwritten, floats.data);
    expect_problem({"the launch at @again asks for blocks"});  // and not that nothing was written
}

TEST_F(Written, NotByAFilling) {
    emulator::treat_copies_as_fill(unwritten, "C");
    const std::vector<float> filling(64, 7);
    cudaMemcpy(unwritten, filling.data(), 256, cudaMemcpyHostToDevice);
    write<<<1, 63>>>(unwritten);
    add_one<<<1, 64>>>(unwritten, floats.data);
    expect_problem(
        {"@add_one reads what nothing has written (byte 252 of the 256 bytes of C, block 0"});
    EXPECT_EQ(floats.host()[63], 8);
}

}  // namespace
