// Warpgroups: four warps of a block that execute an instruction together.
#pragma once

#include "emulator/engine/run.h"

namespace emulator {

inline unsigned block_warps() { return (run.block_threads + 31) / 32; }
// The first warp of a warpgroup is a block's warp 0, 4, 8, ... In a cluster the warps of all blocks
// are numbered consecutively.
inline unsigned first_of_warpgroup(unsigned warp) { return warp - warp % block_warps() % 4; }
// Checks that the block has all threads of the warpgroup to which `warp` belongs.
template <class Refuse>
void require_whole_warpgroup(unsigned warp, const Refuse& refuse) {
    if ((warp % block_warps() / 4 + 1) * 128 > run.block_threads)
        refuse("a warpgroup has 128 threads, and the block ends before this one is complete");
}

}  // namespace emulator
