// Device memory: its allocations, and its protection from the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emulator {

enum class Element : unsigned char;  // see cuda_runtime.h
struct Cell;  // the last accesses to two bytes of memory; see races.cpp

// By which call kernels can access it: cudaMalloc, cudaMallocManaged, cudaMallocHost,
// cudaHostRegister. variables: those that are declared __device__ or __managed__.
enum class Memory { device, managed, pinned, registered, variables };
struct Allocation {
    uintptr_t begin = 0, end = 0;
    Cell* cells = nullptr;  // null until a traced kernel touches it
    Memory kind = Memory::device;
    const void* caller = nullptr;  // return address of the cudaMalloc()
    bool async = false;  // a cudaMallocAsync(): for such memory cudaFree() does not wait
    const char* name = nullptr;  // see treat_copies_as_fill()
    bool pitched = false;  // cudaMallocPitch()'s: its padding is known
    bool of_library = false;  // a library's function, such as cublasSgemm, has written to it
    // Which words have been written, a bit for each, and what the others hold (written.h). Null: all
    // count as written.
    uint64_t* written = nullptr;
    uint32_t fill_pattern = 0;
    Element elements{};  // what the pointers to it point to that launches have passed
    // The program's own memory, which is not to be freed.
    bool borrowed() const { return kind == Memory::registered || kind == Memory::variables; }
};
extern std::vector<Allocation> allocations;  // by address
Allocation* find_allocation(uintptr_t address);
const Allocation* find_beside(uintptr_t address);  // the array just before or after it, or null
// Allocates device memory and adds it to `allocations`. Returns null if there is not enough memory.
Allocation* allocate_device_memory(size_t bytes, Memory kind);
Allocation* add_allocation(const void* begin, size_t bytes, Memory kind);
void remove_allocation(const Allocation& allocation, const void* caller);  // see Freed
void add_device_variables();  // after all others have been removed
struct Freed {
    uintptr_t begin, end;
    uintptr_t caller;  // return address of the cudaFree(); 0: cudaDeviceReset() has freed it
};
// The array that was freed at this address or close to it, or null. Only the last arrays are
// remembered, whose addresses nothing else has taken yet.
const Freed* find_freed(uintptr_t address);
std::string freed_by(const Freed& memory);  // "freed (cudaFree at mine.cu:31)"
// "a null pointer", and the call that may have left it: of a failed cudaMalloc, the last one.
std::string null_pointer();
void note_failed_allocation(const std::string& call);
// Host code that accesses device memory crashes, as with a GPU. The emulator itself may access it
// while one of these objects exists.
struct DeviceMemoryOpen {
    DeviceMemoryOpen();
    ~DeviceMemoryOpen();
};
void* allocate_aligned(size_t alignment, size_t bytes);
double available_memory();  // of the machine, at this moment

}  // namespace emulator
