// Launches whose results are verified. The emulator runs them in several orders of the threads, and
// a problem that it finds meanwhile, such as a race, is a failure even where the result is correct.
// Implemented twice: machine_gpu.cu, machine_emulator.cpp.
#pragma once

#include <functional>
#include <string>

#include "common/errors.h"
#include "common/roofline.h"

// How many orders of the threads are verified: one on a GPU, where the hardware chooses it, and one
// on the emulator while it traces accesses, because its race detector then finds a race in any
// order. all: on the emulator, all orders even while it traces.
int thread_orders(bool all = false);
// The launches of each order stand between these two. end_order() throws Failure(kWrongResult) for
// what a correct result hides: a race, or a last launch whose traffic differs from what is stated.
void begin_order(int order, unsigned seed);
void end_order(const Traffic& stated);
// Returns a Failure that was thrown between the two with the order of the threads in its message,
// and with the first problem that the emulator found in this order, which may be the cause. Returns
// any other Failure as it is.
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

// Calls `launches`, on the emulator only. The message of a Failure then begins with `where`, and
// has the first problem that the emulator found meanwhile, which may be the cause.
void with_explanation(const std::string& where, const std::function<void()>& launches);

// Launches a kernel and waits for it. Throws Failure if it fails and, on the emulator, for a race,
// for traffic other than stated, and for bank conflicts in loads from shared memory whose traffic
// is stated.
void run_checked(const std::string& what, const Traffic& stated,
                 const std::function<void()>& launch);
