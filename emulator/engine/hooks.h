// What takes part in a launch and the engine does not know, such as bulk copies and mbarriers. The floors above the engine hand it
// their functions with each launch (the table is in launch.cpp), and the engine calls them at these moments, in the table's order.
#pragma once

#include <cstdint>
#include <vector>

namespace emulator {

struct Hooks {
    using Calls = std::vector<void (*)()>;
    using Questions = std::vector<bool (*)()>;

    Calls begin_launch;  // called again where the launch restarts as a cluster's (restart_launch())
    bool (*traces_block)();  // whether the next block is worth tracing
    Calls begin_block;  // once for all blocks of a cluster
    Calls end_thread;  // the running thread has returned
    Questions goes_on;  // no thread can go on: is one made ready by this?
    Questions reports_stuck;  // whether threads wait for what never comes, and fail() says so
    Calls end_block;  // left out once the launch has failed
    void (*leave_block)();  // never left out
    Calls end_launch;  // as often as begin_launch
    void (*look_at_clock)();  // run.until_look traced accesses have been made
    // A traced access to the shared memory of another block of the cluster.
    void (*access_remote)(unsigned thread, unsigned rank, uintptr_t pc);
};

inline void call_each(const Hooks::Calls& calls) {
    for (const auto call : calls) call();
}
inline bool any_says_so(const Hooks::Questions& questions) {
    for (const auto says_so : questions)
        if (says_so()) return true;
    return false;
}

}  // namespace emulator
