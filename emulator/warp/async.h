// Asynchronous copies that a thread has issued and not yet waited for.
#pragma once

namespace emulator {

namespace races {
struct InFlightAccess;
}

namespace async {
void access_in_flight(unsigned copier, const races::InFlightAccess& access);
void end_block();  // completes all copies; also if the launch has failed
}  // namespace async

}  // namespace emulator
