// The emulator's interface for programs: the order in which threads run, and counts of what they
// did.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace emulator {

// The order in which the threads of a block run between two barriers, and blocks one after the
// other. A kernel that lacks a barrier computes something wrong in at least one of them. random:
// reshuffled at every barrier, the same for the same seed.
enum class Order { forward, reverse, random };
struct NamedOrder {
    const char* name;
    Order order;
};
constexpr NamedOrder kOrders[] = {
    {"forward", Order::forward}, {"reverse", Order::reverse}, {"random", Order::random}};
void set_order(Order order, unsigned seed = 1);

// Runs only the first and the last block of each launch of more than 1000, and accepts any memory
// as device memory. So a kernel can run on matrices that are too large for the machine, of which
// only the ends are touched. Kernels are told of so many multiprocessors; 0: runs all as usual.
// Every launch ends, without an error, after so many traced accesses; 0: at its end. A launch of a
// single block, which computes everything, is left out, unless `single`.
void run_ends_only(int sm_count, uint64_t accesses = 0, bool single = false);
bool ended_early();  // some launch since the last call for a number of multiprocessors, by that limit

// Fragment layout to emulate: 70, 75 or 80 (default; also later architectures).
void set_architecture(int sm);

// True in a program whose .cu file was compiled for tracing, until it switches that off: the
// launches that follow run as in a plain build. Without tracing the emulator sees only barriers,
// blocks, threads and divergence.
bool tracing();
void set_tracing(bool on);  // no effect in a plain build

// Host memory that this much device memory takes, in a traced build including the records of its
// accesses.
double host_bytes(double device_bytes);

// One kind of access by one source line. requests: warp instructions. 32-byte sectors are of global
// memory, wavefronts of shared memory; ideal: the fewest that these bytes could take.
struct Line {
    std::string where;  // 04_unroll/matmul.cu:57
    bool global, store;
    int width;  // bytes a lane
    uint64_t requests, sectors_or_wavefronts, ideal;
};

struct Counts {
    uint64_t global_load_bytes = 0, global_load_requests = 0, global_load_sectors = 0;
    uint64_t global_store_bytes = 0, global_store_requests = 0, global_store_sectors = 0;
    uint64_t shared_load_bytes = 0, shared_load_requests = 0, shared_load_wavefronts = 0,
             shared_load_ideal = 0;
    uint64_t shared_store_bytes = 0, shared_store_requests = 0, shared_store_wavefronts = 0,
             shared_store_ideal = 0;
    uint64_t blocks = 0, threads = 0;
    uint64_t barriers = 0;  // one for each block and each barrier that it passed
    // Races, uninitialised reads, divergence: a line each (a deadlock has more of them); at most
    // 20, then "... and N more".
    std::vector<std::string> problems;
};
// The problem, and below it the source lines that it names, indented, in 80 columns behind a margin
// of 2.
std::string with_lines(const std::string& problem);

// What ends a launch is said on stderr at once. While one of these exists it is not: the program
// says itself what counts() has.
struct Silence {
    Silence();
    ~Silence();
};
void reset_counts();
const Counts& counts();  // since the start or the last reset; valid until the next call
std::vector<Line> lines();  // since then, in the order in which they first ran

// Every kernel of the program, each instance of a template apart, and how many of its launches
// since the start ended well. A launch that leaves template arguments to the compiler isn't
// counted. Empty in a stripped program.
struct Launched {
    std::string kernel;  // matmul<true, false>
    uint64_t launches;
};
std::vector<Launched> kernels();

// Records the requests of each warp in the first and the last block of the next launch, in order,
// and passes them to `to` as text. See REFERENCE.md, "A record of a launch". Traced programs only.
struct RecordedMatrix {  // row-major
    const char* name;
    const void* data;
    int rows, cols, bytes;  // of an element
};
void record_next_launch(const std::vector<RecordedMatrix>& matrices,
                        std::function<void(const std::string&)> to);

// The rule by which a warp's request to shared memory is served; see REFERENCE.md. address[lane],
// for the lanes set in `active`, each reading or writing `width` bytes. A pure function. *ideal, if
// given, gets the wavefronts without bank conflicts.
int shared_wavefronts(const uint64_t (&address)[32], uint32_t active, int width, bool store,
                      int* ideal = nullptr);

}  // namespace emulator
