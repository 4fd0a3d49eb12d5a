// 07_fragment_probe/alignment: what becomes of a fragment loaded from, or stored to, memory that is
// less aligned than the CUDA guide requires? The guide requires a 256-bit aligned pointer, and a
// leading dimension that is a multiple of 16 bytes. The emulator refuses everything else, so that
// only a run on a GPU can tell. After a misaligned access a process can no longer use the GPU, so
// every case runs in a process of its own.
//
// Build:    nvcc -O3 -std=c++17 -arch=native -I. 07_fragment_probe/alignment.cu common/*.cu common/*.cpp -o alignment -lcublas -lcublasLt
// Articles: "Tensorコアを使ってみた" asks for 128 bits of alignment, "Tensor Core加速CUDA矩阵计算" for 256.
#include <cuda_fp16.h>
#include <mma.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "common/benchmark.h"
#include "common/build.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/gpu_timer.h"
#include "common/options.h"
#include "common/table.h"
#ifdef CUDA_EMULATOR
#include "emulator/emulator.h"
#endif

using namespace nvcuda;

constexpr int kEdge = 16;
constexpr int kBytes = 2048;  // 16 rows of 24 floats, after an offset
using A = wmma::fragment<wmma::matrix_a, kEdge, kEdge, kEdge, half, wmma::row_major>;
using C = wmma::fragment<wmma::accumulator, kEdge, kEdge, kEdge, float>;

__device__ void load(A& a, const half* M, unsigned ldm) { wmma::load_matrix_sync(a, M, ldm); }
__device__ void load(C& c, const float* M, unsigned ldm) {
    wmma::load_matrix_sync(c, M, ldm, wmma::mem_row_major);
}
template <class T, class Bytes>
__device__ T* at(Bytes* bytes, int offset) {
    return reinterpret_cast<T*>(bytes + offset);
}

// One warp loads the matrix that begins at `offset`, from `bytes` or from a copy in shared memory.
// x gets 32 * num_elements values.
template <class Fragment, class T>
__global__ void load_from(const char* bytes, bool shared, int offset, unsigned ldm, float* x) {
    __shared__ alignas(128) char copy[kBytes];
    for (int i = threadIdx.x; i < kBytes; i += 32) copy[i] = bytes[i];
    __syncwarp();
    Fragment f;
    if (shared) load(f, at<const T>(copy, offset), ldm);
    else load(f, at<const T>(bytes, offset), ldm);
    for (int i = 0; i < f.num_elements; ++i) x[threadIdx.x * f.num_elements + i] = float(f.x[i]);
}

// One warp stores `matrix`, whose rows are 16 floats, in the same way.
__global__ void store_to(const float* matrix, bool shared, int offset, unsigned ldm, char* bytes) {
    __shared__ alignas(128) char copy[kBytes];
    for (int i = threadIdx.x; i < kBytes; i += 32) copy[i] = 0;
    __syncwarp();
    C c;
    load(c, matrix, kEdge);
    if (shared) wmma::store_matrix_sync(at<float>(copy, offset), c, ldm, wmma::mem_row_major);
    else wmma::store_matrix_sync(at<float>(bytes, offset), c, ldm, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; shared && i < kBytes; i += 32) bytes[i] = copy[i];
}

struct Case {
    bool shared;
    int offset;  // bytes
    unsigned ldm;

    const char* from() const { return shared ? "shared" : "global"; }
};

// Element (row, col) is 16 * row + col + 1. Memory outside the matrix is 0.
template <class T>
std::vector<char> matrix_at(int offset, unsigned ldm) {
    std::vector<char> bytes(kBytes, 0);
    for (int row = 0; row < kEdge; ++row)
        for (int col = 0; col < kEdge; ++col) {
            const T value = T(float(kEdge * row + col + 1));
            std::memcpy(&bytes[offset + (row * ldm + col) * sizeof(T)], &value, sizeof value);
        }
    return bytes;
}

// Returns the result as text: all right, how many elements are wrong, or why the load failed.
template <class T>
std::string outcome(DeviceArray<T>& got_device, const std::vector<T>& expected) {
    const cudaError_t status = cudaDeviceSynchronize();
#ifdef CUDA_EMULATOR
    if (!emulator::counts().problems.empty()) {
        const std::string problem = emulator::counts().problems[0];
        return "refused: " + problem.substr(0, problem.find(" at "));  // without the place
    }
#endif
    if (status != cudaSuccess) return std::string("refused: ") + cudaGetErrorString(status);
    std::vector<T> got;
    got_device.download(got);
    int wrong = 0;
    for (size_t i = 0; i < got.size(); ++i) wrong += got[i] != expected[i];
    return wrong ? format("%d of %zu wrong", wrong, got.size()) : "right";
}

template <class Fragment, class T>
std::vector<float> loaded(const Case& c, std::string& said, const std::vector<float>& expected) {
    DeviceArray<char> bytes_device(kBytes);
    bytes_device.upload(matrix_at<T>(c.offset, c.ldm));
    DeviceArray<float> x_device(32 * Fragment::num_elements);
    x_device.upload(std::vector<float>(32 * Fragment::num_elements, 0));
    load_from<Fragment, T>
        <<<1, 32>>>(bytes_device.data(), c.shared, c.offset, c.ldm, x_device.data());
    said = outcome(x_device, expected);
    std::vector<float> x;
    if (said.find("refused") != 0) x_device.download(x);
    return x;
}

template <class Fragment, class T>
std::string load_case(const Case& c) {
    std::string said;
    const std::vector<float> none(32 * Fragment::num_elements),
        aligned = loaded<Fragment, T>({false, 0, kEdge}, said, none);
    loaded<Fragment, T>(c, said, aligned);
    return said;
}

std::string store_case(const Case& c) {
    DeviceArray<char> matrix_device(kBytes), bytes_device(kBytes);
    matrix_device.upload(matrix_at<float>(0, kEdge));
    bytes_device.upload(std::vector<char>(kBytes, 0));
    store_to<<<1, 32>>>(reinterpret_cast<float*>(matrix_device.data()), c.shared, c.offset, c.ldm,
                        bytes_device.data());
    return outcome(bytes_device, matrix_at<float>(c.offset, c.ldm));
}

struct Kind {
    const char* what;
    int bytes;  // of an element
    std::string (*run)(const Case&);
};
const Kind kKinds[] = {{"load_matrix_sync, A of halves", 2, load_case<A, half>},
                       {"load_matrix_sync, C of floats", 4, load_case<C, float>},
                       {"store_matrix_sync, C of floats", 4, store_case}};

// Runs it in a child, which may use a GPU as long as the parent has not. Throws what it throws.
std::string apart(const std::function<std::string()>& run) {
    int ends[2], status = 0;
    if (pipe(ends)) throw Failure(kDeviceFailed, "pipe: too many files are open");
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw Failure(kDeviceFailed, "fork: too many processes");
    if (child == 0) {
        if (kEmulated) close(STDERR_FILENO);  // the emulator would print its refusals there, too
        std::string said;
        int code = kVerified;
        try {
            said = run();
        } catch (const Failure& failure) {
            said = failure.what();
            code = failure.code;
        }
        _exit(write(ends[1], said.data(), said.size()) < 0 ? int(kDeviceFailed) : code);
    }
    close(ends[1]);
    std::string said;
    for (char c; read(ends[0], &c, 1) == 1;) said += c;
    close(ends[0]);
    waitpid(child, &status, 0);
    if (!WIFEXITED(status)) throw Failure(kDeviceFailed, "a case ended by a signal");
    if (WEXITSTATUS(status)) throw Failure(ExitCode(WEXITSTATUS(status)), said);
    return said;
}

void try_all(const BenchmarkOptions& o, Report& report) {
    std::vector<Row> rows;
    for (const Kind& kind : kKinds)
        for (const bool shared : {false, true})
            for (const auto& [offset, ldm] : std::vector<std::pair<int, unsigned>>{{0, 16},
                                                                                   {16, 16},
                                                                                   {8, 16},
                                                                                   {4, 16},
                                                                                   {2, 16},
                                                                                   {0, 24},
                                                                                   {0, 20},
                                                                                   {0, 18},
                                                                                   {0, 17}}) {
                if (offset % kind.bytes) continue;  // not aligned to an element
                const Case c = {shared, offset, ldm};
                const std::string said = apart([&] {
                    select_device(o.device);
                    return kind.run(c);
                });
                const bool guide = offset % 32 == 0 && ldm * kind.bytes % 16 == 0;
                const std::string name = kind.what + format(", %s memory, %d bytes on, rows of %u",
                                                            c.from(), offset, ldm);
                if (guide ? said != "right" : kEmulated && said.find("refused") != 0)
                    throw Failure(kWrongResult, name + ": " + said);
                rows.push_back({{"what", kind.what},
                                {"memory", c.from()},
                                {"offset", std::to_string(offset)},
                                {"ldm", std::to_string(ldm)},
                                {"guide", guide ? "  allows it" : "  forbids it"},
                                {"outcome", said}});
            }
    Row where;
    if (!kEmulated) {
        select_device(o.device);
        where = GpuTimer(o.device).where();
    }
    for (Row& row : rows) {
        add_cells(row, where);
        report.add(row);
    }
    report.save();
}

int main(int argc, char** argv) {
    BenchmarkOptions o;
    o.columns = {{"what", "", -32}, {"memory", "memory", -7},      {"offset", "bytes|on", 6},
                 {"ldm", "ldm", 4}, {"guide", "  the guide", -12}, {"outcome", "outcome", 0}};
    const Program program = {
        "alignment",
        "fragments loaded from and stored to memory that is less and less aligned",
        {{"--csv", "FILE", "also write the rows to FILE", file_name(o.csv)},
         device_option(o.device)},
        "Example:\n  alignment --csv alignment.csv",
        "probe",
        kBuild};
    return run_program(program, argc, argv, [&] {
        Report report(o.csv, o.columns);
        try_all(o, report);
    });
}
