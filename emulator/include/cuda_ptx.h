// <cuda/ptx>: libcu++'s names for PTX instructions, of those that are mbarriers, bulk copies, barriers
// of clusters and elect.sync.
#pragma once

#include <cstring>

#include "emulator/include/hopper_calls.h"

// clang-format off
namespace cuda::ptx {

struct space_global_t {}; struct space_shared_t {}; struct space_cluster_t {};
struct sem_acquire_t {}; struct sem_release_t {}; struct sem_acq_rel_t {}; struct sem_sc_t {}; struct sem_relaxed_t {};
struct scope_cta_t {}; struct scope_cluster_t {}; struct scope_gpu_t {}; struct scope_sys_t {};
inline constexpr space_global_t space_global; inline constexpr space_shared_t space_shared; inline constexpr space_cluster_t space_cluster;
inline constexpr sem_acquire_t sem_acquire; inline constexpr sem_release_t sem_release; inline constexpr sem_acq_rel_t sem_acq_rel;
inline constexpr sem_sc_t sem_sc; inline constexpr sem_relaxed_t sem_relaxed;
inline constexpr scope_cta_t scope_cta; inline constexpr scope_cluster_t scope_cluster; inline constexpr scope_gpu_t scope_gpu;
inline constexpr scope_sys_t scope_sys;
template <int n> using n32_t = std::integral_constant<int, n>;

// ---- mbarriers: a state is a phase's number ----

inline void mbarrier_init(uint64_t* barrier, uint32_t count, EMULATOR_SITE) {
    emulator::mbarrier_init(barrier, int(count), file, line);
}
inline uint64_t mbarrier_arrive(uint64_t* barrier, uint32_t count, EMULATOR_SITE) {
    const uint64_t state = emulator::mbarrier_phase(barrier, file, line);
    emulator::mbarrier_arrive_at(barrier, int(count), 0, file, line);
    return state;
}
inline uint64_t mbarrier_arrive(uint64_t* barrier, EMULATOR_SITE) { return mbarrier_arrive(barrier, 1u, file, line); }
template <class Scope> uint64_t mbarrier_arrive(sem_release_t, Scope, space_shared_t, uint64_t* barrier, uint32_t count, EMULATOR_SITE) {
    return mbarrier_arrive(barrier, count, file, line);
}
template <class Scope> uint64_t mbarrier_arrive(sem_release_t, Scope, space_shared_t, uint64_t* barrier, EMULATOR_SITE) {
    return mbarrier_arrive(barrier, 1u, file, line);
}
inline void mbarrier_arrive(sem_release_t, scope_cluster_t, space_cluster_t, uint64_t* barrier, uint32_t count, EMULATOR_SITE) {
    emulator::mbarrier_arrive_at(barrier, int(count), 0, file, line);
}
inline void mbarrier_arrive(sem_release_t, scope_cluster_t, space_cluster_t, uint64_t* barrier, EMULATOR_SITE) {
    emulator::mbarrier_arrive_at(barrier, 1, 0, file, line);
}
template <class Scope> uint64_t mbarrier_arrive_expect_tx(sem_release_t, Scope, space_shared_t, uint64_t* barrier, uint32_t bytes,
                                                          EMULATOR_SITE) {
    const uint64_t state = emulator::mbarrier_phase(barrier, file, line);
    emulator::mbarrier_arrive_at(barrier, 1, int(bytes), file, line);
    return state;
}
inline void mbarrier_arrive_expect_tx(sem_release_t, scope_cluster_t, space_cluster_t, uint64_t* barrier, uint32_t bytes, EMULATOR_SITE) {
    emulator::mbarrier_arrive_at(barrier, 1, int(bytes), file, line);
}
template <class Scope> void mbarrier_expect_tx(sem_relaxed_t, Scope, space_shared_t, uint64_t* barrier, uint32_t bytes, EMULATOR_SITE) {
    emulator::mbarrier_expect_tx(barrier, int(bytes), file, line);
}
// Each of the waits: by a state or a parity, and with or without the order that it has anyway.
#define EMULATOR_WAIT(name, parameter, parity)                                                                                \
    inline bool name(uint64_t* barrier, parameter, EMULATOR_SITE) {                                                           \
        return emulator::mbarrier_try_wait_parity(barrier, int((parity) % 2), file, line);                                    \
    }                                                                                                                         \
    template <class Scope> bool name(sem_acquire_t, Scope, uint64_t* barrier, parameter, EMULATOR_SITE) {                     \
        return emulator::mbarrier_try_wait_parity(barrier, int((parity) % 2), file, line);                                    \
    }
EMULATOR_WAIT(mbarrier_try_wait, uint64_t state, state)
EMULATOR_WAIT(mbarrier_test_wait, uint64_t state, state)
EMULATOR_WAIT(mbarrier_try_wait_parity, uint32_t parity, parity)
EMULATOR_WAIT(mbarrier_test_wait_parity, uint32_t parity, parity)
#undef EMULATOR_WAIT

// ---- Fences ----

inline void fence_proxy_async() { emulator::fence_proxy_async(); }
template <class Space> void fence_proxy_async(Space) { emulator::fence_proxy_async(); }
inline void fence_mbarrier_init(sem_release_t, scope_cluster_t) { emulator::fence_mbarrier_init(); }

// ---- Bulk copies ----

template <class Space> void cp_async_bulk(Space, space_global_t, void* to, const void* from, uint32_t bytes, uint64_t* barrier, EMULATOR_SITE) {
    emulator::cp_async_bulk(to, from, bytes, barrier, 0, file, line);
}
inline void cp_async_bulk(space_cluster_t, space_global_t, void* to, const void* from, uint32_t bytes, uint64_t* barrier, uint16_t ranks,
                          EMULATOR_SITE) {
    emulator::cp_async_bulk(to, from, bytes, barrier, ranks, file, line);
}
inline void cp_async_bulk(space_global_t, space_shared_t, void* to, const void* from, uint32_t bytes, EMULATOR_SITE) {
    emulator::cp_async_bulk(to, from, bytes, file, line);
}
// The coordinates of a box, as the emulator takes them.
struct Coordinates {
    int all[5] = {};
    template <size_t rank> explicit Coordinates(const int32_t (&at)[rank]) { std::memcpy(all, at, sizeof at); }
};
template <class Space, size_t rank>
void cp_async_bulk_tensor(Space, space_global_t, void* to, const void* map, const int32_t (&at)[rank], uint64_t* barrier, EMULATOR_SITE) {
    emulator::cp_async_bulk_tensor(to, static_cast<const CUtensorMap*>(map), Coordinates(at).all, int(rank), barrier, 0, file, line);
}
template <size_t rank>
void cp_async_bulk_tensor(space_cluster_t, space_global_t, void* to, const void* map, const int32_t (&at)[rank], uint64_t* barrier,
                          uint16_t ranks, EMULATOR_SITE) {
    emulator::cp_async_bulk_tensor(to, static_cast<const CUtensorMap*>(map), Coordinates(at).all, int(rank), barrier, ranks, file, line);
}
template <size_t rank>
void cp_async_bulk_tensor(space_global_t, space_shared_t, const void* map, const int32_t (&at)[rank], const void* from, EMULATOR_SITE) {
    emulator::cp_async_bulk_tensor(static_cast<const CUtensorMap*>(map), Coordinates(at).all, int(rank), from, file, line);
}
inline void cp_async_bulk_commit_group() { emulator::cp_async_bulk_commit_group(); }
template <int pending> void cp_async_bulk_wait_group(n32_t<pending>, EMULATOR_SITE) {
    emulator::cp_async_bulk_wait_group(pending, false, file, line);
}
template <int pending> void cp_async_bulk_wait_group_read(n32_t<pending>, EMULATOR_SITE) {
    emulator::cp_async_bulk_wait_group(pending, true, file, line);
}

// ---- Clusters, warps, registers ----

inline void barrier_cluster_arrive(EMULATOR_SITE) { emulator::barrier_cluster_arrive(false, file, line); }
inline void barrier_cluster_arrive(sem_release_t, EMULATOR_SITE) { emulator::barrier_cluster_arrive(false, file, line); }
inline void barrier_cluster_arrive(sem_relaxed_t, EMULATOR_SITE) { emulator::barrier_cluster_arrive(true, file, line); }
inline void barrier_cluster_wait(EMULATOR_SITE) { emulator::barrier_cluster_wait(file, line); }
inline void barrier_cluster_wait(sem_acquire_t, EMULATOR_SITE) { emulator::barrier_cluster_wait(file, line); }
inline bool elect_sync(uint32_t mask, EMULATOR_SITE) { return emulator::lane() == emulator::elected_lane(mask, file, line); }
inline uint32_t get_sreg_cluster_ctarank() { return uint32_t(emulator::get_sreg_cluster_ctarank()); }
inline uint32_t get_sreg_laneid() { return uint32_t(emulator::lane()); }

}  // namespace cuda::ptx
// clang-format on
