// How large the host's own arrays are.

#include "emulator/api/host_memory.h"

#include <unwind.h>

#include "emulator/trace/heap.h"
#include "emulator/trace/symbols.h"

namespace emulator {
namespace {

// A local variable ends below the return address of its function.
struct Frame {
    uintptr_t address, below = 0, end = 0;
};
_Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* argument) {
    Frame& frame = *static_cast<Frame*>(argument);
    const auto at = uintptr_t(_Unwind_GetCFA(context));
    if (frame.below && frame.below <= frame.address && frame.address < at) {
        frame.end = at - sizeof(void*);
        return _URC_END_OF_STACK;
    }
    frame.below = at;
    return _URC_NO_REASON;
}

}  // namespace

HostExtent host_extent(const void* pointer) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    if (is_data(address)) {
        const Symbol* const variable = find_symbol(address);
        return variable ? HostExtent{variable->begin + variable->size - address} : HostExtent();
    }
    Frame frame{address};
    _Unwind_Backtrace(look_at_frame, &frame);
    if (frame.end > address) return {frame.end - address, true};
    return {extent_in_heap(pointer)};
}

}  // namespace emulator
