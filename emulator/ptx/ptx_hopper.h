// Instructions that Hopper has: mbarriers, bulk copies, wgmma, clusters.
#pragma once

#include "emulator/ptx/ptx_thread.h"

namespace emulator::ptx_hopper {

using Run = void(PtxThread& thread, const PtxInstruction& instruction);
Run mbarrier_init, mbarrier_inval, mbarrier_arrive, mbarrier_arrive_drop, mbarrier_expect_tx,
    mbarrier_wait;
Run cp_async_bulk, cp_async_bulk_tensor, cp_async_bulk_commit_group, cp_async_bulk_wait_group,
    st_async;
Run mapa, getctarank, cluster_arrive, cluster_wait, setmaxnreg;
Run wgmma_fence, wgmma_commit_group, wgmma_wait_group, wgmma;

}  // namespace emulator::ptx_hopper
