// Launches whose results are verified. On the emulator this happens in several orders of the threads, and
// what it finds meanwhile, such as a race, is a failure also where the result is right. Implemented twice,
// as machine.h is.
#pragma once

#include <functional>
#include <string>

#include "common/errors.h"
#include "common/roofline.h"

// Launches are verified between begin_order() and end_order() of each order of the threads: of one on a GPU,
// which chooses it, and on the emulator where it traces accesses, which finds a race in any order.
// end_order() throws Failure(kWrongResult) for what a right result hides: a race, or other traffic of the
// last launch than stated.
int thread_orders();
void begin_order(int order, unsigned seed);
void end_order(const Traffic& stated);
// A Failure thrown between the two, which then also says in which order that was, and the first problem that
// the emulator found in it, which may be its cause. Any other one as it is.
Failure explained(const Failure& failure);

// Calls `verify`, which launches and checks kernels, in each order of the threads.
inline void in_each_order(const std::function<void()>& verify) {
    for (int order = 0; order < thread_orders(); ++order) {
        begin_order(order, 1);
        try {
            verify();
            end_order({});
        } catch (const Failure& failure) {
            throw explained(failure);
        }
    }
}

// On the emulator alone: calls `launches`. The message of a Failure then says `where`, and the first problem
// that the emulator found meanwhile, which may be its cause.
void explaining(const std::string& where, const std::function<void()>& launches);

// Launches and waits. On the emulator nothing may race, the traffic must be as stated, and shared
// memory whose traffic is stated must be read without bank conflicts. Throws Failure.
void run_checked(const std::string& what, const Traffic& stated,
                 const std::function<void()>& launch);
