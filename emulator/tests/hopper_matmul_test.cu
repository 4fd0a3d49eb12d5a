// All of Hopper's instructions together, traced: a matrix product in the form of fast kernels. A
// cluster of two blocks shares B by multicast, a producer fills the stages of a pipeline, two
// warpgroups multiply, and bulk stores write C. The correct kernel causes no report, and each mistake
// causes one.
#include "common/ptx/hopper.cuh"
#include "device.h"
#include "tensor_map.h"

namespace {

class Hopper : public Base {};

constexpr int kTileM = 128, kTileN = 64, kTileK = 64, kStages = 2;  // of a block
struct Shared {
    half A[kStages][2][64][kTileK];  // one half for each consumer
    half B[kStages][kTileK][kTileN];
    float C[2][2][64][32];  // two halves for each consumer
    uint64_t full[kStages], empty[kStages];
};

enum Mistake {
    kNone,
    kNoDrain,
    kReleaseOwnOnly,
    kReleaseTooEarly,
    kNoWaitForEmpty,
    kHalfExpected,
    kNoProxyFence,
    kNoNamedBarrier,
    kNoWaitBeforeReuse,
    kWaitInTheWrongThread,
};

__global__ void CLUSTER_DIMS(2, 1, 1) __launch_bounds__(384)
    matmul(int K, int tiles, Mistake mistake, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C) {
    extern __shared__ __align__(1024) char shared[];
    Shared& s = *reinterpret_cast<Shared*>(shared);
    const int rank = ptx::get_sreg_cluster_ctarank(), group = threadIdx.x / 128;
    if (threadIdx.x == 0) {
        for (int i = 0; i < kStages; ++i) {
            ptx::mbarrier_init(&s.full[i], 1);
            ptx::mbarrier_init(&s.empty[i], mistake == kReleaseOwnOnly ? 2 : 4);
        }
        ptx::fence_mbarrier_init();
    }
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
    const int steps = K / kTileK * tiles;
    if (group == 0) {
        ptx::warpgroup_reg_dealloc<24>();
        if (threadIdx.x != 0) return;
        for (int i = 0; i < steps; ++i) {
            const int stage = i % kStages, k = i % (K / kTileK) * kTileK;
            if (i >= kStages && mistake != kNoWaitForEmpty)
                ptx::mbarrier_wait_parity(&s.empty[stage], (i / kStages - 1) % 2);
            const int bytes = sizeof(s.A[0]) + sizeof(s.B[0]) / (mistake == kHalfExpected ? 2 : 1);
            ptx::mbarrier_arrive_expect_tx(&s.full[stage], bytes);
            uint64_t* const full = &s.full[stage];
            for (int j = 0; j < 2; ++j) {
                const int row = rank * kTileM + j * 64;
                ptx::cp_async_bulk_tensor(s.A[stage][j], &A, k, row, full);  // @load_a
            }
            const int row = rank * kTileK / 2;  // half of B, for both blocks
            half(*const B_half)[kTileN] = &s.B[stage][row];
            ptx::cp_async_bulk_tensor(B_half, &B, 0, k + row, full, 3);  // @load_b
        }
        for (int i = steps - kStages; i < steps && mistake != kNoDrain; ++i)
            ptx::mbarrier_wait_parity(&s.empty[i % kStages],
                                      i / kStages % 2);  // the other consumer may still arrive
        return;
    }
    ptx::warpgroup_reg_alloc<240>();
    const int consumer = group - 1, thread = threadIdx.x % 128;
    for (int tile = 0, i = 0; tile < tiles; ++tile) {
        float d[kTileN / 16][8];
        for (int k = 0; k < K; k += kTileK, ++i) {
            const int stage = i % kStages;
            ptx::mbarrier_wait_parity(&s.full[stage], i / kStages % 2);
            const uint64_t a = ptx::wgmma_descriptor(s.A[stage][consumer], 128, 64);
            const uint64_t b = ptx::wgmma_descriptor(s.B[stage], 128, 64, 512);
            ptx::wgmma_fence();
            for (int j = 0; j < kTileK / 16; ++j)
                ptx::wgmma_m64k16<half, 0, 1>(d, a + 2 * j, b + 128 * j, k > 0 || j > 0);  // @wgmma
            ptx::wgmma_commit_group();
            if (mistake != kReleaseTooEarly) ptx::wgmma_wait_group<0>();
            if (thread == 0) ptx::mbarrier_arrive(&s.empty[stage]);
            if (thread == 32 && mistake != kReleaseOwnOnly)
                ptx::mbarrier_arrive_cluster(&s.empty[stage], 1 - rank);
            if (mistake == kReleaseTooEarly) ptx::wgmma_wait_group<0>();
            ptx::warpgroup_fence_operand(d);
        }
        // The store of the previous tile must have been read.
        if (mistake != kNoWaitBeforeReuse && thread == (mistake == kWaitInTheWrongThread ? 1 : 0))
            ptx::cp_async_bulk_wait_group_read<0>();
        ptx::named_barrier_sync(1 + consumer, 128);
        for (int e = 0; e < kTileN / 2; ++e) {
            const int row = thread / 32 * 16 + thread % 32 / 4 + e / 2 % 2 * 8;
            const int col = e / 4 * 8 + thread % 4 * 2 + e % 2;
            s.C[consumer][col / 32][row][(col % 32) ^ row % 8 * 4] = d[e / 8][e % 8];  // @write_c
        }
        if (mistake != kNoProxyFence) ptx::fence_proxy_async();
        if (mistake != kNoNamedBarrier) ptx::named_barrier_sync(1 + consumer, 128);
        if (thread == 0) {
            const int row = rank * kTileM + consumer * 64;
            for (int j = 0; j < 2; ++j)
                ptx::cp_async_bulk_tensor(&C, j * 32, row, s.C[consumer][j]);  // @store_c
            ptx::cp_async_bulk_commit_group();
        }
    }
    if (thread == 0) ptx::cp_async_bulk_wait_group<0>();
}

// Returns whether C = A * B, of small integers, is correct. The product is computed twice.
bool run(Mistake mistake) {
    constexpr int M = 2 * kTileM - 5, N = kTileN, K = 128;
    std::vector<half> a(M * K), b(K * N);
    for (int i = 0; i < M * K; ++i) a[i] = half(i * 7 % 5 - 2);
    for (int i = 0; i < K * N; ++i) b[i] = half(i * 3 % 7 - 3);
    Device<half> A(a), B(b);
    Device<float> C(M * N);
    cudaFuncSetAttribute(matmul, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
    matmul<<<2, 384, sizeof(Shared)>>>(K, 2, mistake, tensor_map(A.data, M, K, 64, kTileK, 128),
                                       tensor_map(B.data, K, N, kTileK / 2, kTileN, 128),
                                       tensor_map(C.data, M, N, 64, 32, 128));
    if (cudaPeekAtLastError() != cudaSuccess) return false;
    const auto c = C.host();
    for (int row = 0; row < M; ++row)
        for (int col = 0; col < N; ++col) {
            int sum = 0;
            for (int k = 0; k < K; ++k)
                sum += ((row * K + k) * 7 % 5 - 2) * ((k * N + col) * 3 % 7 - 3);
            if (c[row * N + col] != sum) return false;
        }
    return true;
}

TEST_F(Hopper, MultipliesAndReportsMistakes) {
    const Said store_race = race("shared", "@write_c writes", "@store_c reads");
    const std::pair<Mistake, Said> all[] = {
        {kNoDrain, {"leaves its cluster too early", "has left its cluster"}},
        {kReleaseOwnOnly, {"@wgmma reads what @load_b writes", "more arrive than are expected"}},
        {kReleaseTooEarly,
         {"@wgmma reads what @load_a writes", "@wgmma reads what @load_b writes"}},
        {kNoWaitForEmpty, {"race in shared memory: ", "mbarrier_", "is still writing there"}},
        {kHalfExpected, {"more arrive than are expected", "is still writing there", "deadlock: "}},
        {kNoProxyFence,
         {"@write_c writes what @store_c reads asynchronously, without a fence_proxy_async()"}},
        {kNoNamedBarrier, store_race},
        {kNoWaitBeforeReuse, store_race},
        {kWaitInTheWrongThread, store_race},
    };
    in_every_order([] {
        EXPECT_TRUE(run(kNone));
        expect_silence();
    });
    for (const auto& [mistake, said] : all)
        for (const Order order : {Order::forward, Order::reverse}) {
            SCOPED_TRACE(int(mistake));
            emulator::set_order(order);
            run(mistake);
            expect_some(said);
        }
}

}  // namespace
