// Asynchronous copies that a thread has issued and not yet waited for.
#pragma once

namespace emulator {

namespace races {
struct EarlyAccess;
}

namespace async {
void access_early(unsigned copier, const races::EarlyAccess& access);
void end_block();  // completes all copies; also if the launch has failed
}  // namespace async

}  // namespace emulator
