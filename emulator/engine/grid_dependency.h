// cudaGridDependencySynchronize(): in a launch that may begin before the launch before it has
// ended, a thread must call it before it accesses what that launch accesses.
#pragma once

namespace emulator::grid_dependency {

void begin_block();  // none of its threads has called it
// Whether the thread has called it, or comes after a thread of its block that has. actor: also an
// agent, whose operation must have been issued after such a call.
bool has_waited(unsigned actor);

}  // namespace emulator::grid_dependency
