// OpenMP's functions for a program of one thread: its pragmas are ignored, and each parallel region
// runs once. Source: OpenMP API 5.2, "Runtime Library Routines".
#pragma once

#include <chrono>

enum omp_sched_t {
    omp_sched_static = 1,
    omp_sched_dynamic = 2,
    omp_sched_guided = 3,
    omp_sched_auto = 4
};
struct omp_lock_t {
    bool locked;
};

inline int omp_get_num_procs() { return 1; }
inline int omp_get_num_threads() { return 1; }
inline int omp_get_max_threads() { return 1; }
inline int omp_get_thread_limit() { return 1; }
inline int omp_get_thread_num() { return 0; }
inline int omp_in_parallel() { return 0; }
inline int omp_get_level() { return 0; }
inline void omp_set_num_threads(int) {}
inline int omp_get_dynamic() { return 0; }
inline void omp_set_dynamic(int) {}
inline void omp_set_nested(int) {}
inline void omp_set_schedule(omp_sched_t, int) {}
inline void omp_init_lock(omp_lock_t* lock) { lock->locked = false; }
inline void omp_destroy_lock(omp_lock_t*) {}
inline void omp_set_lock(omp_lock_t* lock) { lock->locked = true; }
inline void omp_unset_lock(omp_lock_t* lock) { lock->locked = false; }
inline int omp_test_lock(omp_lock_t* lock) { return lock->locked ? 0 : (lock->locked = true); }
inline double omp_get_wtime() {  // in seconds
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}
inline double omp_get_wtick() { return 1e-9; }
