// Launches by cudaLaunchKernelEx(), traced: their attributes, and what a launch may access that may
// begin before the launch before it has ended.
#include <cooperative_groups.h>

#include <cuda/ptx>

#include "device.h"

namespace {

namespace cg = cooperative_groups;
constexpr int kThreads = 64;

cudaLaunchAttribute programmatic(int allowed = 1) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = allowed;
    return attribute;
}
cudaLaunchAttribute clusters(int blocks) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    return attribute;
}
cudaLaunchAttribute cooperative() {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    return attribute;
}

class Launches : public Base {
protected:
    cudaStream_t s;
    Device<int> x{kThreads, 0}, y{2 * kThreads, 0};
    void SetUp() override {
        Base::SetUp();
        cudaStreamCreate(&s);
    }
    cudaLaunchConfig_t config{};
    template <class... P, class... Arguments>
    cudaError_t launch(std::vector<cudaLaunchAttribute> attributes, int blocks,
                       void (*kernel)(P...), const Arguments&... arguments) {
        config.gridDim = blocks;
        config.blockDim = kThreads;
        config.stream = s;
        config.attrs = attributes.data();
        config.numAttrs = unsigned(attributes.size());
        return cudaLaunchKernelEx(&config, kernel, arguments...);  // @launch
    }
};

// ---- Programmatic stream serialization ----------------------------------------------------------

enum Wait { kNever, kEach, kByPtx, kOneThenBarrier, kBarrierThenOne, kTooLate };

__global__ void before(int* x) {
    cudaTriggerProgrammaticLaunchCompletion();
    x[threadIdx.x] += 1;  // @before
}
__global__ void after(Wait wait, const int* x, int* y) {
    const int thread = threadIdx.x;
    const int other = y[kThreads + thread];  // the launch before does not access it
    if (wait == kEach) cudaGridDependencySynchronize();
    if (wait == kByPtx) asm volatile("griddepcontrol.wait;" ::: "memory");
    if (wait == kBarrierThenOne) __syncthreads();
    if (wait >= kOneThenBarrier && wait != kTooLate && thread == 0) cudaGridDependencySynchronize();
    if (wait == kOneThenBarrier) __syncthreads();
    y[thread] = x[thread] + other;  // @after
    if (wait == kTooLate) cudaGridDependencySynchronize();
}
__global__ void overwrite(Wait wait, int* x) {
    if (wait == kEach) cudaGridDependencySynchronize();
    x[threadIdx.x] = 0;  // @overwrite
}

TEST_F(Launches, AccessWhatTheLaunchBeforeAccessesAfterAWait) {
    const std::string said =
        "race between launches: @after reads what @before writes (the launch at @launch, with "
        "programmatic stream serialization, may begin before the launch at @first has ended: "
        "cudaGridDependencySynchronize() is missing";
    for (const Wait wait : {kNever, kEach, kByPtx, kOneThenBarrier, kBarrierThenOne, kTooLate}) {
        SCOPED_TRACE(wait);
        in_every_order([&] {
            before<<<1, kThreads, 0, s>>>(x.data);  // @first
            EXPECT_EQ(launch({programmatic()}, 1, after, wait, x.data, y.data), cudaSuccess);
            if (wait == kNever || wait == kBarrierThenOne || wait == kTooLate)
                expect_problem({said});
            else expect_silence();
        });
    }
    before<<<1, kThreads, 0, s>>>(x.data);
    launch({programmatic()}, 1, overwrite, kNever, x.data);
    expect_problem({"race between launches: @overwrite writes what @before"});
    before<<<1, kThreads, 0, s>>>(x.data);
    launch({programmatic()}, 1, overwrite, kEach, x.data);
    expect_silence();
}

TEST_F(Launches, ComeAfterOthersWithoutAWait) {
    const auto run = [&](const std::vector<cudaLaunchAttribute>& attributes, auto between) {
        before<<<1, kThreads, 0, s>>>(x.data);
        between();
        launch(attributes, 1, after, kNever, x.data, y.data);
        expect_silence();
    };
    const auto nothing = [] {};
    run({}, nothing);
    run({programmatic(0)}, nothing);
    run({programmatic()}, [&] { cudaStreamSynchronize(s); });
    run({programmatic()}, [&] { cudaMemsetAsync(ints.data, 0, 4, s); });
    run({programmatic()}, [&] { overwrite<<<1, 1, 0, s>>>(kNever, ints.data); });
    cudaStream_t other;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaDeviceSynchronize();
    before<<<1, kThreads, 0, s>>>(x.data);
    before<<<1, kThreads, 0, other>>>(ints.data);  // it is not before the next one in stream s
    launch({programmatic()}, 1, after, kNever, x.data, y.data);
    expect_problem({"race between launches"});
}

// What one thread loads after its wait comes after the wait for all that have seen the load.
__global__ void load(Wait wait, const int* x, int* y) {
    namespace ptx = cuda::ptx;
    __shared__ alignas(128) int tile[kThreads];
    __shared__ uint64_t full;
    const int thread = threadIdx.x;
    if (thread == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    if (thread == 0) {
        if (wait == kEach) cudaGridDependencySynchronize();
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, x, sizeof tile, &full);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                       sizeof tile);
        if (wait == kTooLate) cudaGridDependencySynchronize();
    }
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
    }
    y[thread] = tile[thread] + (wait == kEach ? x[thread] : 0);
}

TEST_F(Launches, LoadInBulkAfterAWait) {
    for (const Wait wait : {kNever, kEach, kTooLate})
        in_every_order([&] {
            SCOPED_TRACE(wait);
            before<<<1, kThreads, 0, s>>>(x.data);
            launch({programmatic()}, 1, load, wait, x.data, y.data);
            if (wait == kEach) expect_silence();
            else expect_problem({"race between launches: ..reads what @before writes"});
        });
}

TEST_F(Launches, WaitOnSm90) {
    emulator::set_architecture(80);
    launch({programmatic()}, 1, after, kEach, x.data, y.data);
    expect_failure({"cudaGridDependencySynchronize: needs sm_90, not sm_80"});
}

// ---- Other attributes ---------------------------------------------------------------------------

__global__ void reverse(int* from, int* to) {
    extern __shared__ int dynamic[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, last = gridDim.x * blockDim.x - 1;
    dynamic[threadIdx.x] = i;
    from[i] = dynamic[threadIdx.x];
    cg::this_grid().sync();
    to[i] = from[last - i];
}
TEST_F(Launches, AreCooperative) {
    Device<int> from(3 * kThreads), to(3 * kThreads);
    config.dynamicSmemBytes = kThreads * sizeof(int);
    EXPECT_EQ(launch({cooperative()}, 3, reverse, from.data, to.data), cudaSuccess);
    const std::vector<int> result = to.host();
    for (int i = 0; i < 3 * kThreads; ++i) EXPECT_EQ(result[i], 3 * kThreads - 1 - i);
    expect_silence();
    EXPECT_EQ(launch({cooperative(), programmatic()}, 3, reverse, from.data, to.data),
              cudaErrorNotSupported);
    expect_failure({"the launch at @launch is cooperative and"}, cudaErrorNotSupported);
}

__global__ void ranks(int* out) {
    out[blockIdx.x * kThreads + threadIdx.x] = int(cuda::ptx::get_sreg_cluster_ctarank());
}
__global__ void with_static_memory(int* out) {
    __shared__ int s[kThreads];
    s[threadIdx.x] = 1;
    out[threadIdx.x] = s[threadIdx.x];
}
__global__ void __cluster_dims__(4, 1, 1) in_fours(int* out) { out[threadIdx.x] = 0; }
TEST_F(Launches, HaveClusters) {
    Device<int> out(4 * kThreads);
    EXPECT_EQ(launch({clusters(2)}, 4, ranks, out.data), cudaSuccess);
    const std::vector<int> result = out.host();
    for (int i = 0; i < 4 * kThreads; ++i) EXPECT_EQ(result[i], i / kThreads % 2);
    expect_silence();
    launch({clusters(2)}, 3, ranks, out.data);
    expect_failure({"cudaLaunchAttributeClusterDimension: the grid of 3 x 1 x 1..@launch"});
    launch({clusters(2)}, 2, with_static_memory, out.data);
    expect_failure({"cudaLaunchAttributeClusterDimension: ..static __shared__ arrays"});
    launch({clusters(2)}, 4, in_fours, out.data);
    expect_failure({"__cluster_dims__: the launch at @launch asks for clusters of 2 x 1 x 1"});
    launch({clusters(0)}, 4, ranks, out.data);
    expect_failure({"cudaLaunchAttributeClusterDimension: 0 blocks"});
}

TEST_F(Launches, HaveNoOtherAttributes) {
    cudaLaunchAttribute attribute = {};
    for (const auto id : {cudaLaunchAttributeIgnore, cudaLaunchAttributePriority}) {
        attribute.id = id;
        EXPECT_EQ(launch({attribute}, 1, overwrite, kNever, x.data), cudaSuccess);
        expect_silence();
    }
    attribute.id = cudaLaunchAttributeID(7);
    EXPECT_EQ(launch({attribute}, 1, overwrite, kNever, x.data), cudaErrorNotSupported);
    expect_failure({"the launch at @launch has the attribute 7"}, cudaErrorNotSupported);
}

}  // namespace
