// Launches whose results are verified. On the emulator this happens in several orders of the threads, and
// what it finds meanwhile, such as a race, is a failure also where the result is right. Implemented twice,
// as machine.h is.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/errors.h"
#include "common/roofline.h"

// In how many orders of the threads a launch is verified. One on a GPU, which chooses it, and one on the
// emulator where it traces accesses, which finds a race in any order.
int thread_orders();

// Watches the launches that are verified while it lives. On a GPU it sees nothing.
class LaunchWatch {
public:
    explicit LaunchWatch(const std::string& who);  // what the message of a failure begins with
    LaunchWatch(int order, unsigned seed);  // order: of thread_orders()

    // Throws Failure(kWrongResult) for what a right result hides: a race, or other traffic than stated.
    void end(const Traffic& stated) const;
    // The failure, with the first problem that was found, which may be its cause.
    Failure explained(const Failure& failure) const;

private:
    std::string who_;
    std::shared_ptr<void> silence_;  // in which the emulator keeps what it finds
};

// Calls `verify`, which launches and checks a benchmark's kernels, in each order of the threads.
inline void in_each_order(const std::function<void()>& verify, unsigned seed = 1) {
    for (int order = 0; order < thread_orders(); ++order) {
        const LaunchWatch watch(order, seed);
        try {
            verify();
            watch.end({});
        } catch (const Failure& failure) {
            throw watch.explained(failure);
        }
    }
}

// Launches and waits. On the emulator nothing may race, the traffic must be as stated, and shared
// memory whose traffic is stated must be read without bank conflicts. Throws Failure.
void run_checked(const std::string& what, const Traffic& stated,
                 const std::function<void()>& launch);
