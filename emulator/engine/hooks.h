// Hooks of a launch. The layers above the engine have functions for things such as bulk copies and
// mbarriers that must run when a launch, a block or a thread begins or ends. launch.cpp has the
// table of them and passes it with each launch, and the engine calls them in the table's order.
#pragma once

#include <cstdint>
#include <vector>

namespace emulator {

namespace races {
struct InFlightAccess;
}

struct Hooks {
    using Calls = std::vector<void (*)()>;
    using Predicates = std::vector<bool (*)()>;

    Calls begin_launch;  // again if the launch restarts with clusters (restart_launch())
    bool (*traces_block)();  // whether the next block is worth tracing
    Calls begin_block;  // once for all blocks of a cluster
    Calls end_thread;  // the running thread has returned
    Predicates make_progress;  // called when no thread can go on: whether it has made one ready
    Predicates report_deadlock;  // whether threads wait forever, after it has called fail()
    Calls pause_block;  // it waits for the whole grid
    Calls resume_block;  // the grid is complete; begin_block has been called again
    Calls end_block;  // not once the launch has failed
    Calls fail_block;  // instead: the launch has failed, and its memory is still there
    void (*leave_block)();  // always
    Calls end_launch;  // as often as begin_launch
    void (*check_time)();  // after run.until_time_check traced accesses
    // A traced access to the shared memory of another block of the cluster.
    void (*access_remote)(unsigned thread, unsigned rank, uintptr_t pc);
    // A traced access to shared memory that a copy of that thread has yet to write.
    void (*access_in_flight)(unsigned copier, const races::InFlightAccess& access);
};

inline void call_each(const Hooks::Calls& calls) {
    for (const auto call : calls) call();
}
inline bool any_holds(const Hooks::Predicates& predicates) {
    for (const auto holds : predicates)
        if (holds()) return true;
    return false;
}

}  // namespace emulator
