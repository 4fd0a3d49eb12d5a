// Device memory, errors, the limits of a launch; misaligned vectors; parameters by value. Built
// twice: plain, and traced.
#include "device.h"

namespace {

class Api : public Base {};

__global__ void nothing() {}

TEST_F(Api, LimitsOfALaunch) {
    const struct {
        dim3 grid, block;
        size_t shared;
        cudaError_t error;
    } launches[] = {
        // clang-format off
        {1, 1024, 0, cudaSuccess}, {1, 1025, 0, cudaErrorInvalidConfiguration}, {1, dim3(32, 33), 0, cudaErrorInvalidConfiguration},
        {1, dim3(1, 1, 64), 0, cudaSuccess}, {1, dim3(1, 1, 65), 0, cudaErrorInvalidConfiguration},
        {dim3(1, 65535), 1, 0, cudaSuccess}, {dim3(1, 65536), 1, 0, cudaErrorInvalidConfiguration},
        {dim3(1, 1, 65536), 1, 0, cudaErrorInvalidConfiguration}, {2147483648u, 1, 0, cudaErrorInvalidConfiguration},
        {0, 1, 0, cudaErrorInvalidConfiguration}, {1, dim3(1, 0), 0, cudaErrorInvalidConfiguration},
        {1, 1, 48 * 1024, cudaSuccess}, {1, 1, 48 * 1024 + 1, cudaErrorInvalidValue},
        // clang-format on
    };
    for (const auto& [grid, block, shared, error] : launches) {
        nothing<<<grid, block, shared>>>();  // @launch
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "what never started does not fail later";
        if (error) expect_failure({"the launch at @launch asks for "}, error);
        else expect_silence();
    }
}

TEST_F(Api, Memory) {
    void* p = &p;
    EXPECT_EQ(cudaMalloc(&p, size_t(1) << 60), cudaErrorMemoryAllocation);
    EXPECT_EQ(p, nullptr);
    EXPECT_STREQ(cudaGetErrorString(cudaGetLastError()), "out of memory");
    EXPECT_EQ(cudaMalloc(&p, 0), cudaSuccess);
    EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
    EXPECT_EQ(cudaFree(&p), cudaErrorInvalidValue);
    EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
    EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice");

    for (float f : Device<float>(10).host()) EXPECT_TRUE(f != f) << "not written yet: NaN";
    Device<char> d(100);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(d.data) % 256, 0u);
    char host[101] = {};
    EXPECT_EQ(cudaFree(d.data + 1), cudaErrorInvalidValue);
    const struct {
        void* to;
        const void* from;
        size_t bytes;
        cudaMemcpyKind kind;
        cudaError_t error;
    } copies[] = {
        {d.data, host, 100, cudaMemcpyHostToDevice, cudaSuccess},
        {d.data, host, 101, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
        {host, d.data + 1, 100, cudaMemcpyDeviceToHost, cudaErrorInvalidValue},
        {host, host + 50, 10, cudaMemcpyDeviceToHost, cudaErrorInvalidValue},
    };
    for (const auto& c : copies) EXPECT_EQ(cudaMemcpy(c.to, c.from, c.bytes, c.kind), c.error);
}

__device__ int variable;
__global__ void read_variable(int* out) { *out = variable; }

// Each kind of memory is freed by its own call, and by no other.
TEST_F(Api, MemoryIsFreedByItsCall) {
    using Free = cudaError_t (*)(void*);
    const struct {
        Free free;
        cudaError_t other;  // of what it does not free
    } calls[] = {{cudaFree, cudaErrorInvalidValue},
                 {cudaFreeHost, cudaErrorInvalidValue},
                 {cudaHostUnregister, cudaErrorHostMemoryNotRegistered}};
    void *device, *managed, *pinned, *of_variable;
    std::vector<char> own(256);
    ASSERT_EQ(cudaMalloc(&device, 256), cudaSuccess);
    ASSERT_EQ(cudaMallocManaged(&managed, 256), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(&pinned, 256), cudaSuccess);
    ASSERT_EQ(cudaHostRegister(own.data(), 256, 0), cudaSuccess);
    ASSERT_EQ(cudaGetSymbolAddress(&of_variable, variable), cudaSuccess);
    const std::pair<void*, Free> all[] = {{device, cudaFree},
                                          {managed, cudaFree},
                                          {pinned, cudaFreeHost},
                                          {own.data(), cudaHostUnregister},
                                          {of_variable, nullptr}};
    for (const auto& [pointer, right] : all)
        for (const auto& [call, other] : calls)
            if (call != right) {
                EXPECT_EQ(call(pointer), other);
                expect_failure({"fails..: this memory is "}, other);
            }
    read_variable<<<1, 1>>>(static_cast<int*>(device));
    expect_silence();
    for (const auto& [pointer, right] : all)
        if (right) {
            EXPECT_EQ(right(pointer), cudaSuccess);
            EXPECT_NE(right(pointer), cudaSuccess);
            expect_some({pointer == own.data() ? "fails" : "fails..memory that was freed"});
        }
}

// Where the call stands is known from the debug info of the traced build.
std::string call_at(const std::string& call, const std::string& mark) {
    return call + (emulator::tracing() ? " at @" + mark : "") + " fails, ";
}

// Each is reported, whether the program looks at the error or not.
TEST_F(Api, CallsThatFail) {
    Device<char> d(100);
    float ms;
    cudaEvent_t events[3];
    cudaStream_t stream;
    cudaGraphExec_t graph;
    for (cudaEvent_t& event : events) cudaEventCreate(&event, cudaEventDisableTiming);
    cudaEventCreate(&events[0]);
    cudaEventRecord(events[0]);
    cudaEventRecord(events[1]);
    cudaStreamCreate(&stream);
    cudaFree(&ms);  // @host
    expect_failure(
        {call_at("cudaFree", "host") + "invalid argument: memory that is not device memory"},
        cudaErrorInvalidValue);
    cudaFree(d.data + 1);  // @inside
    expect_failure({call_at("cudaFree", "inside") + "..the last 99 of an array of 100 bytes"},
                   cudaErrorInvalidValue);
    cudaEventRecord(nullptr);  // @record
    expect_failure({call_at("cudaEventRecord", "record") + "..: the event is null"},
                   cudaErrorInvalidResourceHandle);
    cudaEventElapsedTime(&ms, events[0], nullptr);  // @no_event
    expect_failure({call_at("cudaEventElapsedTime", "no_event") + "..the second event is null"},
                   cudaErrorInvalidResourceHandle);
    cudaEventElapsedTime(&ms, events[2], events[0]);  // @elapsed
    expect_failure({call_at("cudaEventElapsedTime", "elapsed") + "..the first event was never"},
                   cudaErrorInvalidResourceHandle);
    cudaEventElapsedTime(&ms, events[0], events[1]);  // @untimed
    expect_failure({call_at("cudaEventElapsedTime", "untimed") + "..without timing"},
                   cudaErrorInvalidResourceHandle);
    cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal);  // @capture
    expect_failure({call_at("cudaStreamBeginCapture", "capture") + "..the default stream"},
                   cudaErrorStreamCaptureUnsupported);
    cudaGraphInstantiate(&graph, nullptr);  // @no_graph
    expect_failure({call_at("cudaGraphInstantiate", "no_graph") + "..there is no graph"},
                   cudaErrorInvalidValue);
    EXPECT_EQ(graph, nullptr);
    for (cudaEvent_t event : events) cudaEventDestroy(event);
}

__global__ void store_at(int* p) { *p = 1; }

// A program may try these. If nothing else is wrong, nothing is reported, but it is noted; a kernel
// that uses the null pointer says where it comes from.
TEST_F(Api, CallsThatMayFail) {
    int* p;
    std::vector<char> own(256);
    for (int i = 0; i < 2; ++i) cudaMalloc(&p, size_t(1) << 60);  // @too_much
    cudaSetDevice(1);  // @device
    cudaHostRegister(own.data(), 256, 0);
    cudaHostRegister(own.data(), 256, 0);  // @register
    cudaHostUnregister(own.data());
    cudaGetLastError();
    const std::vector<std::string> notes = emulator::counts().notes;
    const std::string expected[] = {
        call_at("cudaMalloc", "too_much") + "out of memory: 1152921504606846976 bytes, but",
        call_at("cudaSetDevice", "device") + "invalid device ordinal",
        call_at("cudaHostRegister", "register") + "part or all of"};
    ASSERT_EQ(notes.size(), std::size(expected));
    for (size_t i = 0; i < notes.size(); ++i)
        EXPECT_EQ(named(notes[i]).find(expected[i]), 0u) << notes[i];
    expect_silence();
    if (!emulator::tracing()) return;
    store_at<<<1, 1>>>(p);
    expect_failure({"a null pointer (cudaMalloc at @too_much fails, out of memory)"},
                   cudaErrorIllegalAddress);
}

char static_array[128];

// What would overwrite the host's memory, or read past its array, is reported and left out.
TEST_F(Api, CopiesPastTheHostsArrays) {
    Device<char> d(4096, 1);
    std::vector<char> vector(128);
    char* const allocated = static_cast<char*>(std::malloc(100));
    char local[128] = {};
    const struct {
        char* to;
        size_t room;
    } arrays[] = {{allocated, 100},   {allocated + 30, 70}, {&vector[0], 128},
                  {&vector[100], 28}, {static_array, 128},  {static_array + 8, 120}};
    for (const auto& [to, room] : arrays) {
        EXPECT_EQ(cudaMemcpy(to, d.data, room, cudaMemcpyDeviceToHost), cudaSuccess);
        EXPECT_EQ(cudaMemcpy(d.data, to, room, cudaMemcpyHostToDevice), cudaSuccess);
        expect_silence();
        EXPECT_EQ(to[0], 1);
        to[0] = 2;
        const std::string has = std::to_string(room + 1) +
                                " bytes of the host's memory, but the array there has " +
                                std::to_string(room);
        cudaMemcpy(to, d.data, room + 1, cudaMemcpyDeviceToHost);
        expect_problem({"out of bounds: cudaMemcpy..writes " + has});
        cudaMemcpyAsync(d.data, to, room + 1, cudaMemcpyHostToDevice);
        expect_problem({"out of bounds: cudaMemcpy..reads " + has});
        EXPECT_EQ(to[0], 2);
    }
    cudaMemcpy2D(&vector[0], 16, d.data, 32, 16, 8, cudaMemcpyDeviceToHost);
    expect_silence();
    cudaMemcpy2D(&vector[0], 17, d.data, 32, 16, 8, cudaMemcpyDeviceToHost);
    expect_problem({"out of bounds: cudaMemcpy2D..writes 135 bytes..has 128"});
    cudaMemcpy(local, d.data, 128, cudaMemcpyDeviceToHost);
    expect_silence();
    cudaMemcpy(local, d.data, 4096, cudaMemcpyDeviceToHost);
    expect_problem({"writes 4096 bytes of the host's memory, but the local variables there end"});
    std::free(allocated);
    void* aligned = nullptr;  // by a function that is not replaced
    ASSERT_EQ(posix_memalign(&aligned, 64, 128), 0);
    cudaMemcpy(aligned, d.data, 128, cudaMemcpyDeviceToHost);
    aligned = std::realloc(aligned, 4096);
    cudaMemcpy(aligned, d.data, 4096, cudaMemcpyDeviceToHost);
    aligned = std::realloc(aligned, 2 * 4096);
    cudaMemcpy(static_cast<char*>(aligned) + 4096, d.data, 4096, cudaMemcpyDeviceToHost);
    expect_silence();
    std::free(aligned);
}

// What the destructors of a program free after its cudaDeviceReset() does no harm.
TEST_F(Api, MemoryFreedAfterAReset) {
    void *p, *of_stream;
    cudaMalloc(&p, 256);
    cudaMallocAsync(&of_stream, 256, nullptr);
    cudaMemsetAsync(of_stream, 0, 256, nullptr);
    cudaDeviceReset();
    EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
    cudaGetLastError();
    expect_silence();
}

TEST_F(Api, HostMemoryIsRegisteredOnce) {
    std::vector<char> own(256);
    EXPECT_EQ(cudaHostRegister(nullptr, 256, 0), cudaErrorInvalidValue);
    EXPECT_EQ(cudaHostRegister(own.data(), 0, 0), cudaErrorInvalidValue);
    EXPECT_EQ(cudaHostRegister(own.data() + 64, 64, 0), cudaSuccess);
    for (const size_t at : {0, 64, 100})
        EXPECT_EQ(cudaHostRegister(&own[at], 100, 0), cudaErrorHostMemoryAlreadyRegistered);
    EXPECT_EQ(cudaHostRegister(own.data(), 64, 0), cudaSuccess);
    EXPECT_EQ(cudaHostUnregister(own.data()), cudaSuccess);
    EXPECT_EQ(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered);
    EXPECT_EQ(cudaHostUnregister(own.data() + 64), cudaSuccess);
    EXPECT_EQ(cudaHostRegister(own.data(), 256, 0), cudaSuccess);
    EXPECT_EQ(cudaHostUnregister(own.data()), cudaSuccess);
}

TEST_F(Api, FreeMemory) {
    size_t before, after, total;
    void *device, *pinned;
    cudaMemGetInfo(&before, &total);
    cudaMallocHost(&pinned, 4096);
    cudaMemGetInfo(&after, &total);
    EXPECT_EQ(after, before) << "pinned memory is not the device's";
    cudaMalloc(&device, 4096);
    cudaMemGetInfo(&after, &total);
    EXPECT_EQ(after, before - 4096);
    cudaFree(device);
    cudaFreeHost(pinned);
}

// A copy that fails is reported, whether the program checks its error or not.
TEST_F(Api, CopiesThatFail) {
    Device<char> d(100);
    char host[101] = {};
    const std::string at = emulator::tracing() ? "at @" : "";
    const auto expect = [&](cudaError_t error, const std::string& said) {
        EXPECT_EQ(error, cudaErrorInvalidValue);
        expect_failure({said}, cudaErrorInvalidValue);
    };
    cudaError_t error = cudaMemset(d.data, 0, 101);  // @memset
    expect(error, "cudaMemset.." + (at.empty() ? at : at + "memset") +
                      "..101 bytes in an array of 100 bytes");
    error = cudaMemset(d.data + 90, 0, size_t(-4));
    expect(error, "18446744073709551612 bytes in the last 10 of an array of 100 bytes..wrapped");
    error = cudaMemcpy(d.data, host, 101, cudaMemcpyHostToDevice);  // @copy_to
    expect(error, "cudaMemcpy.." + (at.empty() ? at : at + "copy_to") +
                      "..101 bytes to an array of 100 bytes");
    error = cudaMemcpyAsync(host, host + 50, 10, cudaMemcpyDeviceToHost);  // @copy_from
    expect(
        error,
        "cudaMemcpy.." + (at.empty() ? at : at + "copy_from") +
            "..cudaMemcpyDeviceToHost, but the destination is the host's and the source the host's");
    error = cudaMemcpy(host, d.data, 9, cudaMemcpyHostToDevice);  // @direction
    expect(error, call_at("cudaMemcpy", "direction") +
                      "invalid argument: cudaMemcpyHostToDevice, but the destination is "
                      "the host's and the source the device's");
    cudaFree(d.data);  // @freed
    error = cudaMemset(d.data, 0, 1);
    expect(error, "1 bytes in memory that was freed.." + (at.empty() ? at : at + "freed"));
    d.data = nullptr;
}

// cudaMemcpyDefault takes either memory on either side, but both must have so many bytes.
TEST_F(Api, CopiesWithoutADirection) {
    Device<char> d(100);
    char host[100];
    void* pinned;
    cudaMallocHost(&pinned, 100);
    cudaMemset(d.data, 7, 100);
    for (const cudaMemcpyKind kind : {cudaMemcpyDefault, cudaMemcpyHostToHost}) {
        if (kind == cudaMemcpyDefault) {
            EXPECT_EQ(cudaMemcpy(host, d.data, 100, kind), cudaSuccess);
            EXPECT_EQ(host[99], 7);
        }
        EXPECT_EQ(cudaMemcpy(pinned, host, 100, kind), cudaSuccess);
        expect_silence();
        cudaMemcpy(pinned, host, 101, kind);
        expect_failure({"101 bytes to an array of 100 bytes"}, cudaErrorInvalidValue);
        cudaMemcpy(host, static_cast<char*>(pinned) + 90, 11, kind);
        expect_failure({"11 bytes from the last 10 of an array of 100"}, cudaErrorInvalidValue);
        cudaMemcpy(host, d.data, 101, kind);
        expect_failure({"101 bytes from an array of 100 bytes"}, cudaErrorInvalidValue);
        cudaMemcpy(d.data + 100, host, 1, kind);
        expect_failure({"1 bytes to memory outside an array of"}, cudaErrorInvalidValue);
        cudaMemcpy(host, nullptr, 1, kind);
        expect_failure({"1 bytes from a null pointer"}, cudaErrorInvalidValue);
    }
    cudaFreeHost(pinned);
    cudaMemcpy(pinned, host, 1, cudaMemcpyDefault);
    expect_failure({"1 bytes to memory that was freed"}, cudaErrorInvalidValue);
}

TEST_F(Api, Rows) {
    Device<char> d(100);
    char host[100] = {};
    const auto kIn = cudaMemcpyHostToDevice;
    const bool traced = emulator::tracing();  // names the line
    EXPECT_EQ(cudaMemset2D(d.data, 20, 1, 5, 5), cudaSuccess);
    EXPECT_EQ(cudaMemcpy2D(d.data, 20, host, 10, 2, 5, kIn), cudaSuccess);
    EXPECT_EQ(cudaMemset2D(d.data, 1, 1, 15, 1), cudaSuccess) << "one row needs no pitch";
    EXPECT_EQ(cudaMemcpy2D(d.data, 0, host, 0, 0, 5, kIn), cudaSuccess);
    EXPECT_EQ(d.host()[20], 0);
    EXPECT_EQ(d.host()[22], 1);
    expect_silence();
    cudaMemcpy2D(d.data, 20, host, 9, 10, 5, kIn);  // @from_pitch
    expect_failure({"cudaMemcpy2D" + std::string(traced ? "..@from_pitch" : "") +
                    "..invalid pitch argument: rows of 10 bytes, every 9 bytes"},
                   cudaErrorInvalidPitchValue);
    cudaMemcpy2D(d.data, 9, host, 20, 10, 5, kIn);
    expect_failure({"cudaMemcpy2D..every 9 bytes"}, cudaErrorInvalidPitchValue);
    cudaMemset2D(d.data, 9, 1, 10, 5);
    expect_failure({"cudaMemset2D..every 9 bytes"}, cudaErrorInvalidPitchValue);
    cudaMemcpy2D(d.data, 30, host, 10, 10, 5, kIn);
    expect_failure({"cudaMemcpy2D..10 bytes to memory outside an array"}, cudaErrorInvalidValue);
    cudaMemset2D(d.data, 30, 1, 20, 4);  // @fill_rows
    expect_failure({"cudaMemset2D" + std::string(traced ? "..@fill_rows" : "") +
                    "..20 bytes in the last 10 of an array of 100"},
                   cudaErrorInvalidValue);
}

__global__ void divide(int* out, int by, unsigned by_unsigned) {
    if (threadIdx.x == 3) out[3] = out[64] / by;  // @divide
    if (threadIdx.x == 2) out[2] = unsigned(out[64]) % by_unsigned;  // @rest
}

// x86 stops at a division by zero, a GPU does not. The launch fails, and the program goes on.
TEST_F(Api, IntegersDividedByZero) {
    cudaMemset(ints.data, 0, 8);
    divide<<<1, 4>>>(ints.data, 1, 1);
    expect_silence();
    in_every_order([&] {
        const bool traced = emulator::tracing();
        divide<<<1, 4>>>(ints.data, 0, 1);
        expect_failure({"integer division by zero: .." +
                        std::string(traced ? "@divide" : "divide") + "..block 0, thread 3"});
        divide<<<1, 4>>>(ints.data, 1, 0);
        expect_failure({"integer division by zero: .." + std::string(traced ? "@rest" : "divide") +
                        "..block 0, thread 2"});
        divide<<<1, 4>>>(ints.data, 1, 1);
        expect_silence();
    });
}

__global__ void write_one(int* out) { *out = 1; }
void fill(volatile int* data) { data[3] = 1; }

TEST_F(Api, HostCodeMayNotTouchDeviceMemory) {
    // A launch and copies unprotect device memory, and protect it again.
    write_one<<<1, 1>>>(ints.data);
    EXPECT_EQ(ints.host()[0], 1);
    const std::string place = emulator::tracing()
                                  ? "host code, at .*api_test.cu:.*, accesses device memory"
                                  : "host code in .* accesses device memory";
    EXPECT_EXIT(fill(ints.data), testing::ExitedWithCode(3), place);
    EXPECT_EXIT(std::memset(floats.data, 0, 4), testing::ExitedWithCode(3), place);
}

// ---- Shared memory of a kernel ------------------------------------------------------------------

__global__ void big_static(float* out, int i) {
    __shared__ float s[48 * 256 + 1];
    s[i] = 1;
    __syncthreads();
    out[0] = s[i];
}
template <int fixed_bytes>
__global__ void with_static(char* out) {
    __shared__ volatile char fixed[fixed_bytes];
    extern __shared__ char s[];
    s[0] = fixed[0] = 1;
    out[0] = s[0] + fixed[0];
}

TEST_F(Api, SharedMemory) {
    Device<char> out(1);
    const auto kMax = cudaFuncAttributeMaxDynamicSharedMemorySize;
    const auto allow = [&](auto kernel, int bytes) {
        const cudaError_t error = cudaFuncSetAttribute(kernel, kMax, bytes);
        EXPECT_EQ(cudaGetLastError(), error);
        return error;
    };
    const auto expect = [&](auto kernel, size_t shared, const std::string& said) {
        kernel<<<1, 1, shared>>>(out.data);  // @launch_shared
        if (said.empty()) expect_silence();
        else expect_failure({"@launch_shared .." + said}, cudaErrorInvalidValue);
    };
    big_static<<<1, 1>>>(floats.data, 3);  // @big_static
    expect_failure({"@big_static..49156..49152"}, cudaErrorInvalidValue);
    EXPECT_EQ(allow(with_static<1>, 60000), cudaSuccess);
    expect(with_static<1>, 60000, "");
    expect(with_static<1>, 60001, "60001..60000..cudaFuncSetAttribute");
    expect(with_static<1000>, 60000, "60000..48152..cudaFuncSetAttribute");  // another kernel
    expect(with_static<1000>, 48152, "");
    expect(with_static<1000>, 48153, "48153..48152");
    EXPECT_EQ(allow(with_static<1000>, 227 * 1024 - 1000), cudaSuccess);
    const auto too_much = 227 * 1024 - 999;
    EXPECT_EQ(cudaFuncSetAttribute(with_static<1000>, kMax, too_much),  // @refused
              cudaErrorInvalidValue);
    cudaGetLastError();
    expect(with_static<1000>, too_much, "231449..never more than 231448..@refused..refused");
    expect(with_static<2>, 232447, "on sm_90 never more than 232446");
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    nothing<<<1, 1, 48 * 1024 + 1>>>();
    expect_failure({"49153"}, cudaErrorInvalidValue);
    EXPECT_EQ(allow(nothing, 60000), cudaSuccess);
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    nothing<<<1, 1, 48 * 1024 + 1>>>();
    expect_failure({"49153"}, cudaErrorInvalidValue);
    // The reset has freed the arrays of the fixture.
    cudaMalloc(&ints.data, 4);
    cudaMalloc(&floats.data, 4);
    cudaMalloc(&out.data, 4);
}

// ---- Alignment ----------------------------------------------------------------------------------

template <class Vector>
__global__ void copy_vector(const float* in, float* out) {
    const auto from = reinterpret_cast<const Vector*>(in);
    *reinterpret_cast<Vector*>(out) = *from;  // @copy
}

TEST_F(Api, VectorsAreAligned) {
    float* const x = floats.data;
    copy_vector<float2><<<1, 1>>>(x + 2, x);
    copy_vector<float4><<<1, 1>>>(x + 4, x);
    expect_silence();
    copy_vector<float2><<<1, 1>>>(x + 1, x);
    expect_failure({"misaligned: @copy..8 bytes..4 past"}, cudaErrorMisalignedAddress);
    copy_vector<float2><<<1, 1>>>(x, x + 3);
    expect_failure({"misaligned: @copy..8 bytes..4 past"}, cudaErrorMisalignedAddress);
    copy_vector<float4><<<1, 1>>>(x + 2, x);
    expect_failure({"misaligned: @copy..16 bytes..8 past"}, cudaErrorMisalignedAddress);
}

// ---- Parameters by value ------------------------------------------------------------------------

struct Odd {
    char bytes[3];
};
struct Points {
    float3 points[7];
};
struct alignas(64) Aligned {
    uint64_t words[16];
};
struct Pair {
    Aligned both[2];
};

template <class T>
T numbered() {  // its bytes are 1, 2, 3, ...
    T result;
    for (size_t i = 0; i < sizeof(T); ++i) reinterpret_cast<unsigned char*>(&result)[i] = i + 1;
    return result;
}
template <class T>
__device__ int changed_bytes(const T& parameter) {
    int changed = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
        changed += reinterpret_cast<const unsigned char*>(&parameter)[i] != (i + 1) % 256;
    return changed;
}
template <class A, class B, class C>
__global__ void count_changed(int* changed, A a, B b, C c) {
    *changed = changed_bytes(a) + changed_bytes(b) + changed_bytes(c);
}

// Requires that the kernel gets each parameter whole: from a launch, from cudaLaunchKernel(), and
// from a graph.
template <class A, class B, class C>
void expect_whole(int* changed) {
    SCOPED_TRACE(testing::Message() << sizeof(A) << ", " << sizeof(B) << ", " << sizeof(C));
    A a = numbered<A>();
    B b = numbered<B>();
    C c = numbered<C>();
    const auto result = [&] {
        int host = -1;
        cudaMemcpy(&host, changed, sizeof host, cudaMemcpyDeviceToHost);
        cudaMemset(changed, 0xff, sizeof host);
        return host;
    };
    count_changed<A, B, C><<<1, 1>>>(changed, a, b, c);
    EXPECT_EQ(result(), 0);
    void* arguments[] = {&changed, &a, &b, &c};
    cudaLaunchKernel(count_changed<A, B, C>, dim3(1), dim3(1), arguments);
    EXPECT_EQ(result(), 0);

    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    count_changed<A, B, C><<<1, 1, 0, stream>>>(changed, a, b, c);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    EXPECT_EQ(result(), 0);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    expect_silence();
}

TEST_F(Api, ParametersOfAnySizeAndAlignment) {
    expect_whole<Odd, Pair, Pair>(ints.data);
    expect_whole<Pair, Odd, Pair>(ints.data);
    expect_whole<Pair, Pair, Odd>(ints.data);
    expect_whole<Points, double, Odd>(ints.data);
    expect_whole<Odd, Points, Aligned>(ints.data);
    expect_whole<Points, float4, Points>(ints.data);
}

}  // namespace
