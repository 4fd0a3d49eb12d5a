// Bulk tensor copies, traced: boxes, their edges and swizzles, stores, and tensor maps.
// 07_fragment_probe/tests/ptx_check.cu shows that they compute by PTX's formulas.
#include <stdexcept>

#include "common/ptx/ptx.cuh"
#include "device.h"
#include "tensor_map.h"

namespace {

class TensorCopies : public Base {};

constexpr int kRows = 8, kColumns = 32;

enum Fault { kNone, kUnfenced, kFenced };
// Copies one box to shared memory, and from there to `out`, in the order in which it lies there.
template <class T>
__global__ void fetch(const __grid_constant__ CUtensorMap map, int x, int y, int bytes, T* out,
                      int offset, Fault fault) {
    extern __shared__ __align__(1024) unsigned char s[];
    __shared__ uint64_t full;
    if (fault != kNone) ((int*)s)[threadIdx.x] = 1;  // @write
    if (fault == kFenced) ptx::fence_proxy_async();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(&full, bytes);
        ptx::cp_async_bulk_tensor(s + offset, &map, x, y, &full);  // @fetch
    }
    ptx::mbarrier_wait_parity(&full, 0);
    for (int i = threadIdx.x; i < bytes / int(sizeof(T)); i += 32) out[i] = ((T*)(s + offset))[i];
}

constexpr int kWidth = 24, kHeight = 10;
template <class T>
std::vector<float> box(int rows, int columns, int swizzle, int x, int y) {
    std::vector<T> in(kHeight * kWidth);
    for (size_t i = 0; i < in.size(); ++i) in[i] = T(float(i + 1));
    Device<T> device(in), out(rows * columns);
    const auto map = tensor_map(device.data, kHeight, kWidth - 3, rows, columns, swizzle, kWidth);
    const int bytes = rows * columns * int(sizeof(T));
    fetch<T><<<1, 32, bytes + 1024>>>(map, x, y, bytes, out.data, 0, kNone);
    std::vector<float> floats;
    for (const T value : out.host()) floats.push_back(float(value));
    return floats;
}

template <class T>
void check_boxes(int swizzle) {
    const int columns = (swizzle ? swizzle : 32) / int(sizeof(T)), rows = 20;
    for (const int x : {0, 8, -8, -columns, kWidth - 8, kWidth, 1 << 29, -(1 << 29)})
        for (const int y : {0, 5, -7, -rows, kHeight, 1 << 30}) {
            const auto got = box<T>(rows, columns, swizzle, x, y);
            for (int i = 0; i < rows; ++i)
                for (int j = 0; j < columns; ++j) {
                    const int row = y + i, col = x + j;
                    const bool in = row >= 0 && row < kHeight && col >= 0 && col < kWidth - 3;
                    const int byte = (i * columns + j) * int(sizeof(T));
                    const int at = swizzle ? byte ^ (byte / 128 % (swizzle / 16)) * 16 : byte;
                    ASSERT_EQ(got[at / sizeof(T)], in ? row * kWidth + col + 1 : 0)
                        << x << " " << y;
                }
        }
    expect_silence();
}

TEST_F(TensorCopies, BoxesOverEveryEdge) {
    check_boxes<float>(0), check_boxes<half>(0);
    for (const int swizzle : {32, 64, 128})
        check_boxes<half>(swizzle), check_boxes<__nv_bfloat16>(swizzle),
            check_boxes<float>(swizzle);
    box<float>(4, 8, 0, -4, 8);  // 2 x 4 floats; sectors of the whole box, 4 x 8
    EXPECT_EQ(global_loads(), (Traffic{1, 8, 0, 32}));
}

TEST_F(TensorCopies, MistakesInALoad) {
    Device<float> in(std::vector<float>(512, 1)), out(512);
    const auto map = tensor_map(in.data, 16, 32, 8, 32);
    const auto swizzled = tensor_map(in.data, 16, 32, 8, 32, 128);
    const auto gone = [] {
        Device<float> in(512);
        return tensor_map(in.data, 16, 32, 8, 32);
    }();
    const struct {
        std::string said;
        CUtensorMap map;
        int x, offset;
        Fault fault = kNone;
        int bytes = 1024;
    } all[] = {
        {"", map, 0, 128},
        {"", map, 0, 0, kFenced},
        {"cp_async_bulk_tensor: x is 2..at @fetch", map, 2, 0},
        {"cp_async_bulk_tensor: ..multiple of 128 at @fetch", map, 0, 16},
        {"", swizzled, 0, 128},  // the pattern depends on the address alone
        {"cp_async_bulk_tensor: that is not a tensor map..at @fetch", CUtensorMap{}, 0, 0},
        {"out of bounds: @fetch writes 1024 bytes..last 128..dynamic shared memory", map, 0, 3200},
        {"out of bounds: @fetch reads 128 bytes, in 2048 bytes of device memory, freed", gone, 0,
         0},
        {"@write writes what @fetch writes asynchronously, without a fence_proxy_async()", map, 0,
         0, kUnfenced},
        {"mbarrier_arrive_expect_tx: 1048576 bytes..full", map, 0, 0, kNone, 1 << 20},
        {"mbarrier_arrive_expect_tx: -16 bytes..full", map, 0, 0, kNone, -16},
    };
    for (const auto& row : all) {
        SCOPED_TRACE(row.said);
        in_every_order([&] {
            fetch<float>
                <<<1, 32, 4096>>>(row.map, row.x, 0, row.bytes, out.data, row.offset, row.fault);
            if (row.said.empty()) expect_silence();
            else expect_some({row.said});
        });
    }
}

__global__ void unaligned(const __grid_constant__ CUtensorMap map) {
    extern __shared__ float s[];
    __shared__ uint64_t full;
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init();
    ptx::cp_async_bulk_tensor(s, &map, 0, 0, &full);  // @unaligned
}

TEST_F(TensorCopies, DynamicMemoryIsDeclaredWithItsAlignment) {
    Device<float> in(kRows * kColumns, 0.f);
    const auto map = tensor_map(in.data, kRows, kColumns, kRows, kColumns, 128);
    unaligned<<<1, 1, 4096>>>(map);
    expect_failure({"cp_async_bulk_tensor: ..by chance..needs __align__(128) at @unaligned"});
}

// ---- Stores -------------------------------------------------------------------------------------

enum StoreMistake {
    kStoreFine,
    kNoFence,
    kNoBarrierBefore,
    kNoReadWait,
    kNoBarrierAfter,
    kNoCommit,
    kLastGroupLeftOut,
    kNoWaitAtEnd,
    kMatrixReadTooEarly,
    kTwoStore,
};
// Tiles of 8 x 32 floats with row * 100 + column, filled by all 64 threads and stored from the same
// memory.
__global__ void store_tiles(const __grid_constant__ CUtensorMap map, int tiles,
                            StoreMistake mistake, const float* matrix, float* seen) {
    __shared__ alignas(1024) float tile[kRows * kColumns];
    for (int t = 0; t < tiles; ++t) {
        for (int i = threadIdx.x; i < kRows * kColumns; i += 64) {
            const int at = i ^ i / 32 % 8 * 4;  // the 128-byte swizzle
            tile[at] = (t * kRows + i / kColumns) * 100 + i % kColumns;  // @fill
        }
        if (mistake != kNoFence) ptx::fence_proxy_async();
        if (mistake != kNoBarrierBefore) __syncthreads();
        if (threadIdx.x == 0 || (mistake == kTwoStore && threadIdx.x == 1)) {
            ptx::cp_async_bulk_tensor(&map, 0, t * kRows, tile);  // @store
            if (mistake != kNoCommit) ptx::cp_async_bulk_commit_group();
        }
        if (mistake == kNoWaitAtEnd && t == tiles - 1) return;
        // Returns at once in a thread that has committed no group.
        if (mistake == kLastGroupLeftOut) ptx::cp_async_bulk_wait_group_read<1>();
        else if (mistake != kNoReadWait) ptx::cp_async_bulk_wait_group_read<0>();
        if (mistake != kNoBarrierAfter) __syncthreads();
    }
    if (mistake != kMatrixReadTooEarly) ptx::cp_async_bulk_wait_group<0>();
    if (threadIdx.x == 0) seen[0] = matrix[0];  // @see
}

bool run_store(StoreMistake mistake) {
    constexpr int kHeight = 21, kWidth = 28;
    Device<float> out(kHeight * 32, -1.f), seen(1);
    const auto map = tensor_map(out.data, kHeight, kWidth, kRows, kColumns, 128, 32);
    store_tiles<<<1, 64>>>(map, 3, mistake, out.data, seen.data);
    if (cudaPeekAtLastError() != cudaSuccess) return false;
    const auto host = out.host();
    bool right = seen.host()[0] == 0;
    for (int i = 0; i < kHeight * 32; ++i)
        right &= host[i] == (i % 32 < kWidth ? i / 32 * 100 + i % 32 : -1);
    return right;
}

TEST_F(TensorCopies, StoresAreClippedAndCounted) {
    in_every_order([] {
        EXPECT_TRUE(run_store(kStoreFine));
        // With the store at @see.
        EXPECT_EQ(global_stores(), (Traffic{4, 21 * 4 + 1, 0, 21 * 28 * 4 + 4}));
        expect_silence();
    });
}

__global__ void store_one(const __grid_constant__ CUtensorMap map, int x, int y) {
    __shared__ alignas(128) float tile[kRows * kColumns];
    for (float& element : tile) element = 1;
    ptx::fence_proxy_async();
    ptx::cp_async_bulk_tensor(&map, x, y, tile);  // @one
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group<0>();
}

TEST_F(TensorCopies, StoresAsAnH200DoesThem) {
    // Stores write whole chunks of 16 bytes: 32 columns instead of 29.
    Device<float> out(8 * 32, 0.f);
    const auto map = tensor_map(out.data, 8, 29, kRows, kColumns, 0, 32);
    store_one<<<1, 1>>>(map, 16, 0);
    expect_silence();
    for (int i = 0; i < 8 * 32; ++i) EXPECT_EQ(out.host()[i], i % 32 >= 16);
    store_one<<<1, 1>>>(map, -32, 0);
    expect_failure({"cp_async_bulk_tensor: ..x -32 and y 0..at @one"});
    store_one<<<1, 1>>>(map, 0, -8);
    expect_failure({"cp_async_bulk_tensor: ..x 0 and y -8..at @one"});
}

TEST_F(TensorCopies, MistakesWithStores) {
    const std::pair<StoreMistake, Said> all[] = {
        {kNoFence,
         {"@fill writes what @store reads asynchronously, without a fence_proxy_async()"}},
        {kNoBarrierBefore, race("shared", "@fill writes", "@store reads")},
        {kNoReadWait, {"race in shared memory: @fill writes what @store reads"}},
        {kNoBarrierAfter, race("shared", "@fill writes", "@store reads")},
        {kNoCommit,
         {"the block ends..cp_async_bulk_wait_group_read()..cp_async_bulk_tensor at @store"}},
        {kLastGroupLeftOut, {"race in shared memory: @fill writes what @store reads"}},
        {kNoWaitAtEnd,
         {"the block ends..cp_async_bulk_wait_group_read()..cp_async_bulk_tensor at @store"}},
        {kMatrixReadTooEarly, {"race in global memory: @see reads what @store writes"}},
        {kTwoStore,
         {"cp_async_bulk_tensor: thread 0 stores this box, too..@store (block 0, thread 1)",
          "cp_async_bulk_tensor: thread 1 stores this box, too"}},
    };
    expect_each(all, run_store);
}

// ---- Tensor maps --------------------------------------------------------------------------------

TEST_F(TensorCopies, TensorMapsAreChecked) {
    Device<float> in(4096);
    const struct {
        const char* said;
        int rows, columns, box_rows, box_columns, swizzle, leading, shift;
    } all[] = {
        {"", 8, 30, 8, 16, 0, 32, 0},
        {"globalStrides[0] is 120", 8, 30, 8, 16, 0, 0, 0},
        {"globalAddress", 8, 32, 8, 16, 0, 0, 1},
        {"globalDim[1] is 0", 0, 32, 8, 16, 0, 0, 0},
        {"boxDim[1] is 257", 8, 32, 257, 16, 0, 0, 0},
        {"boxDim[1] is 0", 8, 32, 0, 16, 0, 0, 0},
        {"24 bytes", 8, 32, 8, 6, 0, 0, 0},
        {"256 bytes, more than the swizzle's 128", 8, 64, 8, 64, 128, 0, 0},
    };
    for (const auto& m : all) {
        emulator::reset_counts();
        std::string said;
        try {
            tensor_map(in.data + m.shift, m.rows, m.columns, m.box_rows, m.box_columns, m.swizzle,
                       m.leading);
        } catch (const std::runtime_error&) {
            said = problem();
        }
        EXPECT_NE(said.find(m.said), std::string::npos) << said;
        EXPECT_EQ(said.empty(), &m == all) << "only the first is accepted";
    }
}

}  // namespace
