// Four warps of a block that carry out an instruction together.
#pragma once

#include "emulator/engine/run.h"

namespace emulator {

inline unsigned block_warps() { return (run.block_threads + 31) / 32; }
// A block's warps 0, 4, 8, ...: in a cluster the blocks' warps are numbered through.
inline unsigned first_of_warpgroup(unsigned warp) { return warp - warp % block_warps() % 4; }
// Of a warp that calls an instruction of a whole warpgroup: the block has all of its threads.
template <class Refuse>
void want_whole_warpgroup(unsigned warp, const Refuse& refuse) {
    if ((warp % block_warps() / 4 + 1) * 128 > run.block_threads)
        refuse("the block has no 128 threads for this warpgroup");
}

}  // namespace emulator
