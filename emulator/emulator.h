// The emulator's interface for programs: the order in which threads run, and counts of what they
// did.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace emulator {

// The order in which the threads of a block run between two barriers, and in which blocks run one
// after the other. A kernel that lacks a barrier computes something wrong in at least one of them.
// random: reshuffled at every barrier, the same for the same seed.
enum class Order { forward, reverse, random };
struct NamedOrder {
    const char* name;
    Order order;
};
constexpr NamedOrder kOrders[] = {
    {"forward", Order::forward}, {"reverse", Order::reverse}, {"random", Order::random}};
void set_order(Order order, unsigned seed = 1);

// From now on, what the host copies to this array of device memory (one word of 4 bytes, over and
// over) does not count as written, and a kernel that reads it is reported. name: of the array.
void treat_copies_as_fill(const void* array, const char* name);

// Runs only the first and the last block of each launch of more than 1000 blocks, and accepts any
// memory as device memory, so that a kernel can run on matrices that are too large for the machine,
// of which only the ends are accessed. sm_count: how many SMs kernels and launchers see; 0:
// everything runs as usual. accesses: every launch ends without an error after so many traced
// accesses; 0: no limit. single: launches of a single block, which computes everything, run, too.
void run_ends_only(int sm_count, uint64_t accesses = 0, bool single = false);
// Whether that limit has ended a launch since it was set.
bool ended_early();

// The architecture to emulate, whose fragments have another layout and whose tensor cores round
// differently: 70, 75, 80 (86 and 89, too) or 90 (default; also for later ones).
void set_architecture(int sm);

// Whether launches are traced. True in a program whose .cu file was compiled for tracing, until it
// switches that off: the launches that follow run as in a plain build. Without tracing the emulator
// sees only barriers, blocks, threads and divergence.
bool tracing();
void set_tracing(bool on);  // no effect in a plain build

// How much host memory this much device memory takes, in a traced build with the records of its
// accesses.
double host_bytes(double device_bytes);

// One kind of access by one source line. requests: warp instructions. sectors_or_wavefronts:
// sectors of 32 bytes in global memory, wavefronts in shared memory. ideal: the fewest that these
// bytes could take.
struct Line {
    std::string where;  // 04_unroll/matmul.cu:57
    bool global, store;
    int width;  // bytes per lane
    uint64_t requests, sectors_or_wavefronts, ideal;

    std::string cost() const;  // what a request takes, in words
    std::string remedy() const;  // what it could take, and how: the rest of that sentence
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
    // Races, uninitialised reads, divergence: a line each (a deadlock has more lines); at most 20,
    // then "... and N more".
    std::vector<std::string> problems;
    // What may be a mistake, or intended: unordered stores of the same value, sums in half that
    // stagnate, a cudaMalloc for more memory than there is.
    std::vector<std::string> notes;
};
// The problem, and below it the source lines that it names, indented, in 80 columns after a margin
// of 2.
std::string with_lines(const std::string& problem);

// The emulator prints on stderr why it ends a launch. While an object of this type exists it does
// not, and the program itself prints what counts() has.
struct Silence {
    Silence();
    ~Silence();
};
void reset_counts();
const Counts& counts();  // since the start or the last reset; valid until the next call
std::vector<Line> lines();  // likewise, in the order in which they first ran
std::string lines_csv();  // these as a CSV, with cost() as `said` and remedy() as `remedy`
// The lines that load from these bytes of device memory, or store to them; of an instruction that
// accesses several arrays, only the last one counts.
std::vector<std::string> lines_that_access(const void* begin, size_t bytes, bool store);

// Every kernel of the program, each instance of a template apart, and how many of its launches have
// ended without an error since the program began. A launch whose template arguments the compiler
// deduces isn't counted. Empty in a stripped program.
struct Launched {
    std::string kernel;  // matmul<true, false>
    uint64_t launches;
};
std::vector<Launched> kernels();

// Records the requests of each warp in the first and the last block of the next launch, in order,
// and passes them to `to` as text. If it is not a launch of `kernel`, a name without template
// arguments, the next launch of that kernel is recorded and passed on, too, unless there is another
// call before it. See REFERENCE.md, "A record of a launch". For traced programs only.
struct RecordedMatrix {  // row-major
    const char* name;
    const void* data;
    int rows, cols, bytes;  // of an element
};
void record_next_launch(const std::vector<RecordedMatrix>& matrices,
                        std::function<void(const std::string&)> to, const std::string& kernel = "");

// How many wavefronts a warp's request to shared memory takes; see REFERENCE.md for the rule. Each
// lane that is set in `active` reads or writes `width` bytes at address[lane]. A pure function.
// *ideal, if given, gets the wavefronts without bank conflicts.
int shared_wavefronts(const uint64_t (&address)[32], uint32_t active, int width, bool store,
                      int* ideal = nullptr);

}  // namespace emulator
