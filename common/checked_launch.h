// Launches whose results are verified. On the emulator this happens in several orders of the threads, and
// what it finds meanwhile, such as a race, is a failure also where the result is right. Implemented twice,
// as machine.h is.
#pragma once

#include <functional>
#include <string>

#include "common/roofline.h"

// Calls `verify`, which launches and checks kernels, in each order of the threads: once on a GPU, which
// chooses the order, and once on the emulator where it traces accesses, which finds a race in any order.
// On the emulator it throws Failure(kWrongResult) also for what a right result hides: a race, or other
// traffic of the last launch than stated.
void in_each_order(const std::function<void()>& verify, unsigned seed = 1,
                   const Traffic& stated = {});

// On the emulator alone: calls `launches`. The message of a Failure then says `where`, and the first problem
// that the emulator found meanwhile, which may be its cause.
void explaining(const std::string& where, const std::function<void()>& launches);

// Launches and waits. On the emulator nothing may race, the traffic must be as stated, and shared
// memory whose traffic is stated must be read without bank conflicts. Throws Failure.
void run_checked(const std::string& what, const Traffic& stated,
                 const std::function<void()>& launch);
