// TMA by libcu++: cuda::device::experimental, as in CUDA's programming guide, and cuda::ptx.
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include "device.h"
#include "tensor_map.h"

namespace cde = cuda::device::experimental;
namespace ptx = cuda::ptx;  // as programs have it: common/ptx must not be in the way

namespace {

using Barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int kWidth = 16, kHeight = 4, kAll = kWidth * kHeight;
enum class Mistake { none, bytes, wait, fence, store };

class CudaPtx : public Base {
protected:
    Device<float> matrix{kAll, 1.0f};
};

// Doubles a tile, which comes and goes by TMA.
__global__ void by_experimental(const __grid_constant__ CUtensorMap map, Mistake mistake) {
    __shared__ alignas(128) float tile[kHeight][kWidth];
    __shared__ Barrier bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    Barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, 0, 0, bar);  // @load
        token = cuda::device::barrier_arrive_tx(
            bar, 1, mistake == Mistake::bytes ? sizeof tile / 2 : sizeof tile);
    } else {
        token = bar.arrive();
    }
    if (mistake != Mistake::wait) bar.wait(std::move(token));
    for (int i = threadIdx.x; i < kAll; i += blockDim.x) tile[i / kWidth][i % kWidth] *= 2;  // @use
    if (mistake != Mistake::fence) cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_shared_to_global(&map, 0, 0, &tile);  // @store
        cde::cp_async_bulk_commit_group();
        if (mistake != Mistake::store) cde::cp_async_bulk_wait_group_read<0>();
    }
}

// The same by contiguous bytes.
__global__ void by_ptx(float* matrix, Mistake mistake) {
    __shared__ alignas(128) float tile[kAll];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, matrix, sizeof tile, &bar);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                       mistake == Mistake::bytes ? sizeof tile / 2 : sizeof tile);
    }
    if (mistake != Mistake::wait)
        while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
        }
    for (int i = threadIdx.x; i < kAll; i += blockDim.x) tile[i] *= 2;  // @twice
    if (mistake != Mistake::fence) ptx::fence_proxy_async();
    __syncthreads();
    if (ptx::elect_sync(~0u)) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, matrix, tile, sizeof tile);
        ptx::cp_async_bulk_commit_group();
        if (mistake != Mistake::store) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// What both kernels have in common.
template <class Launch>
void expect_both(const Device<float>& matrix, const Launch& launch, const std::string& use) {
    in_every_order([&] {
        const std::vector<float> before = matrix.host();
        launch(Mistake::none);
        const std::vector<float> after = matrix.host();
        for (int i = 0; i < kAll; ++i) EXPECT_EQ(after[i], 2 * before[i]);
        expect_silence();
    });
    const std::pair<Mistake, Said> mistakes[] = {
        {Mistake::bytes, {"expected", "bytes"}},
        {Mistake::wait, {"race in shared memory", "no thread has waited", "has not waited"}},
        {Mistake::fence, {use + " writes what..asynchronously, without a fence_proxy_async()"}},
        {Mistake::store, {"the block ends"}}};
    expect_each(mistakes, launch);
}

TEST_F(CudaPtx, TheProgrammingGuidesTma) {
    const CUtensorMap map = tensor_map(matrix.data, kHeight, kWidth, kHeight, kWidth);
    expect_both(
        matrix, [&](Mistake mistake) { by_experimental<<<1, 32>>>(map, mistake); }, "@use");
}
TEST_F(CudaPtx, BulkCopiesOfBytes) {
    expect_both(
        matrix, [&](Mistake mistake) { by_ptx<<<1, 32>>>(matrix.data, mistake); }, "@twice");
}

}  // namespace
