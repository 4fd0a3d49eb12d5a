// The top layer: what is done for each launch, and the table of hooks that take part in it.

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "emulator/api/arguments.h"
#include "emulator/api/errors.h"
#include "emulator/api/graphs.h"
#include "emulator/api/kernels.h"
#include "emulator/api/limits.h"
#include "emulator/api/streams.h"
#include "emulator/engine/atomic_floats.h"
#include "emulator/engine/counters.h"
#include "emulator/engine/device_memory.h"
#include "emulator/engine/hooks.h"
#include "emulator/engine/launch_loop.h"
#include "emulator/engine/named_barriers.h"
#include "emulator/engine/partial_warp.h"
#include "emulator/engine/printed.h"
#include "emulator/engine/threads.h"
#include "emulator/hopper/clusters.h"
#include "emulator/hopper/mbarriers.h"
#include "emulator/hopper/ranks.h"
#include "emulator/hopper/setmaxnreg.h"
#include "emulator/hopper/tensor_loads.h"
#include "emulator/hopper/tensor_stores.h"
#include "emulator/hopper/wgmma.h"
#include "emulator/summary.h"
#include "emulator/trace/lines.h"
#include "emulator/warp/async.h"
#include "emulator/warp/warps.h"

namespace emulator {
namespace {

Hooks all_hooks() {
    Hooks hooks;
    hooks.begin_launch = {summary::begin_launch, counters::begin_launch, printed::begin_launch};
    hooks.traces_block = summary::looks_at_block;
    hooks.begin_block = {tensor_loads::begin_block,  mbarriers::begin_block,
                         tensor_stores::begin_block, wgmma_state::begin_block,
                         setmaxnreg::begin_block,    clusters::begin_block,
                         ranks::begin_block,         warps::begin_block};
    hooks.end_thread = {named_barriers::end_thread, clusters::end_thread, ranks::end_thread,
                        warps::end_thread};
    hooks.make_progress = {tensor_loads::make_progress, warps::make_progress,
                           mbarriers::make_progress};
    hooks.report_deadlock = {mbarriers::report_deadlock, warps::report_deadlock};
    // Bulk loads complete before their mbarriers are checked.
    hooks.pause_block = {mbarriers::pause_block, async::end_block};
    hooks.resume_block = {mbarriers::resume_block};
    hooks.end_block = {partial_warp::end_block, async::end_block,         tensor_loads::end_block,
                       mbarriers::end_block,    tensor_stores::end_block, wgmma_state::end_block,
                       setmaxnreg::end_block};
    // What is in flight is completed now, so that its races are found.
    hooks.fail_block = {async::end_block, tensor_loads::fail_block, mbarriers::fail_block,
                        tensor_stores::fail_block, wgmma_state::fail_block};
    hooks.leave_block = summary::end_block;
    hooks.end_launch = {errors::end_launch,   kernels_launched::end_launch, arguments::end_launch,
                        counters::end_launch, atomic_floats::end_launch,    printed::end_launch,
                        summary::end_launch};
    hooks.check_time = summary::check_time;
    hooks.access_remote = ranks::note_access;
    hooks.access_in_flight = async::access_in_flight;
    return hooks;
}

}  // namespace

void launch(const Launch& launch, void (*thread)(void*), void* argument) {
    static const auto owner = std::this_thread::get_id();
    if (std::this_thread::get_id() != owner) {
        std::fprintf(
            stderr,
            "emulator: launches from several threads of the host, at %s:%d: it supports one\n",
            short_path(launch.file).c_str(), launch.line);
        std::_Exit(1);
    }
    if (run.running)
        return fail("a kernel launches a kernel: the emulator cannot run dynamic parallelism");
    if (summary::repeated(launch) || !launch_fits(launch)) return;
    kernels_launched::note(launch);
    captures::note_launch(short_place(launch.file, launch.line));
    // Never destroyed, because a launch may still come when the program ends.
    static const Hooks& hooks = *new Hooks(all_hooks());
    const DeviceMemoryOpen open;
    streams::begin_launch(launch);
    run_launch(launch, thread, argument, hooks);
    streams::end_launch();
}

}  // namespace emulator
