// Addresses in PTX's .shared state space: 32-bit numbers.
#pragma once

#include <cstdint>

namespace emulator {

// The number of an address in shared memory, and back; __cvta_generic_to_shared() is the former.
// Its bits from 24 up are 0 for the running thread's own block and 1 + rank for a block that mapa
// has named.
constexpr uint32_t kFirstShared = 1024, kNoSharedAddress = 0xf0000000;  // of any other address
uint32_t to_shared(const void* pointer);
void* from_shared(uint64_t number);  // null: no such number

namespace shared_window {
void begin_launch();
}

}  // namespace emulator
