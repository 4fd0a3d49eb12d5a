// -fsanitize=thread makes the compiler call __tsan_read4(address) and the like before each load and
// store. ThreadSanitizer itself is not linked: these functions take its place and trace the
// accesses.

#include <algorithm>
#include <cstring>

#include "emulator/engine/accesses.h"
#include "emulator/engine/removed_calls.h"
#include "emulator/engine/run.h"
#include "emulator/engine/written.h"
#include "emulator/trace/tracing.h"

#define HERE __builtin_return_address(0)

namespace {

using emulator::in_kernel;
using emulator::accesses::note_compiled;
using emulator::accesses::of_host;
using emulator::trace::kRead;
using emulator::trace::kWrite;

[[gnu::noinline, gnu::cold]] void host_reads(const void* p, size_t bytes, const void* pc) {
    if (!emulator::run.running) emulator::written::host_reads(p, bytes, pc);
}
void host_access(const void* p, size_t bytes, emulator::trace::Kind kind, bool polls,
                 const void* pc) {
    if (kind == kRead && emulator::written::host_has_unwritten) host_reads(p, bytes, pc);
    if (of_host) of_host(p, bytes, kind, polls, pc);
}
// The same for a call that does nothing else, so that it can be removed.
[[gnu::noinline]] void host_call(const void* p, size_t bytes, emulator::trace::Kind kind,
                                 bool polls, const void* pc) {
    host_access(p, bytes, kind, polls, pc);
    const bool looks_at_host = of_host || emulator::written::host_has_unwritten;
    const bool in_traced_block = emulator::run.running && emulator::traced;
    if (!looks_at_host && !in_traced_block) emulator::removed_calls::note_idle(pc);
}

void access_range(const void* pointer, size_t bytes, emulator::trace::Kind kind, const void* pc) {
    if (!in_kernel) return host_access(pointer, bytes, kind, false, pc);
    // A GPU's widest access has 16 bytes.
    const bool whole = bytes <= 16;
    for (auto p = static_cast<const char*>(pointer); bytes > 0;) {
        const int width = int(std::min<size_t>(bytes, 16));
        note_compiled(p, width, kind, pc, false, whole);
        p += width;
        bytes -= width;
    }
}

}  // namespace

extern "C" {

void __tsan_init() { emulator::compiled_for_tracing = emulator::traced = true; }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
#define READ_WRITE(bytes, prefix, aligned, polls)                      \
    void __tsan_##prefix##read##bytes(void* p) {                       \
        if (in_kernel) note_compiled(p, bytes, kRead, HERE, aligned);  \
        else host_call(p, bytes, kRead, polls, HERE);                  \
    }                                                                  \
    void __tsan_##prefix##write##bytes(void* p) {                      \
        if (in_kernel) note_compiled(p, bytes, kWrite, HERE, aligned); \
        else host_call(p, bytes, kWrite, polls, HERE);                 \
    }
// unaligned: the source allows any address, as memcpy does.
#define READ_WRITES(bytes)                      \
    READ_WRITE(bytes, , true, false)            \
    READ_WRITE(bytes, unaligned_, false, false) \
    READ_WRITE(bytes, volatile_, true, true)    \
    READ_WRITE(bytes, unaligned_volatile_, false, true)
READ_WRITES(1)
READ_WRITES(2)
READ_WRITES(4)
READ_WRITES(8)
READ_WRITES(16)

// An object's pointer to its class's virtual functions, which its constructor stores.
void __tsan_vptr_update(void** p, void*) {
    if (in_kernel) note_compiled(p, sizeof *p, kWrite, HERE, true);
    else host_call(p, sizeof *p, kWrite, false, HERE);
}
void __tsan_vptr_read(void** p) {
    if (in_kernel) note_compiled(p, sizeof *p, kRead, HERE, true);
    else host_call(p, sizeof *p, kRead, false, HERE);
}

void __tsan_read_range(void* p, size_t bytes) { access_range(p, bytes, kRead, HERE); }
void __tsan_write_range(void* p, size_t bytes) { access_range(p, bytes, kWrite, HERE); }

void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
    access_range(from, bytes, kRead, HERE);
    access_range(to, bytes, kWrite, HERE);
    return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, size_t bytes) {
    access_range(from, bytes, kRead, HERE);
    access_range(to, bytes, kWrite, HERE);
    return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, size_t bytes) {
    access_range(to, bytes, kWrite, HERE);
    return std::memset(to, value, bytes);
}

// Host code in a traced file uses atomics too (guards of static variables, std::shared_ptr). They
// are executed but not traced.
#define ATOMIC_FETCH(bits, T, name)                                 \
    T __tsan_atomic##bits##_fetch_##name(volatile T* p, T v, int) { \
        return __atomic_fetch_##name(p, v, __ATOMIC_SEQ_CST);       \
    }
#define ATOMIC_COMPARE(bits, T, name, weak)                                                        \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile T* p, T* expected, T v, int, int) { \
        return __atomic_compare_exchange_n(p, expected, v, weak, __ATOMIC_SEQ_CST,                 \
                                           __ATOMIC_SEQ_CST);                                      \
    }
#define ATOMICS(bits, T)                                                                           \
    T __tsan_atomic##bits##_load(const volatile T* p, int) {                                       \
        if (!in_kernel && of_host) of_host(const_cast<const T*>(p), sizeof *p, kRead, true, HERE); \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                               \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile T* p, T v, int) {                                    \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                  \
    }                                                                                              \
    T __tsan_atomic##bits##_exchange(volatile T* p, T v, int) {                                    \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                        \
    }                                                                                              \
    ATOMIC_FETCH(bits, T, add)                                                                     \
    ATOMIC_FETCH(bits, T, sub)                                                                     \
    ATOMIC_FETCH(bits, T, and)                                                                     \
    ATOMIC_FETCH(bits, T, or)                                                                      \
    ATOMIC_FETCH(bits, T, xor)                                                                     \
    ATOMIC_FETCH(bits, T, nand)                                                                    \
    ATOMIC_COMPARE(bits, T, strong, false)                                                         \
    ATOMIC_COMPARE(bits, T, weak, true)                                                            \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T v, int, int) {       \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
        return expected;                                                                           \
    }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"
