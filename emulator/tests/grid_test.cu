// Cooperative launches, whose blocks wait for each other.
#include <cooperative_groups.h>

#include "device.h"

namespace {

namespace cg = cooperative_groups;
constexpr int kBlocks = 5, kThreads = 48, kAll = kBlocks * kThreads;

class Grid : public Base {
protected:
    Device<int> a{kAll}, b{kAll};
    template <class... P, class... Arguments>
    cudaError_t launch(void (*kernel)(P...), Arguments... arguments) {
        std::tuple<P...> all(arguments...);
        void* pointers[sizeof...(P)];
        std::apply(
            [&](auto&... each) {
                int i = 0;
                ((pointers[i++] = &each), ...);
            },
            all);
        return cudaLaunchCooperativeKernel(kernel, dim3(kBlocks), dim3(kThreads), pointers,
                                           kThreads * sizeof(int), nullptr);  // @launch
    }
};

enum class Mistake { none, first, second, shared, returns, half };

__global__ void reverse(int* a, int* b, Mistake mistake) {
    __shared__ int own[kThreads], never[kThreads];
    extern __shared__ int dynamic[];
    const int t = threadIdx.x, i = blockIdx.x * kThreads + t, other = kAll - 1 - i;
    if (mistake == Mistake::returns && blockIdx.x == 2) return;  // @leaves
    int local[2] = {i, 2 * i};
    own[t] = i;
    dynamic[t] = 3 * i;
    a[i] = i;  // @a
    if (mistake == Mistake::half && t < 16) __syncthreads();  // @half
    if (mistake != Mistake::first) cg::this_grid().sync();  // @sync
    b[i] = a[other];  // @b
    if (mistake != Mistake::second) cg::this_grid().sync();
    a[i] = b[other] + own[kThreads - 1 - t] + dynamic[kThreads - 1 - t] + local[t % 2];  // @second
    if (mistake == Mistake::shared) a[i] += never[t];  // @never
    __syncthreads();
    own[t] = -1;  // the other blocks have their own
}

TEST_F(Grid, WaitsForAllBlocks) {
    in_every_order([&] {
        EXPECT_EQ(launch(reverse, a.data, b.data, Mistake::none), cudaSuccess);
        const std::vector<int> result = a.host();
        for (int i = 0; i < kAll; ++i) {
            const int opposite = i / kThreads * kThreads + kThreads - 1 - i % kThreads;
            EXPECT_EQ(result[i], i + opposite + 3 * opposite + (i % kThreads % 2 ? 2 * i : i));
        }
        expect_silence();
    });
}

TEST_F(Grid, Mistakes) {
    const std::pair<Mistake, Said> all[] = {
        {Mistake::first, race("global", "@a writes", "@b reads")},
        // Each of the two lines writes what the other one reads.
        {Mistake::second,
         {"race in global memory: @b writes what @second reads",
          "race in global memory: @second writes what @b reads"}},
        {Mistake::shared, {"uninitialised shared memory: @never reads"}},
        {Mistake::returns,
         {"deadlock: grid.sync() at @sync waits for all blocks of the grid, but 1 "
          "of 5 have returned, the last one block 2 at @leaves"}},
        {Mistake::half, {"@half..@sync, for the grid", "@sync, for the grid..@half"}},
    };
    expect_each(all, [&](Mistake mistake) { launch(reverse, a.data, b.data, mistake); });
    launch(reverse, a.data, b.data, Mistake::none);  // a launch that has failed leaves nothing
    expect_silence();
}

__global__ void ask(int* valid) {
    if (cg::this_grid().thread_rank() == 0) valid[0] = cg::this_grid().is_valid();
}
__global__ void wait(int*) { cg::this_grid().sync(); }  // @wait

TEST_F(Grid, OrdinaryLaunches) {
    ask<<<1, 1>>>(a.data);
    EXPECT_EQ(a.host()[0], 0);
    EXPECT_EQ(launch(ask, a.data), cudaSuccess);
    EXPECT_EQ(a.host()[0], 1);
    expect_silence();
    wait<<<2, 32>>>(a.data);  // @ordinary
    expect_failure(
        {"grid.sync() in an ordinary launch at @wait..cudaLaunchCooperativeKernel()..the "
         "one at @ordinary is none"});
}

TEST_F(Grid, TooManyBlocks) {
    void* arguments[] = {const_cast<int**>(&a.data)};
    const auto launch_with = [&](int blocks, int threads) {
        return cudaLaunchCooperativeKernel(wait, dim3(blocks), dim3(threads), arguments);
    };
    EXPECT_EQ(launch_with(2 * 132 + 1, 1024), cudaErrorCooperativeLaunchTooLarge);
    expect_some({"265 blocks of 1024 threads..room for 264 at once"});
    EXPECT_EQ(launch_with(200, 1024), cudaErrorCooperativeLaunchTooLarge);
    expect_some({"204800 threads; the emulator runs at most 8192"});
    // As many as a program asks for.
    int sms, blocks;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, wait, 256, 0);
    EXPECT_EQ(launch_with(sms * blocks, 256), cudaSuccess);
    expect_silence();
}

}  // namespace
