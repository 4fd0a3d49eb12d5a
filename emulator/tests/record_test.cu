// The record of a launch: the arrays that a kernel declares in shared memory, in every form, the
// two accesses of a race, the blocks that it contains, and the order of events.
#include <mma.h>

#include <sstream>

#include "common/ptx/ptx.cuh"
#include "device.h"

namespace {

class Record : public Base {
protected:
    std::string text;
    void SetUp() override {
        Base::SetUp();
        emulator::record_next_launch({}, [&](const std::string& record) { text = record; });
    }
    // The lines of that kind, without the kind.
    std::vector<std::string> lines(const std::string& kind) const {
        std::istringstream all(text);
        std::vector<std::string> found;
        for (std::string line; std::getline(all, line);)
            if (line.rfind(kind + ",", 0) == 0) found.push_back(line.substr(kind.size() + 1));
        return found;
    }
    // NAME,BYTES,ELEMENT,LENGTH,... of each array. Those in dynamic memory follow each other.
    std::vector<std::string> arrays() const {
        std::vector<std::string> found = lines("array");
        for (std::string& line : found) {
            const size_t begin = line.find(',');
            line.erase(begin, line.find(',', begin + 1) - begin);
        }
        return found;
    }
};
using Lines = std::vector<std::string>;

template <class T, int kRows>
struct Tiles {
    static constexpr int kColumns = 2 * kRows;
    __align__(16) T A[kRows][kColumns];
    float B[kRows], C[2][kRows];  // {
    uint64_t full;
    __device__ int rows() const { return kRows; }
};

template <int kRows>
__global__ void declared() {
    __shared__ __align__(16) float one[kRows][kRows + 1][2], two[3];
    __shared__ volatile int alone;
    __shared__ Tiles<short, kRows> tiles[2];
    struct Local {
        char a, b[kRows];
    };
    __shared__ Local local;
    one[0][0][0] = two[0] = local.a = alone = short(tiles[0].rows());
}

TEST_F(Record, HasTheArraysThatAKernelDeclares) {
    declared<4><<<1, 1>>>();
    EXPECT_EQ(arrays(), (Lines{"one,160,4,4,5,2", "two,12,4,3", "alone,4,4", "tiles[0].A,64,2,4,8",
                               "tiles[0].B,16,4,4", "tiles[0].C,32,4,2,4", "tiles[0].full,8,8",
                               "tiles[1].A,64,2,4,8", "tiles[1].B,16,4,4", "tiles[1].C,32,4,2,4",
                               "tiles[1].full,8,8", "a,1,1", "b,4,1,4"}));
}

__global__ void plain() {
    extern __shared__ float memory[];
    memory[threadIdx.x] = 1;
}

template <int kRows>
__global__ void by_pointers() {
    extern __shared__ __align__(16) char memory[];
    auto A = reinterpret_cast<short(*)[kRows][2]>(memory);
    auto B = reinterpret_cast<float(*)[kRows]>(A + 2);
    int* const sums = reinterpret_cast<int*>(B + 3);
    A[1][0][0] = 1;
    B[2][0] = 1;
    sums[0] = 1;
}

template <class T>
__global__ void by_struct() {
    extern __shared__ __align__(16) char memory[];
    using Shared = ::Tiles<T, 2>;
    auto& shared = *reinterpret_cast<Shared*>(memory);
    shared.full = 1;
}

// Memory has its last name. A pointer's array ends where the next one begins, or where memory ends.
TEST_F(Record, HasTheArraysOfDynamicMemory) {
    plain<<<1, 32, 200>>>();
    EXPECT_EQ(arrays(), (Lines{"memory,200,4,50"}));
    SetUp();
    by_pointers<4><<<1, 1, 32 + 48 + 20>>>();
    EXPECT_EQ(arrays(), (Lines{"A,32,2,2,4,2", "B,48,4,3,4", "sums,20,4,5"}));
    SetUp();
    by_struct<short><<<1, 1, sizeof(Tiles<short, 2>)>>>();
    EXPECT_EQ(arrays(), (Lines{"A,16,2,2,4", "B,8,4,2", "C,16,4,2,2", "full,8,8"}));
}

__global__ void __cluster_dims__(2) cluster() {
    extern __shared__ float memory[];
    memory[threadIdx.x] = 1;
}

TEST_F(Record, HasTheArraysOfEachBlockOfACluster) {
    cluster<<<2, 32, 128>>>();
    EXPECT_EQ(arrays(), (Lines{"memory,128,4,32", "rank 1 memory,128,4,32"}));
}

__global__ void race(int* to) {
    __shared__ int one;
    if (threadIdx.x == 34) one = 1;
    __syncwarp();
    to[threadIdx.x] = 0;
    if (threadIdx.x == 69) to[69] = one;
}

// WARP,EVENT,LANE of both accesses, and the problem's text.
TEST_F(Record, NamesBothAccessesOfARace) {
    race<<<1, 96>>>(ints.data);
    const Lines found = lines("conflict");
    ASSERT_EQ(found.size(), 1u) << text;
    EXPECT_EQ(found[0].rfind("1,0,2,2,2,5,race in shared memory: ", 0), 0u) << found[0];
    EXPECT_EQ(lines("problem"), (Lines{found[0].substr(12)}));
}

__global__ void branches(volatile int* data) {
    for (int i = 0; i < 2; ++i) {
        if (threadIdx.x < 16) data[threadIdx.x] = i;  // @one
        else data[threadIdx.x * 8] = i;  // @two
        data[threadIdx.x + 256] = i;  // @both
    }
}

TEST_F(Record, HasTheFirstAndTheLastBlocksEventsInEachLanesOrder) {
    Device<int> data(288, 0);
    std::string text, events;
    emulator::record_next_launch({{"A", data.data, 2, 144, 4}},
                                 [&](const std::string& record) { text += record; });
    branches<<<3, 32>>>(data.data);
    branches<<<1, 32>>>(data.data);  // not recorded
    std::istringstream lines(named(text));
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("block,", 0) == 0) events += line.substr(6, 8) + ":";
        if (line.rfind("event,0,global store,", 0) != 0) continue;
        events +=
            " " + line.substr(line.find('@'), line.find(',', line.find('@')) - line.find('@'));
    }
    // The lanes that arrived first come later.
    const std::string each = ": @two @one @both @two @one @both";
    EXPECT_EQ(events, "block 0" + each + "block 2" + each) << text;
}

template <int value>
__global__ void store(int* data) {
    *data = value;
}

TEST_F(Record, IsOfTheFirstLaunchAndThenOfTheKernelThatIsAskedFor) {
    Device<int> data(288, 0);
    std::string kernels;
    emulator::record_next_launch(
        {},
        [&](const std::string& record) { kernels += record.substr(0, record.find('\n')) + ";"; },
        "store");
    branches<<<1, 32>>>(data.data);
    branches<<<1, 32>>>(data.data);
    store<1><<<1, 1>>>(data.data);
    store<2><<<1, 1>>>(data.data);
    EXPECT_EQ(kernels, "kernel,branches;kernel,store<1>;");
}

__global__ void products(float* to) {
    __shared__ __align__(32) half A[16][16];
    for (int i = threadIdx.x; i < 256; i += 32) A[i / 16][i % 16] = __float2half(0);
    __syncwarp();
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    wmma::load_matrix_sync(a[1], &A[0][0], 16);
    wmma::load_matrix_sync(b, &A[0][0], 16);
    wmma::mma_sync(sums, a[1], b, sums);
    half2 left[4], right[2][2];
    float d[4] = {};
    ptx::ldmatrix_x4(left, &A[threadIdx.x % 16][threadIdx.x / 16 * 8]);
    ptx::ldmatrix_x4_trans(right, &A[threadIdx.x % 16][threadIdx.x / 16 * 8]);
    ptx::mma_m16n8k16(d, left, right[1]);
    to[threadIdx.x] = d[0] + sums.x[0];
}

// A product uses the registers that the two loads before it have filled: all of A's, and as many
// bytes of B's.
TEST_F(Record, NamesTheRegistersThatAProductTakes) {
    Device<float> to(32, 0);
    products<<<1, 32>>>(to.data);
    std::vector<std::pair<std::string, std::vector<uint64_t>>> notes;
    for (const std::string& line : lines("note")) {
        std::istringstream cells(line);
        std::string cell;
        std::getline(cells, cell, ',');
        notes.push_back({cell, {}});
        while (std::getline(cells, cell, ',')) notes.back().second.push_back(std::stoull(cell));
    }
    ASSERT_EQ(notes.size(), 6u) << text;
    for (const size_t first : {0, 3}) {
        const auto& [fill_a, a] = notes[first];
        const auto& [fill_b, b] = notes[first + 1];
        EXPECT_EQ(fill_a + fill_b + notes[first + 2].first, "fillfillmma");
        EXPECT_EQ(a.size(), 2u + 32) << text;  // warp, register, each lane's row
        EXPECT_EQ(a[2 + 31] - a[2], 15 * 32 + 16u);
        const uint64_t first_of_b = b[1] + (first ? 8 : 0), bytes_of_b = first ? 8 : 16;
        EXPECT_EQ(notes[first + 2].second,
                  (std::vector<uint64_t>{0, a[1], 16, first_of_b, bytes_of_b}));
    }
}

}  // namespace
