// Device variables, which the host copies by their names. As in CUDA, these functions take a
// variable and pass on its address; only a const void* is an address already.
#pragma once

#include "cuda_runtime_api.h"

namespace emulator {
inline const void* symbol_at(const void* address) { return address; }
template <class T>
const void* symbol_at(const T& symbol) {
    return const_cast<const void*>(static_cast<const volatile void*>(&symbol));
}
// Finds bytes of a device variable. call: the function that needs them, for the message.
cudaError_t find_variable(const void* symbol, size_t offset, size_t bytes, void** place,
                          const char* call, EMULATOR_SITE);
size_t size_of_variable(const void* symbol);  // 0: it is not a device variable
void note_address(const void* variable);  // the host has asked for its address on the device
}  // namespace emulator

template <class T>
cudaError_t cudaGetSymbolAddress(void** address, const T& symbol, EMULATOR_SITE) {
    emulator::note_address(emulator::symbol_at(symbol));
    return emulator::find_variable(emulator::symbol_at(symbol), 0, 0, address,
                                   "cudaGetSymbolAddress", file, line);
}
template <class T>
cudaError_t cudaGetSymbolSize(size_t* bytes, const T& symbol) {
    *bytes = emulator::size_of_variable(emulator::symbol_at(symbol));
    return *bytes ? cudaSuccess : cudaErrorInvalidSymbol;
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset,
                                    cudaMemcpyKind, cudaStream_t stream = nullptr, EMULATOR_SITE) {
    void* to;
    const cudaError_t error = emulator::find_variable(emulator::symbol_at(symbol), offset, bytes,
                                                      &to, "cudaMemcpyToSymbol", file, line);
    return error ? error : cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream, file, line);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind, cudaStream_t stream = nullptr,
                                      EMULATOR_SITE) {
    void* from;
    const cudaError_t error = emulator::find_variable(emulator::symbol_at(symbol), offset, bytes,
                                                      &from, "cudaMemcpyFromSymbol", file, line);
    return error ? error : cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream, file, line);
}
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind = cudaMemcpyHostToDevice, EMULATOR_SITE) {
    void* to;
    if (const cudaError_t error = emulator::find_variable(
            emulator::symbol_at(symbol), offset, bytes, &to, "cudaMemcpyToSymbol", file, line))
        return error;
    const emulator::InStream scope(nullptr, file, line, false);
    return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind = cudaMemcpyDeviceToHost, EMULATOR_SITE) {
    void* from;
    if (const cudaError_t error = emulator::find_variable(
            emulator::symbol_at(symbol), offset, bytes, &from, "cudaMemcpyFromSymbol", file, line))
        return error;
    const emulator::InStream scope(nullptr, file, line, false);
    return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}
