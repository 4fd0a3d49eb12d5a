// Values that the last, partial warp of a block leaves in shared memory for nobody.
#pragma once

namespace emulator::partial_warp {
void end_block();
}
