// CUDA on the CPU: what a .cu file needs to be compiled by g++ or clang and verified without a GPU.
//
// This file comes first on the include path, so that `#include <cuda_runtime.h>` finds it. It
// declares the part of CUDA that this repository's kernels use, and nothing else: the compiler
// refuses what is missing here, with file and line. How it works and what it cannot do:
// emulator/README.md and REFERENCE.md.
#pragma once

#include <assert.h>  // nvcc includes these, too
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "cuda_runtime_api.h"  // the quotes find this folder's
#include "cuda_symbols.h"
#include "emulator/include/inline_ptx.h"
#include "emulator/include/shared_arrays.h"
#include "vector_types.h"

#define CUDA_EMULATOR 1

#ifdef EMULATOR_SEVERAL_FILES  // a file may launch a kernel that another one defines
#define __global__ __attribute__((noinline))
#else
#define __global__ static __attribute__((noinline))
#endif
#define __device__
#define __host__
#define __shared__ static  // all threads run on one OS thread, one block at a time
#define __grid_constant__
// In a section of its own, because other writable static data counts as shared memory.
#define __constant__ __attribute__((section("cuda_constant")))
#define EMULATOR_DEVICE __attribute__((section("cuda_device")))  // for __device__ variables
#define __managed__ __attribute__((section("cuda_managed")))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)  // checked by EMULATOR_BOUNDS, which rewrite_launches.py inserts
#define __align__(bytes) __attribute__((aligned(bytes)))

// ---- Launches -----------------------------------------------------------------------------------

namespace emulator {

// threadIdx and blockIdx of the running thread, which the emulator sets. For a kernel they are constants
// of a type without constructors: g++ then traces no access to them, and need not load them again
// after each call.
struct Indices {
    uint3 thread, block;
};
#ifdef EMULATOR_ITSELF
extern Indices indices;
#else
extern const Indices indices;
#endif
// What else the running thread can ask for. Accesses to it are not traced either.
struct Builtins {
    dim3 block_dim, grid_dim;
    void* dynamic_shared = nullptr;
};
extern Builtins builtins;

struct LaunchAttributes {
    bool cooperative = false;
    // It may begin before the launch before it in its stream has ended (programmatic stream
    // serialization).
    bool programmatic = false;
    dim3 cluster = {1, 1, 1};
};
struct Launch {
    const void* kernel;  // its address; null if template arguments were deduced
    dim3 grid, block;
    size_t dynamic_shared_bytes;
    const char* file;
    int line;
    const char* name;  // as written in the launch
    uint64_t arguments;  // a hash of their bytes
    LaunchAttributes attributes = {};
};
uint64_t hash(uint64_t before, const void* bytes, size_t count);
void check_pointer(const Launch& launch, const void* argument);
void check_function(const Launch& launch, const void* argument);  // a pointer to a function
// An argument of this type, whose name is mangled, has virtual functions.
void report_virtual_argument(const Launch& launch, const char* type);
// What an array consists of. unknown: bytes, or a struct. other: integers, or not all the same.
enum class Element : unsigned char { unknown, float32, float64, float16, bfloat16, other };
void note_elements(const void* argument, Element element);
template <class T>
using Number = std::conditional_t<std::is_arithmetic_v<T>, T, char>;
template <class T, class = void>
constexpr Element kElement = std::is_same_v<T, float>                        ? Element::float32
                             : std::is_same_v<T, double>                     ? Element::float64
                             : sizeof(Number<T>) > 1 || std::is_pointer_v<T> ? Element::other
                                                                             : Element::unknown;
template <class T>  // half and bfloat16
constexpr Element kElement<T, decltype(void(T::__x), void(T::kBits))> =
    T::kBits == 11 ? Element::float16 : Element::bfloat16;
template <class T>  // float4 and the like
constexpr Element kElement<T, decltype(void(std::declval<T&>().x), void(std::declval<T&>().y))> =
    kElement<std::remove_reference_t<decltype((std::declval<T&>().x))>>;
template <class T>
void check_argument(const Launch& launch, const T& argument) {
    if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
        const auto pointer = const_cast<const void*>(static_cast<const volatile void*>(argument));
        check_pointer(launch, pointer);
        using Pointed = std::remove_all_extents_t<std::remove_pointer_t<T>>;
        note_elements(pointer, kElement<std::remove_cv_t<Pointed>>);
    } else if constexpr (std::is_pointer_v<T>) {
        check_function(launch, reinterpret_cast<const void*>(argument));
    } else if constexpr (std::is_polymorphic_v<T>) {
        report_virtual_argument(launch, typeid(T).name());
    }
}
void launch(const Launch& launch, void (*thread)(void*), void* argument);
void set_launch_cluster(dim3 size);  // by each thread, before the kernel
bool link_summary();
#ifdef __CUDACC__  // ./run any.cu: a program without a launch ends with what was found, too
inline const bool summary_linked = link_summary();
#endif
bool name_kernels(std::initializer_list<const char*> of_a_file);  // rewrite_launches.py calls it
void enter_kernel();  // the thread has copied its arguments from the host
void note_return(EMULATOR_SITE);  // at each return statement of a kernel

template <class Tag, class Function>
const void* address_of(Tag, Function* function) {
    return reinterpret_cast<const void*>(function);
}

// `matmul<8><<<grid, block>>>(M, A)` becomes `Kernel(EMULATOR_KERNEL(matmul<8>), grid, block)(M,
// A)`: the arguments are evaluated once, and every thread gets its own copy of them. The first
// lambda calls the kernel. The second returns its address, and can't be called where that is not
// known.
#define EMULATOR_UNTRACED __attribute__((no_sanitize("thread")))
// For main(), whose loops may be long: overflow is reported in kernels alone.
#define EMULATOR_HOST __attribute__((no_sanitize("signed-integer-overflow")))
#define EMULATOR_KERNEL(...)                                                \
    [=](auto... p) EMULATOR_UNTRACED {                                      \
        emulator::enter_kernel();                                           \
        __VA_ARGS__(p...);                                                  \
    },                                                                      \
        [&](auto tag) -> decltype(emulator::address_of(tag, __VA_ARGS__)) { \
            return emulator::address_of(tag, __VA_ARGS__);                  \
        },                                                                  \
        #__VA_ARGS__
#define __cluster_dims__(...)  // likewise: EMULATOR_CLUSTER
#define EMULATOR_CLUSTER(...) emulator::set_cluster(__VA_ARGS__)
#define EMULATOR_REFERENCE(parameter)                              \
    if constexpr (std::is_lvalue_reference_v<decltype(parameter)>) \
    emulator::check_reference(#parameter, __FILE__, __LINE__)
// Of a kernel's parameters that are __restrict__ pointers: their names, and then they themselves.
#define EMULATOR_RESTRICT(...) emulator::check_restrict(__FILE__, __LINE__, __VA_ARGS__)
#define EMULATOR_BOUNDS(...) emulator::check_bounds(__FILE__, __LINE__, __VA_ARGS__)

template <class Call, class Address>
class Kernel {
public:
    Kernel(Call call, Address address, const char* name, dim3 grid, dim3 block,
           size_t dynamic_shared_bytes = 0, cudaStream_t stream = nullptr, EMULATOR_SITE,
           const LaunchAttributes& attributes = {})
        : call_(call),
          stream_(stream), launch_{nullptr, grid, block,     dynamic_shared_bytes, file, line,
                                   name,    0,    attributes} {
        if constexpr (std::is_invocable_v<Address, int>) launch_.kernel = address(0);
    }

    template <class... Arguments>
    void operator()(Arguments... arguments) const {
        in_stream(stream_, Bound<Arguments...>(*this, arguments...));
    }

private:
    // The kernel with its arguments, as a graph keeps them. A lambda can't hold them: after it has
    // set one, g++ 12 clears its padding (-ftrivial-auto-var-init), and that of what follows an
    // array of structs at a place too early by the array's size. Where a constructor sets the
    // members, padding is cleared before.
    template <class... Arguments>
    struct Bound {
        Bound(const Kernel& kernel, const Arguments&... arguments)
            : kernel(kernel), arguments(arguments...) {}
        cudaError_t operator()() const {
            std::apply([this](const Arguments&... each) { kernel.run(each...); }, arguments);
            return cudaSuccess;
        }
        Kernel kernel;
        std::tuple<Arguments...> arguments;
    };

    template <class... Arguments>
    void run(Arguments... arguments) const {
        const dim3 cluster = launch_.attributes.cluster;
        const bool in_clusters = cluster.x * cluster.y * cluster.z != 1;
        auto thread = [&]() EMULATOR_UNTRACED {
            if (in_clusters) set_launch_cluster(cluster);
            call_(arguments...);
        };
        using Thread = decltype(thread);
        Launch described = launch_;
        ((described.arguments = hash(described.arguments, &arguments, sizeof arguments)), ...);
        (check_argument(described, arguments), ...);
        launch(
            described, [](void* t) EMULATOR_UNTRACED { (*static_cast<Thread*>(t))(); }, &thread);
    }

    Call call_;
    cudaStream_t stream_;
    Launch launch_;
};

// cudaLaunchKernel(kernel, grid, block, pointers to its arguments).
template <class... P, size_t... i>
cudaError_t launch_with(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, size_t bytes,
                        cudaStream_t stream, const LaunchAttributes& attributes,
                        std::index_sequence<i...>, const char* file, int line) {
    Kernel(
        [=](auto... p) EMULATOR_UNTRACED {
            enter_kernel();
            kernel(p...);
        },
        [=](auto) { return reinterpret_cast<const void*>(kernel); }, "a kernel", grid, block, bytes,
        stream, file, line, attributes)(*static_cast<std::decay_t<P>*>(arguments[i])...);
    return cudaPeekAtLastError();
}

struct LaunchConfig {  // with the place of the call that it is passed to
    LaunchConfig(const cudaLaunchConfig_t* config, EMULATOR_SITE)
        : config(config), file(file), line(line) {}
    const cudaLaunchConfig_t* config;
    const char* file;
    int line;
};
// Returns false if the emulator lacks one of them, after it has said so.
bool take_attributes(const LaunchConfig& launch, LaunchAttributes& taken);

// `__shared__ float s[8];` becomes a Shared<float[8]>. In a traced build a redzone follows it, so
// that an access past its end does not hit the next array.
constexpr size_t kSharedRedzone = 4096;
template <class T>
struct Shared {
    T value;
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
    char redzone[kSharedRedzone];
#endif
};

// In a cluster every block has its own: the object of the running block that the variable stands
// for.
void* memory_of_rank(void* variable, size_t bytes);
template <class T>
Shared<T>& of_rank(Shared<T>& variable) {
    return *static_cast<Shared<T>*>(memory_of_rank(&variable, sizeof(T)));
}

void* dynamic_memory(size_t alignment);  // alignment: that of its declaration
template <class T>
T* dynamic_shared(size_t alignment = alignof(T)) {
    return static_cast<T*>(dynamic_memory(alignment));
}

// extern __shared__ outside of any function.
template <class T>
struct DynamicShared {
    operator T*() const { return dynamic_shared<T>(); }
};

// Passed to exchange() in place of a lane: it then returns the mask of the lanes that passed a value
// other than 0, or the same value as the caller.
constexpr int kBallot = -1, kMatch = -2;
// Waits until every lane of the mask that has not returned has called this. Returns the value that
// lane `source` passed. name: of CUDA's function.
uint64_t exchange(unsigned mask, uint64_t value, int source, const char* name, const char* file,
                  int line);
void trap(const char* file, int line);  // ends the launch
void barrier(const char* file, int line, int number);  // number: distinguishes two on one line
int lane();
void check_width(const char* shuffle, int width, const char* file, int line);
void check_reference(const char* parameter, const char* file, int line);
void note_restrict(const char* file, int line, const char* names, const void* both);
template <class First, class... Others>
__forceinline__ void check_restrict(const char* file, int line, const char* names, First first,
                                    Others... others) {
    const auto pointer = [](const volatile void* p) { return const_cast<const void*>(p); };
    if (first && ((pointer(first) == pointer(others)) || ...))
        note_restrict(file, line, names, pointer(first));
    if constexpr (sizeof...(others) > 1) check_restrict(file, line, names, others...);
}
void check_bounds(const char* file, int line, unsigned threads, unsigned blocks = 0, unsigned = 0);
void set_cluster(unsigned x, unsigned y = 1, unsigned z = 1);
void trace_atomic(const void* address, int bytes, const void* pc);
void trace_exchange(const void* address, int bytes,
                    const void* pc);  // also of memory that nothing has written

template <class T>
T shuffle(const char* name, unsigned mask, T value, int source, int width, const char* file,
          int line) {
    static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle moves at most 8 bytes per lane");
    check_width(name, width, file, line);
    const int first = lane() & ~(width - 1);
    // If the source is outside the segment, a lane keeps its own value.
    if (source < first || source >= first + width) source = lane();
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = exchange(mask, bits, source, name, file, line);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

template <class T>
struct TypeIdentity {  // std::type_identity of C++20: a parameter that is not deduced
    using type = T;
};

}  // namespace emulator

template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                             size_t bytes = 0, cudaStream_t stream = nullptr, EMULATOR_SITE) {
    return emulator::launch_with(kernel, grid, block, arguments, bytes, stream, {},
                                 std::index_sequence_for<P...>(), file, line);
}
template <class... P>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block,
                                        void** arguments, size_t bytes = 0,
                                        cudaStream_t stream = nullptr, EMULATOR_SITE) {
    return emulator::launch_with(kernel, grid, block, arguments, bytes, stream, {true},
                                 std::index_sequence_for<P...>(), file, line);
}
template <class... P, class... Arguments>
cudaError_t cudaLaunchKernelEx(emulator::LaunchConfig launch, void (*kernel)(P...),
                               Arguments&&... arguments) {
    emulator::LaunchAttributes attributes;
    if (!emulator::take_attributes(launch, attributes)) return cudaPeekAtLastError();
    std::tuple<std::decay_t<P>...> values(std::forward<Arguments>(arguments)...);
    return std::apply(
        [&](auto&... value) {
            void* pointers[] = {&value..., nullptr};
            const cudaLaunchConfig_t& config = *launch.config;
            return emulator::launch_with(kernel, config.gridDim, config.blockDim, pointers,
                                         config.dynamicSmemBytes, config.stream, attributes,
                                         std::index_sequence_for<P...>(), launch.file, launch.line);
        },
        values);
}

inline const uint3& threadIdx = emulator::indices.thread;
inline const uint3& blockIdx = emulator::indices.block;
inline const dim3& blockDim = emulator::builtins.block_dim;
inline const dim3& gridDim = emulator::builtins.grid_dim;
constexpr int warpSize = 32;

// ---- Device functions ---------------------------------------------------------------------------

#define __syncthreads() emulator::barrier(__FILE__, __LINE__, __COUNTER__)
inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATOR_SITE) {
    emulator::exchange(mask, 0, emulator::lane(), "__syncwarp", file, line);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize, EMULATOR_SITE) {
    const int first = emulator::lane() & ~(width - 1);
    return emulator::shuffle("__shfl_sync", mask, value, first + (source & (width - 1)), width,
                             file, line);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize, EMULATOR_SITE) {
    return emulator::shuffle("__shfl_up_sync", mask, value, emulator::lane() - int(delta), width,
                             file, line);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize, EMULATOR_SITE) {
    return emulator::shuffle("__shfl_down_sync", mask, value, emulator::lane() + int(delta), width,
                             file, line);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize, EMULATOR_SITE) {
    return emulator::shuffle("__shfl_xor_sync", mask, value, emulator::lane() ^ lane_mask, width,
                             file, line);
}

// None is always empty; because of it a program's own template is preferred.
template <class A, class B, class... None>
constexpr std::common_type_t<A, B> min(A a, B b, None...) {
    return b < a ? b : a;
}
template <class A, class B, class... None>
constexpr std::common_type_t<A, B> max(A a, B b, None...) {
    return a < b ? b : a;
}
// As on the GPU, a number wins over NaN.
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

#ifndef EMULATOR_HOST_FILE  // a host file of ./run may have functions of these names
#include "emulator/include/intrinsics.h"
#endif
