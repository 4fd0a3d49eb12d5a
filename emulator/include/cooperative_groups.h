// CUDA's cooperative groups: the grid, the block, tiles of a warp, the active lanes.
#pragma once

#include "cuda_runtime.h"
#include "hopper_calls.h"

// clang-format off
namespace emulator {
inline uint3 index_in_block() { return indices.thread; }
inline unsigned rank_in_block() {
    const uint3 t = indices.thread;
    return t.x + builtins.block_dim.x * (t.y + builtins.block_dim.y * t.z);
}
inline unsigned threads_of_block() { return builtins.block_dim.x * builtins.block_dim.y * builtins.block_dim.z; }
inline unsigned long long block_in_grid() {
    return indices.block.x + builtins.grid_dim.x * (indices.block.y + (unsigned long long)(builtins.grid_dim.y) * indices.block.z);
}
void tile_barrier(unsigned size, const char* file, int line);  // of the thread's tile of so many threads
uint64_t* tile_values(unsigned size);  // a word for each of its threads
bool in_cooperative_launch();
void grid_sync(const char* file, int line);
dim3 cluster_dims();
void* shared_of_rank(void* pointer, unsigned rank, const char* file, int line);  // in that block of the cluster
unsigned rank_of_shared(const void* pointer);
}  // namespace emulator

namespace cooperative_groups {

struct thread_block {
    static void sync(EMULATOR_SITE) { emulator::barrier(file, line, -1); }
    static unsigned thread_rank() { return emulator::rank_in_block(); }
    static unsigned size() { return emulator::threads_of_block(); }
    static unsigned num_threads() { return size(); }
    static dim3 group_index() { return emulator::indices.block; }
    static dim3 thread_index() { return emulator::indices.thread; }
    static dim3 group_dim() { return emulator::builtins.block_dim; }
    static dim3 dim_threads() { return emulator::builtins.block_dim; }
    struct arrival_token {};
};
inline thread_block this_thread_block() { return {}; }
// On a GPU tiles of several warps take shared memory from it.
template <unsigned threads = 1024> struct block_tile_memory { char bytes[16]; };
template <unsigned threads> thread_block this_thread_block(block_tile_memory<threads>&) { return {}; }

struct grid_group {
    static void sync(EMULATOR_SITE) { emulator::grid_sync(file, line); }
    static bool is_valid() { return emulator::in_cooperative_launch(); }
    static unsigned long long thread_rank() { return emulator::block_in_grid() * emulator::threads_of_block() + emulator::rank_in_block(); }
    static unsigned long long size() { return num_blocks() * emulator::threads_of_block(); }
    static unsigned long long num_threads() { return size(); }
    static unsigned long long num_blocks() {
        const dim3 grid = emulator::builtins.grid_dim;
        return (unsigned long long)(grid.x) * grid.y * grid.z;
    }
    static unsigned long long block_rank() { return emulator::block_in_grid(); }
    static dim3 group_dim() { return emulator::builtins.grid_dim; }
    static dim3 dim_blocks() { return emulator::builtins.grid_dim; }
    static dim3 block_index() { return emulator::indices.block; }
};
inline grid_group this_grid() { return {}; }

// The blocks of the cluster, which is one block if the launch has no clusters.
struct cluster_group {
    struct arrival_token {};
    static void sync(EMULATOR_SITE) {
        barrier_arrive(file, line);
        barrier_wait(file, line);
    }
    static arrival_token barrier_arrive(EMULATOR_SITE) {
        emulator::barrier_cluster_arrive(false, file, line);
        return {};
    }
    static void barrier_wait(EMULATOR_SITE) { emulator::barrier_cluster_wait(file, line); }
    static void barrier_wait(arrival_token&&, EMULATOR_SITE) { emulator::barrier_cluster_wait(file, line); }
    static dim3 dim_blocks() { return emulator::cluster_dims(); }
    static unsigned num_blocks() {
        const dim3 dims = dim_blocks();
        return dims.x * dims.y * dims.z;
    }
    static unsigned block_rank() { return unsigned(emulator::get_sreg_cluster_ctarank()); }
    static dim3 block_index() {
        const dim3 dims = dim_blocks();
        const uint3 block = emulator::indices.block;
        return {block.x % dims.x, block.y % dims.y, block.z % dims.z};
    }
    static dim3 dim_threads() {
        const dim3 dims = dim_blocks(), block = emulator::builtins.block_dim;
        return {dims.x * block.x, dims.y * block.y, dims.z * block.z};
    }
    static unsigned thread_rank() { return block_rank() * emulator::threads_of_block() + emulator::rank_in_block(); }
    static unsigned num_threads() { return num_blocks() * emulator::threads_of_block(); }
    static unsigned size() { return num_threads(); }
    template <class T> static T* map_shared_rank(T* pointer, int rank, EMULATOR_SITE) {
        return static_cast<T*>(emulator::shared_of_rank(const_cast<void*>(static_cast<const volatile void*>(pointer)), unsigned(rank), file, line));
    }
    static unsigned query_shared_rank(const void* pointer) { return emulator::rank_of_shared(pointer); }
};
inline cluster_group this_cluster() { return {}; }

// Lanes of a warp: a tile, or those that are active.
struct lanes {
    unsigned mask;  // of the warp's lanes
    unsigned before() const { return mask & ((1u << emulator::lane()) - 1); }
    int lane_of(unsigned rank) const {
        unsigned left = mask;
        for (; rank > 0 && (left & (left - 1)); --rank) left &= left - 1;
        return __builtin_ctz(left);
    }
    unsigned packed(unsigned ballot) const {  // one bit for each thread of the group
        unsigned result = 0;
        for (unsigned left = mask, to = 0; left; left &= left - 1, ++to) result |= (ballot >> __builtin_ctz(left) & 1) << to;
        return result;
    }
    unsigned thread_rank() const { return unsigned(__builtin_popcount(before())); }
    unsigned size() const { return unsigned(__builtin_popcount(mask)); }
    unsigned num_threads() const { return size(); }
    void sync(EMULATOR_SITE) const { __syncwarp(mask, file, line); }
    template <class T> T from(const char* name, T value, unsigned rank, const char* file, int line) const {
        uint64_t words[(sizeof(T) + 7) / 8] = {};
        std::memcpy(words, &value, sizeof(T));
        for (uint64_t& word : words) word = emulator::shuffle(name, mask, word, lane_of(rank), 32, file, line);
        std::memcpy(static_cast<void*>(&value), words, sizeof(T));
        return value;
    }
    template <class T> T shfl(T value, unsigned rank, EMULATOR_SITE) const { return from("shfl", value, rank % size(), file, line); }
    template <class T> T shfl_up(T value, unsigned by, EMULATOR_SITE) const {
        const unsigned rank = thread_rank();
        return from("shfl_up", value, rank < by ? rank : rank - by, file, line);
    }
    template <class T> T shfl_down(T value, unsigned by, EMULATOR_SITE) const {
        const unsigned rank = thread_rank();
        return from("shfl_down", value, rank + by < size() ? rank + by : rank, file, line);
    }
    template <class T> T shfl_xor(T value, unsigned with, EMULATOR_SITE) const {
        const unsigned to = thread_rank() ^ with;
        return from("shfl_xor", value, to < size() ? to : thread_rank(), file, line);
    }
    int any(int predicate, EMULATOR_SITE) const { return __any_sync(mask, predicate, file, line); }
    int all(int predicate, EMULATOR_SITE) const { return __all_sync(mask, predicate, file, line); }
    unsigned ballot(int predicate, EMULATOR_SITE) const { return packed(__ballot_sync(mask, predicate, file, line)); }
    template <class T> unsigned match_any(T value, EMULATOR_SITE) const { return packed(__match_any_sync(mask, value, file, line)); }
    template <class T> unsigned match_all(T value, int& same, EMULATOR_SITE) const {
        return packed(__match_all_sync(mask, value, &same, file, line));
    }
};
template <unsigned Size, class Parent = void, bool one_warp = (Size <= 32)> struct thread_block_tile;
struct coalesced_group : lanes {
    unsigned meta_group_rank() const { return 0; }
    unsigned meta_group_size() const { return 1; }
};
inline coalesced_group coalesced_threads(EMULATOR_SITE) { return {{emulator::active_lanes(file, line)}}; }

// Which tile of its parent a tile is.
template <class Parent> struct parent_of_tile {
    static unsigned size() { return emulator::threads_of_block(); }
};
template <unsigned Size, class Parent, bool one_warp> struct parent_of_tile<thread_block_tile<Size, Parent, one_warp>> {
    static unsigned size() { return Size; }
};
template <unsigned Size, class Parent> struct tile_ranks {
    static unsigned thread_rank() { return emulator::rank_in_block() % Size; }
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    static unsigned meta_group_rank() { return emulator::rank_in_block() % parent_of_tile<Parent>::size() / Size; }
    static unsigned meta_group_size() { return (parent_of_tile<Parent>::size() + Size - 1) / Size; }
};
template <unsigned Size, class Parent, bool one_warp>
struct thread_block_tile : lanes {
    static_assert(Size <= 512 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4 up to 512 threads");
    thread_block_tile() : lanes{(Size == 32 ? ~0u : (1u << Size % 32) - 1) << (emulator::lane() & ~int(Size - 1))} {}
    template <class Other>
    thread_block_tile(const thread_block_tile<Size, Other, true>& other) : lanes(other) {}
    using Ranks = tile_ranks<Size, Parent>;
    static unsigned thread_rank() { return Ranks::thread_rank(); }
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    static unsigned meta_group_rank() { return Ranks::meta_group_rank(); }
    static unsigned meta_group_size() { return Ranks::meta_group_size(); }
};
// Of several warps: values go through memory of the emulator's.
template <unsigned Size, class Parent>
struct thread_block_tile<Size, Parent, false> : tile_ranks<Size, Parent> {
    static_assert(Size <= 512 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4 up to 512 threads");
    thread_block_tile() = default;
    template <class Other> thread_block_tile(const thread_block_tile<Size, Other, false>&) {}
    static void sync(EMULATOR_SITE) { emulator::tile_barrier(Size, file, line); }
    // Calls use(values), with the value of each thread, when all of them have arrived.
    template <class T, class Use> EMULATOR_UNTRACED auto together(T value, const Use& use, const char* file, int line) const {
        static_assert(sizeof(T) <= sizeof(uint64_t), "a tile of several warps moves at most 8 bytes per thread here");
        uint64_t* const values = emulator::tile_values(Size);
        std::memcpy(&values[emulator::rank_in_block() % Size], &value, sizeof(T));
        sync(file, line);
        const auto result = use([values](unsigned rank) EMULATOR_UNTRACED {
            T its;
            std::memcpy(static_cast<void*>(&its), &values[rank], sizeof(T));
            return its;
        });
        sync(file, line);
        return result;
    }
    template <class T> T shfl(T value, unsigned rank, EMULATOR_SITE) const {
        return together(value, [=](const auto& of) { return of(rank % Size); }, file, line);
    }
    int any(int predicate, EMULATOR_SITE) const { return !all(!predicate, file, line); }
    int all(int predicate, EMULATOR_SITE) const {
        return together(predicate, [](const auto& of) {
            int result = 1;
            for (unsigned rank = 0; rank < Size; ++rank) result &= of(rank) != 0;
            return result;
        }, file, line);
    }
};
// A block, or lanes of a warp.
struct thread_group {
    unsigned mask;  // 0: the block
    thread_group(thread_block) : mask(0) {}
    thread_group(const lanes& group) : mask(group.mask) {}
    void sync(EMULATOR_SITE) const { mask ? __syncwarp(mask, file, line) : thread_block::sync(file, line); }
    unsigned thread_rank() const { return mask ? lanes{mask}.thread_rank() : emulator::rank_in_block(); }
    unsigned size() const { return mask ? lanes{mask}.size() : emulator::threads_of_block(); }
    unsigned num_threads() const { return size(); }
};
template <unsigned Size, class Group>
thread_block_tile<Size, Group> tiled_partition(const Group&) { return {}; }
inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
    const unsigned own = lanes{parent.mask ? parent.mask : ~0u}.thread_rank() / size, all = parent.mask ? parent.mask : ~0u;
    unsigned found = 0;
    for (unsigned left = all, rank = 0; left; left &= left - 1, ++rank)
        if (rank / size == own) found |= left & -left;
    return lanes{found};
}
inline coalesced_group binary_partition(const lanes& group, bool predicate, EMULATOR_SITE) {
    return {{__match_any_sync(group.mask, predicate, file, line)}};
}
template <class Group, class Label>
coalesced_group labeled_partition(const Group& group, Label label, EMULATOR_SITE) {
    return {{__match_any_sync(group.mask, label, file, line)}};
}
template <class Group> void sync(const Group& group, EMULATOR_SITE) { group.sync(file, line); }
template <class Group, class Function> void invoke_one(const Group& group, Function function) {
    if (group.thread_rank() == 0) function();
}

template <class T = void> struct plus { template <class A> A operator()(A a, A b) const { return a + b; } };
template <class T = void> struct less { template <class A> A operator()(A a, A b) const { return b < a ? b : a; } };
template <class T = void> struct greater { template <class A> A operator()(A a, A b) const { return a < b ? b : a; } };
template <class T = void> struct bit_and { template <class A> A operator()(A a, A b) const { return a & b; } };
template <class T = void> struct bit_or { template <class A> A operator()(A a, A b) const { return a | b; } };
template <class T = void> struct bit_xor { template <class A> A operator()(A a, A b) const { return a ^ b; } };

template <class T, class Operation>
T reduce(const lanes& group, T value, Operation operation, EMULATOR_SITE) {
    return emulator::reduce(group.mask, value, operation, "reduce", file, line);
}
template <class T, class Operation, unsigned Size, class Parent>
T reduce(const thread_block_tile<Size, Parent, false>& group, T value, Operation operation, EMULATOR_SITE) {
    return group.together(value, [&](const auto& of) {
        T result = of(0);
        for (unsigned rank = 1; rank < Size; ++rank) result = operation(result, of(rank));
        return result;
    }, file, line);
}
template <class T, class Operation = plus<T>>
T inclusive_scan(const lanes& group, T value, Operation operation = {}, EMULATOR_SITE) {
    T result{};
    for (unsigned rank = 0; rank < group.size(); ++rank) {
        const T its = group.from("scan", value, rank, file, line);
        if (rank <= group.thread_rank()) result = rank ? operation(result, its) : its;
    }
    return result;
}
template <class T, class Operation = plus<T>>
T exclusive_scan(const lanes& group, T value, Operation operation = {}, EMULATOR_SITE) {
    T result{};
    for (unsigned rank = 0; rank < group.size(); ++rank) {
        const T its = group.from("scan", value, rank, file, line);
        if (rank < group.thread_rank()) result = rank ? operation(result, its) : its;
    }
    return result;
}

}  // namespace cooperative_groups
// clang-format on
