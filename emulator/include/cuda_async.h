// <cuda/barrier>, <cuda/pipeline>, <cuda/atomic> and <cooperative_groups/memcpy_async.h>, built on
// mbarriers, on a thread's copies (cuda_pipeline.h), and on fences and atomics.
#pragma once

#include <atomic>

#include "cooperative_groups.h"
#include "cuda_pipeline.h"
#include "emulator/include/hopper_calls.h"

// clang-format off
namespace emulator {
// Copies in the widest chunks that both addresses and the size allow: every `threads`th of them,
// from chunk `rank` on. Inlined, so that it belongs to the line of the call.
__forceinline__ void copy_in_chunks(void* to, const void* from, size_t bytes, const char* file, int line, size_t rank = 0,
                                    size_t threads = 1) {
    const uintptr_t mixed = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
    const size_t chunk = mixed % 16 == 0 ? 16 : mixed % 8 == 0 ? 8 : 4;
    for (size_t at = rank * chunk; at < bytes; at += threads * chunk)
        start_copy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, chunk, 0, file, line);
}
}  // namespace emulator

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
template <size_t> struct aligned_size_t {
    size_t value;
    explicit aligned_size_t(size_t value) : value(value) {}
    operator size_t() const { return value; }
};

template <thread_scope = thread_scope_system>
struct barrier {  // of a block, in shared memory
    using arrival_token = unsigned;
    uint64_t word;
    // Copies that the thread has issued land at the latest when it arrives.
    arrival_token arrive(int count = 1, EMULATOR_SITE) { return arrive_tx(count, 0, file, line); }
    arrival_token arrive_tx(int count, int bytes, const char* file, int line) {
        emulator::wait_for_copies(0, file, line);
        const unsigned phase = emulator::mbarrier_phase(&word, file, line);
        emulator::mbarrier_arrive_at(&word, count, bytes, file, line);
        return phase;
    }
    void wait(arrival_token phase, EMULATOR_SITE) { wait_parity(phase % 2, file, line); }
    void wait_parity(bool parity, EMULATOR_SITE) { emulator::mbarrier_wait_parity(&word, parity, file, line); }
    bool try_wait(arrival_token phase, EMULATOR_SITE) { return try_wait_parity(phase % 2, file, line); }
    bool try_wait_parity(bool parity, EMULATOR_SITE) {
        return emulator::mbarrier_try_wait_parity(&word, parity, file, line);
    }
    void arrive_and_drop(EMULATOR_SITE) {
        emulator::wait_for_copies(0, file, line);
        emulator::mbarrier_arrive_drop(&word, file, line);
    }
    void arrive_and_wait(EMULATOR_SITE) { wait(arrive(1, file, line), file, line); }
};
template <thread_scope scope>
void init(barrier<scope>* b, int arrivals, EMULATOR_SITE) { emulator::mbarrier_init(&b->word, arrivals, file, line); }

// TMA, as the programming guide uses it: loads that a barrier counts, and stores that their thread waits for.
namespace device {
using Barrier = barrier<thread_scope_block>;
inline uint64_t* barrier_native_handle(Barrier& b) { return &b.word; }
inline unsigned barrier_arrive_tx(Barrier& b, int count, int bytes, EMULATOR_SITE) { return b.arrive_tx(count, bytes, file, line); }
inline void barrier_expect_tx(Barrier& b, int bytes, EMULATOR_SITE) { emulator::mbarrier_expect_tx(&b.word, bytes, file, line); }
template <class T, size_t alignment>
void memcpy_async_tx(T* to, const T* from, aligned_size_t<alignment> bytes, Barrier& b, EMULATOR_SITE) {
    static_assert(alignment >= 16, "bulk copies need an alignment of 16 bytes");
    emulator::cp_async_bulk(to, from, unsigned(bytes), &b.word, 0, file, line);
}
namespace experimental {
inline void fence_proxy_async_shared_cta() { emulator::fence_proxy_async(); }
inline void cp_async_bulk_commit_group() { emulator::cp_async_bulk_commit_group(); }
template <int pending> void cp_async_bulk_wait_group_read(EMULATOR_SITE) {
    emulator::cp_async_bulk_wait_group(pending, true, file, line);
}
inline void cp_async_bulk_global_to_shared(void* to, const void* from, uint32_t bytes, Barrier& b, EMULATOR_SITE) {
    emulator::cp_async_bulk(to, from, bytes, &b.word, 0, file, line);
}
inline void cp_async_bulk_shared_to_global(void* to, const void* from, uint32_t bytes, EMULATOR_SITE) {
    emulator::cp_async_bulk(to, from, bytes, file, line);
}
#define EMULATOR_TENSOR_COPIES(rank, parameters, ...)                                                                         \
    inline void cp_async_bulk_tensor_##rank##d_global_to_shared(void* to, const CUtensorMap* map, EMULATOR_EACH parameters,   \
                                                                Barrier& b, EMULATOR_SITE) {                                  \
        const int at[5] = {__VA_ARGS__};                                                                                      \
        emulator::cp_async_bulk_tensor(to, map, at, rank, &b.word, 0, file, line);                                            \
    }                                                                                                                         \
    inline void cp_async_bulk_tensor_##rank##d_shared_to_global(const CUtensorMap* map, EMULATOR_EACH parameters,             \
                                                                const void* from, EMULATOR_SITE) {                            \
        const int at[5] = {__VA_ARGS__};                                                                                      \
        emulator::cp_async_bulk_tensor(map, at, rank, from, file, line);                                                      \
    }
#define EMULATOR_EACH(...) __VA_ARGS__
EMULATOR_TENSOR_COPIES(1, (int a), a)
EMULATOR_TENSOR_COPIES(2, (int a, int c), a, c)
EMULATOR_TENSOR_COPIES(3, (int a, int c, int d), a, c, d)
EMULATOR_TENSOR_COPIES(4, (int a, int c, int d, int e), a, c, d, e)
EMULATOR_TENSOR_COPIES(5, (int a, int c, int d, int e, int f), a, c, d, e, f)
#undef EMULATOR_EACH
#undef EMULATOR_TENSOR_COPIES
}  // namespace experimental
}  // namespace device

enum class pipeline_role { producer, consumer };
template <thread_scope scope, unsigned stages>
struct pipeline_shared_state {  // of a block whose threads have roles: its mbarriers
    uint64_t full[stages], empty[stages];
    unsigned producers;
};
// Of a thread; of a block in which every thread is both a producer and a consumer; or, with mbarriers, of one whose threads
// have roles.
template <thread_scope scope>
class pipeline {
public:
    explicit pipeline(unsigned stages = 0, uint64_t* full = nullptr, uint64_t* empty = nullptr)
        : stages_(stages), full_(full), empty_(empty) {}
    void producer_acquire(EMULATOR_SITE) {
        const unsigned stage = acquired_++;
        if (!stages_ || stage < stages_) return;
        // Waits until all threads have released it.
        if (empty_) emulator::mbarrier_wait_parity(&empty_[stage % stages_], (stage / stages_ - 1) % 2, file, line);
        else emulator::barrier(file, line, -1);
    }
    // Copies to a stage that other threads wait for land at the latest here.
    void producer_commit(EMULATOR_SITE) {
        emulator::commit_copies();
        const unsigned stage = committed_++;
        if (!full_) return;
        emulator::wait_for_copies(0, file, line);
        emulator::mbarrier_arrive_at(&full_[stage % stages_], 1, 0, file, line);
    }
    void consumer_wait(EMULATOR_SITE) {
        const unsigned stage = waited_++;
        if (full_) emulator::mbarrier_wait_parity(&full_[stage % stages_], stage / stages_ % 2, file, line);
        else wait(committed_ - waited_, file, line);
    }
    void consumer_release(EMULATOR_SITE) {
        if (empty_) emulator::mbarrier_arrive_at(&empty_[released_++ % stages_], 1, 0, file, line);
    }
    void wait(unsigned pending, const char* file, int line) {
        emulator::wait_for_copies(pending, file, line);
        if (stages_) emulator::barrier(file, line, -2);
    }
private:
    unsigned stages_, acquired_ = 0, committed_ = 0, waited_ = 0, released_ = 0;
    uint64_t *full_, *empty_;
};
inline pipeline<thread_scope_thread> make_pipeline() { return pipeline<thread_scope_thread>(); }
template <class Group, thread_scope scope, unsigned stages>
pipeline<scope> make_pipeline(const Group&, pipeline_shared_state<scope, stages>*) { return pipeline<scope>(stages); }
// The first `producers` threads of the group are producers, or those that say so. No access of these functions is traced: they
// are no lines of the program.
template <class Group, thread_scope scope, unsigned stages>
__attribute__((no_sanitize("thread"))) pipeline<scope> make_pipeline(
    const Group& group, pipeline_shared_state<scope, stages>* state, size_t producers, EMULATOR_SITE) {
    if (group.thread_rank() == 0)
        for (unsigned stage = 0; stage < stages; ++stage) {
            emulator::mbarrier_init(&state->full[stage], int(producers), file, line);
            emulator::mbarrier_init(&state->empty[stage], int(group.size() - producers), file, line);
        }
    group.sync(file, line);
    return pipeline<scope>(stages, state->full, state->empty);
}
template <class Group, thread_scope scope, unsigned stages>
__attribute__((no_sanitize("thread"))) pipeline<scope> make_pipeline(
    const Group& group, pipeline_shared_state<scope, stages>* state, pipeline_role role, EMULATOR_SITE) {
    if (group.thread_rank() == 0) state->producers = 0;
    group.sync(file, line);
    if (role == pipeline_role::producer) ++state->producers;
    group.sync(file, line);
    return make_pipeline(group, state, size_t(state->producers), file, line);
}
template <unsigned pending, thread_scope scope>
void pipeline_consumer_wait_prior(pipeline<scope>& p, EMULATOR_SITE) { p.wait(pending, file, line); }

// Each of these is called by a thread, or by a group in which each thread copies a part.
template <class T, class Size, thread_scope scope>
__forceinline__ void memcpy_async(T* to, const T* from, Size bytes, pipeline<scope>&, EMULATOR_SITE) {
    emulator::copy_in_chunks(to, from, bytes, file, line);
}
template <class T, class Size, thread_scope scope>
__forceinline__ void memcpy_async(T* to, const T* from, Size bytes, barrier<scope>&, EMULATOR_SITE) {
    emulator::copy_in_chunks(to, from, bytes, file, line);
    emulator::commit_copies();
}
}  // namespace cuda
namespace cooperative_groups {
template <class Group, class To, class From, class Size>
__forceinline__ void memcpy_async(const Group& group, To* to, const From* from, const Size& bytes, EMULATOR_SITE) {
    emulator::copy_in_chunks(to, from, bytes, file, line, group.thread_rank(), group.size());
    emulator::commit_copies();
}
template <class Group> void wait(const Group& group, EMULATOR_SITE) {
    emulator::wait_for_copies(0, file, line);
    group.sync(file, line);
}
template <unsigned pending, class Group> void wait_prior(const Group& group, EMULATOR_SITE) {
    emulator::wait_for_copies(pending, file, line);
    group.sync(file, line);
}
}  // namespace cooperative_groups
namespace cuda {
template <class Group, class T, class Size, thread_scope scope>
__forceinline__ void memcpy_async(const Group& group, T* to, const T* from, Size bytes, pipeline<scope>& p, EMULATOR_SITE) {
    const size_t each = (sizeof(T) % 4 ? 4 : sizeof(T));
    for (size_t at = group.thread_rank() * each; at < size_t(bytes); at += group.size() * each)
        memcpy_async(reinterpret_cast<char*>(to) + at, reinterpret_cast<const char*>(from) + at, each, p, file, line);
}
template <class Group, class T, class Size, thread_scope scope>
__forceinline__ void memcpy_async(const Group& group, T* to, const T* from, Size bytes, barrier<scope>&, EMULATOR_SITE) {
    cooperative_groups::memcpy_async(group, to, from, bytes, file, line);
}

// ---- Atomics: an order other than relaxed is a fence before it ----

using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
template <class T, thread_scope = thread_scope_system>
struct atomic_ref {
    T* at;
    explicit atomic_ref(T& of) : at(&of) {}
    static void fence(memory_order order) { if (order != memory_order_relaxed) __threadfence(); }
    T load(memory_order order = memory_order_seq_cst) const { fence(order); return atomicAdd(at, T(0)); }
    void store(T value, memory_order order = memory_order_seq_cst) const { fence(order); atomicExch(at, value); }
    T exchange(T value, memory_order order = memory_order_seq_cst) const { fence(order); return atomicExch(at, value); }
    T fetch_add(T value, memory_order order = memory_order_seq_cst) const { fence(order); return atomicAdd(at, value); }
    T fetch_sub(T value, memory_order order = memory_order_seq_cst) const { fence(order); return atomicSub(at, value); }
    T fetch_min(T value, memory_order order = memory_order_seq_cst) const { fence(order); return atomicMin(at, value); }
    T fetch_max(T value, memory_order order = memory_order_seq_cst) const { fence(order); return atomicMax(at, value); }
    T fetch_and(T value, memory_order order = memory_order_seq_cst) const { fence(order); return atomicAnd(at, value); }
    T fetch_or(T value, memory_order order = memory_order_seq_cst) const { fence(order); return atomicOr(at, value); }
    T fetch_xor(T value, memory_order order = memory_order_seq_cst) const { fence(order); return atomicXor(at, value); }
    bool compare_exchange_strong(T& expected, T value, memory_order order = memory_order_seq_cst, memory_order = memory_order_relaxed) const {
        fence(order);
        const T before = atomicCAS(at, expected, value);
        const bool same = before == expected;
        expected = before;
        return same;
    }
    bool compare_exchange_weak(T& expected, T value, memory_order order = memory_order_seq_cst, memory_order = memory_order_relaxed) const {
        return compare_exchange_strong(expected, value, order);
    }
    T operator++(int) const { return fetch_add(1); }
    T operator--(int) const { return fetch_sub(1); }
    T operator++() const { return fetch_add(1) + 1; }
    T operator+=(T value) const { return fetch_add(value) + value; }
    operator T() const { return load(); }
};
template <class T, thread_scope scope = thread_scope_system>
struct atomic : atomic_ref<T, scope> {
    T value;
    atomic(T value = T()) : atomic_ref<T, scope>(this->value), value(value) {}
    atomic(const atomic&) = delete;
    T operator=(T v) { this->store(v); return v; }
};
inline void atomic_thread_fence(memory_order, thread_scope = thread_scope_system) { __threadfence(); }
}  // namespace cuda
// clang-format on

namespace cuda::std {  // cuda::std::memory_order_relaxed: as in cuda_std.h
using namespace ::std;
}
