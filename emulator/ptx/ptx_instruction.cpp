// The instructions of an asm statement: their types and modifiers.

#include "emulator/ptx/ptx_instruction.h"

#include <cstring>

namespace emulator {

PtxType ptx_type(const std::string& name) {
    if (name == "pred") return {'p', 1};
    if (name == "bf16") return {'n', 2};
    if (name == "bf16x2") return {'n', 2, 2};
    if (name == "f16x2") return {'f', 2, 2};
    if (name == "tf32") return {'t', 4};
    if (name.size() < 2 || !std::strchr("busf", name[0])) return {};
    for (const int bits : {8, 16, 32, 64, 128})
        if (name.substr(1) == std::to_string(bits) && (name[0] != 'f' || bits > 8))
            return {name[0], bits / 8};
    return {};
}

bool PtxInstruction::has(const char* modifier) const {
    for (const std::string& each : modifiers)
        if (each == modifier) return true;
    return false;
}

}  // namespace emulator
