// Failures with what the emulator has found.
#pragma once

#include <functional>
#include <string>

// Calls it. A Failure then begins with `who` and has the first problem that the emulator has found. Of
// a launch that failed, that is the cause, and comes before what CUDA calls it.
void explained(const std::string& who, const std::function<void()>& call);
