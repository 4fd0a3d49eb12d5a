// Hopper's instructions in asm statements, traced: as in inline_ptx_test.cu.
#include <cuda.h>
#include <cuda_bf16.h>

#include "device.h"
#include "tensor_map.h"

namespace {

class InlineHopper : public Base {};

__device__ unsigned shared(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
__device__ void init(uint64_t* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(barrier)), "r"(arrivals));
}
__device__ void expect(uint64_t* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"  // @expect
                 ::"r"(shared(barrier)),
                 "r"(bytes)
                 : "memory");
}
__device__ void wait(uint64_t* barrier, int parity) {
    asm volatile(  // @wait
        "{\n"
        ".reg .pred P1;\n"
        "LAB_WAIT:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
        "@P1 bra.uni DONE;\n"
        "bra.uni LAB_WAIT;\n"
        "DONE:\n"
        "}" ::"r"(shared(barrier)),
        "r"(parity)
        : "memory");
}
__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;"); }
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- Boxes of three dimensions, and bytes without a map -----------------------------------------

enum Mistake { kFine, kNoWait, kNoExpect, kNoFence, kNoStoreWait, kNoProxyFence, kRank };

// Doubles the box of 2 x 4 x 8 floats that begins at (x, y, z).
__global__ void box(Mistake mistake, const __grid_constant__ CUtensorMap from,
                    const __grid_constant__ CUtensorMap to, int x, int y, int z) {
    __shared__ alignas(128) float s[64];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        if (mistake != kNoFence) fence_init();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (mistake != kNoExpect) expect(&full, sizeof s);
        if (mistake == kRank)
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                " [%0], [%1, {%3, %4}], [%2];" ::"r"(shared(s)),
                "l"(&from), "r"(shared(&full)), "r"(x), "r"(y));
        asm volatile(  // @load
            "cp.async.bulk.tensor.3d.shared::cluster.global.tile"
            ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared(s)),
            "l"(&from), "r"(shared(&full)), "r"(x), "r"(y), "r"(z)
            : "memory");
    }
    if (mistake != kNoWait) wait(&full, 0);
    for (int i = threadIdx.x; i < 64; i += 32) s[i] *= 2;  // @double
    if (mistake != kNoProxyFence) fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile(  // @save
            "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group"
            " [%0, {%2, %3, %4}], [%1];" ::"l"(&to),
            "r"(shared(s)), "r"(x), "r"(y), "r"(z)
            : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        if (mistake != kNoStoreWait) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

CUtensorMap map_3d(float* data) {  // of 3 x 6 x 16 floats
    const cuuint64_t dims[] = {16, 6, 3}, strides[] = {64, 6 * 64};
    const cuuint32_t sizes[] = {8, 4, 2}, ones[] = {1, 1, 1};
    struct {
        CUtensorMap map;
    } local;
    EXPECT_EQ(cuTensorMapEncodeTiled(&local.map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, data, dims,
                                     strides, sizes, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                     CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              CUDA_SUCCESS);
    return local.map;
}

TEST_F(InlineHopper, BoxesOfThreeDimensions) {
    std::vector<float> numbers(3 * 6 * 16);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = float(i);
    Device<float> in(numbers), out(numbers.size(), 0.f);
    const CUtensorMap from = map_3d(in.data), to = map_3d(out.data);
    const int x = 8, y = 3, z = 2;  // one row and one plane of the box lie outside
    in_every_order([&] {
        box<<<1, 32>>>(kFine, from, to, x, y, z);
        expect_silence();
        const std::vector<float> found = out.host();
        for (int i = 0; i < int(numbers.size()); ++i) {
            const bool inside = i % 16 >= x && i / 16 % 6 >= y && i / 96 >= z;
            EXPECT_EQ(found[i], inside ? 2 * i : 0) << i;
        }
    });
    const std::pair<Mistake, Said> all[] = {
        {kNoWait, {"race in shared memory: ..@double"}},
        {kNoExpect,
         {"deadlock: no thread..in mbarrier_wait_parity", "more arrive than are expected",
          "bytes more than"}},
        {kNoFence, {"no fence_mbarrier_init() lies between..this call at @load"}},
        {kNoStoreWait,
         {"no cp_async_bulk_wait_group_read() covers the cp_async_bulk_tensor at @save"}},
        {kNoProxyFence,
         {"@double writes what @save reads asynchronously, without a fence_proxy_async()"}},
        {kRank, {"cp_async_bulk_tensor: the map is of rank 3, not 2"}},
    };
    expect_each(all, [&](Mistake mistake) { box<<<1, 32>>>(mistake, from, to, x, y, z); });
}

__global__ void bytes(const float* in, float* out, int size) {
    extern __shared__ __align__(16) float s[];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        fence_init();
        expect(&full, size);
        asm volatile(  // @bytes
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [%0], [%1], %2, [%3];" ::"r"(shared(s)),
            "l"(in), "r"(size), "r"(shared(&full))
            : "memory");
        wait(&full, 0);
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out),
                     "r"(shared(s)), "r"(size)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}
TEST_F(InlineHopper, BulkCopiesWithoutAMap) {
    std::vector<float> numbers(1020);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = float(i);
    Device<float> in(numbers), out(numbers.size(), 0.f);
    in_every_order([&] {
        bytes<<<1, 32, 4080>>>(in.data, out.data, 4080);
        EXPECT_EQ(out.host(), numbers);
        expect_silence();
    });
    bytes<<<1, 32, 4096>>>(in.data, out.data, 4096);
    expect_failure({"out of bounds: @bytes reads"}, cudaErrorIllegalAddress);
    bytes<<<1, 32, 4096>>>(in.data, out.data, 20);
    expect_failure({"cp_async_bulk: 20 bytes, not a multiple of 16 at @bytes"});
    bytes<<<1, 32, 4096>>>(in.data + 1, out.data, 16);
    expect_failure({"cp_async_bulk: the address in global memory is not a multiple of 16"});
}

// ---- mbarriers ----------------------------------------------------------------------------------

// Thread 0 asks whether a phase is complete that it completes itself afterwards, as software
// pipelines do.
__global__ void polls(bool never, int* out) {
    __shared__ uint64_t full;
    if (threadIdx.x == 0) init(&full, 1);
    __syncthreads();
    if (threadIdx.x) return;
    unsigned complete = 0, times = 0;
    uint64_t state;
    for (; !complete; ++times) {
        asm volatile(  // @poll
            "{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0;\n"
            "selp.u32 %0, 1, 0, p;}"
            : "=r"(complete)
            : "r"(shared(&full))
            : "memory");
        if (!never && times == 0)
            asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], 1;"
                         : "=l"(state)
                         : "r"(shared(&full))
                         : "memory");
    }
    asm volatile("{.reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(complete)
                 : "r"(shared(&full)), "l"(state)
                 : "memory");
    out[0] = int(times + complete);
}
TEST_F(InlineHopper, AThreadMayAskBeforeItWaits) {
    in_every_order([&] {
        polls<<<1, 32>>>(false, ints.data);
        EXPECT_EQ(ints.host()[0], 3);
        expect_silence();
        polls<<<1, 32>>>(true, ints.data);
        expect_failure({"deadlock: no thread..1 thread in mbarrier_wait_parity"});
    });
}

// Thread 0 leaves the barrier, whose next phases expect the other threads alone.
__global__ void drops(int* out) {
    __shared__ uint64_t full;
    if (threadIdx.x == 0) init(&full, 32);
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive_drop.shared.b64 _, [%0];" ::"r"(shared(&full)) : "memory");
        return;
    }
    for (int phase = 0; phase < 3; ++phase) {
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared(&full)) : "memory");
        wait(&full, phase % 2);
    }
    out[threadIdx.x] = 3;
}
TEST_F(InlineHopper, AThreadLeavesABarrier) {
    in_every_order([&] {
        drops<<<1, 32>>>(ints.data);
        EXPECT_EQ(ints.host()[31], 3);
        expect_silence();
    });
}

// ---- wgmma --------------------------------------------------------------------------------------

__device__ uint64_t descriptor(const void* start) {  // 8x8 blocks, without a swizzle
    const auto field = [](uint64_t bytes) { return (bytes & 0x3ffff) >> 4; };
    return field(shared(start)) | field(128) << 16 | field(256) << 32;
}

// The same product as below, negated, with A in registers.
__global__ void product_of_registers(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d) {
    __shared__ alignas(128) __nv_bfloat16 t[8 * 16];
    const int i = threadIdx.x;
    t[i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8] = b[i];
    fence_async();
    __syncthreads();
    const int lane = i % 32, row = i / 32 * 16 + lane / 4;
    unsigned words[4];
    for (int w = 0; w < 4; ++w)
        words[w] = *(const unsigned*)&a[(row + w % 2 * 8) * 16 + w / 2 * 8 + lane % 4 * 2];
    float sums[4] = {9, 9, 9, 9};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %9, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, p, 1, -1, 0;}"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "l"(descriptor(t)), "r"(0));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int s = 0; s < 4; ++s) d[(row + s / 2 * 8) * 8 + lane % 4 * 2 + s % 2] = -sums[s];
}

enum Slip { kNoSlip, kNoWgmmaFence, kReadsEarly, kNoDescriptor };
// D = A * B^T of 64 x 16 by 8 x 16, twice if `twice`; element (r, k) of an operand lies in block
// (r / 8, k / 8), blocks along k first.
__global__ void product(Slip slip, bool twice, const __nv_bfloat16* a, const __nv_bfloat16* b,
                        float* d) {
    __shared__ alignas(128) __nv_bfloat16 s[64 * 16], t[8 * 16];
    const auto place = [](int i) {
        return i / 128 * 128 + i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8;
    };
    for (int i = threadIdx.x; i < 64 * 16; i += 128) s[place(i)] = a[i];
    t[place(threadIdx.x)] = b[threadIdx.x];
    fence_async();
    __syncthreads();
    float sums[2][2] = {{9, 9}, {9, 9}};
    if (slip != kNoWgmmaFence) asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int accumulate = 0; accumulate <= int(twice); ++accumulate)
        asm volatile(  // @wgmma
            "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
            "{%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n}"
            : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
            : "l"(slip == kNoDescriptor ? 1 : descriptor(s)), "l"(descriptor(t)), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (slip == kReadsEarly) s[threadIdx.x] = 0;  // @early
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(0) : "memory");
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    for (int i = 0; i < 4; ++i)
        d[(row + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i / 2][i % 2];
}

TEST_F(InlineHopper, Wgmma) {
    std::vector<__nv_bfloat16> a(64 * 16), b(8 * 16);
    for (size_t i = 0; i < a.size(); ++i) a[i] = float(i % 7) - 3;
    for (size_t i = 0; i < b.size(); ++i) b[i] = float(i % 5) - 2;
    Device<__nv_bfloat16> device_a(a), device_b(b);
    Device<float> d(64 * 8, 0.f);
    in_every_order([&] {
        for (const bool twice : {false, true}) {
            product<<<1, 128>>>(kNoSlip, twice, device_a.data, device_b.data, d.data);
            const std::vector<float> found = d.host();
            for (int i = 0; i < 64 * 8; ++i) {
                float sum = 0;
                for (int k = 0; k < 16; ++k)
                    sum += float(a[i / 8 * 16 + k]) * float(b[i % 8 * 16 + k]);
                EXPECT_EQ(found[i], (1 + twice) * sum) << i;
            }
            expect_silence();
        }
    });
    product<<<1, 128>>>(kNoSlip, false, device_a.data, device_b.data, d.data);
    const std::vector<float> once = d.host();
    in_every_order([&] {
        product_of_registers<<<1, 128>>>(device_a.data, device_b.data, d.data);
        EXPECT_EQ(d.host(), once);
        expect_silence();
    });
    const std::pair<Slip, Said> all[] = {
        {kNoWgmmaFence, {"wgmma: no wgmma_fence() before the first one at @wgmma"}},
        {kReadsEarly, {"race in shared memory: ..@early"}},
        {kNoDescriptor,
         {"wgmma: that is not a descriptor of an operand in shared memory at @wgmma"}},
    };
    expect_each(all, [&](Slip slip) {
        product<<<1, 128>>>(slip, false, device_a.data, device_b.data, d.data);
    });
}

// ---- Clusters -----------------------------------------------------------------------------------

// Each block sends a number to the other one by st.async, and an arrival by mapa.
__global__ void __cluster_dims__(2) send(bool syncs, float* out) {
    extern __shared__ __align__(16) unsigned char memory[];
    float* const slots = reinterpret_cast<float*>(memory);
    uint64_t* const full = reinterpret_cast<uint64_t*>(memory + 64);
    unsigned rank, id;
    asm volatile("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %clusterid.x;" : "=r"(id));
    if (threadIdx.x == 0) {
        init(full, 2);
        fence_init();
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        expect(full, 8);
        asm volatile(  // @send
            "{\n.reg .b32 to, there;\n"
            "mapa.shared::cluster.u32 to, %0, %2;\n"
            "mapa.shared::cluster.u32 there, %1, %2;\n"
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32"
            " [to], {%3, %4}, [there];\n"
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(
                shared(slots)),
            "r"(shared(full)), "r"(1 - rank), "f"(float(rank)), "f"(10.f + id)
            : "memory");
    }
    wait(full, 0);
    if (threadIdx.x < 2) out[blockIdx.x * 2 + threadIdx.x] = slots[threadIdx.x];
    if (!syncs) return;
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    asm volatile("barrier.cluster.wait;" ::: "memory");
}
TEST_F(InlineHopper, Clusters) {
    in_every_order([&] {
        Device<float> out(8, 0.f);
        send<<<4, 32, 80>>>(true, out.data);
        EXPECT_EQ(out.host(), (std::vector<float>{1, 10, 0, 10, 1, 11, 0, 11}));
        expect_silence();
    });
}

// A box for both blocks of a cluster, and the elected thread of a warp that loads it.
__global__ void __cluster_dims__(2) __launch_bounds__(128)
    multicast(const __grid_constant__ CUtensorMap map, float* out) {
    extern __shared__ __align__(128) unsigned char memory[];
    float* const box = reinterpret_cast<float*>(memory);
    uint64_t* const full = reinterpret_cast<uint64_t*>(memory + 256);
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(40));
    if (threadIdx.x == 0) {
        init(full, 1);
        fence_init();
    }
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    asm volatile("barrier.cluster.wait;" ::: "memory");
    unsigned elected = 0, rank;
    asm volatile("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x < 32)
        asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; @p mov.u32 %0, 1;}"
                     : "+r"(elected));
    if (elected) {
        expect(full, 256);
        if (rank == 0) {
            const unsigned short mask = 3;
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared(box)),
                "l"(&map), "r"(shared(full)), "r"(0), "r"(0), "h"(mask)
                : "memory");
        }
    }
    wait(full, 0);
    if (threadIdx.x < 64) out[blockIdx.x * 64 + threadIdx.x] = box[threadIdx.x];
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    asm volatile("barrier.cluster.wait;" ::: "memory");
}
TEST_F(InlineHopper, MulticastByTheElectedThread) {
    std::vector<float> numbers(64);
    for (int i = 0; i < 64; ++i) numbers[i] = float(i);
    Device<float> in(numbers), out(128, 0.f);
    const auto map = tensor_map(in.data, 8, 8, 8, 8);
    numbers.insert(numbers.end(), numbers.begin(), numbers.end());
    in_every_order([&] {
        multicast<<<2, 128, 272>>>(map, out.data);
        EXPECT_EQ(out.host(), numbers);
        expect_silence();
    });
}

}  // namespace
