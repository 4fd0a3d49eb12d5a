// The compiler's calls of tsan_hooks.cpp, while they have nothing to do: where host code runs, or a
// block that is not traced. There they would cost more than the accesses themselves.
#pragma once

namespace emulator::removed_calls {

// A call has had nothing to do. If it is made often, it is removed from the program's code.
void note_idle(const void* return_address);
void restore();  // brings all of them back, because from now on they may have something to do

}  // namespace emulator::removed_calls
