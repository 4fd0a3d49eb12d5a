// What the emulator's files share, grouped by the file that defines it. Programs do not include it.
#pragma once

#include <deque>
#include <functional>

#include "emulator/emulator.h"
#include "emulator/include/cuda_runtime.h"

namespace emulator {

constexpr unsigned kMaxThreads = 1024;  // of a block

// ---- scheduler.cpp: threads, barriers, warp operations ----

extern unsigned current_thread;  // the running thread's linear number in its block
extern volatile uint64_t progress_made;  // arrivals at a barrier, a warp operation or the end
bool in_launch();
int only_ends_run();
unsigned ready_threads();  // how many threads can run
void give_way();  // called by the running thread: the others of its block run first
// Ends the launch. Does not return if a kernel's thread calls it.
void fail(const std::string& problem, cudaError_t error = cudaErrorLaunchFailure);
void misuse_by(unsigned thread, const std::string& what, const char* file, int line);
Order thread_order();
unsigned random_number();  // of the sequence that random orders come from
// Whether asynchronous work takes place now, though nobody waits for it yet: always in reverse order,
// by chance in random order.
bool happens_early();
std::string block_name();  // "block 3", the one that runs
std::string thread_name(unsigned thread);  // "thread (5,1)"
std::string kernel_name();  // "matmul<true>"
std::string index_name(uint3 index, dim3 extent);  // "5", "(5,1)" or "(5,1,0)", as the shape needs
uint3 unflatten(uint64_t number, dim3 extent);  // from a linear number, x fastest

// ---- async.cpp: what a thread has asked for and not waited for ----

namespace async {
void begin_launch();
void finish();  // all copies of the running thread
}  // namespace async

// ---- mbarriers.cpp, tensor_loads.cpp, tensor_stores.cpp, wgmma.cpp, named_barriers.cpp,
// clusters.cpp ----

namespace mbarriers {
void begin_block();
void end_block();
void report_deadlock();  // threads wait, and nothing can end that
}  // namespace mbarriers

namespace tensor_loads {
void begin_block();
void end_block();
bool any_lands();  // one of those under way has; false: none is under way
}  // namespace tensor_loads
namespace tensor_stores {
void begin_block();
void end_block();
}  // namespace tensor_stores
namespace wgmma_state {
void begin_block();
void end_block();
}  // namespace wgmma_state
namespace named_barriers {
void begin_block();
}  // namespace named_barriers
namespace clusters {
void begin_block();
}  // namespace clusters
void note_remote_access(unsigned thread, unsigned rank, uintptr_t pc);

// ---- api.cpp: device memory, errors, limits ----

struct Cell;  // who touched two bytes of memory last; see races.cpp

struct Allocation {
    uintptr_t begin, end;
    Cell* cells;  // null until a traced kernel touches it
};
extern std::vector<Allocation> allocations;  // live cudaMalloc ranges, by address
Allocation* find_allocation(uintptr_t address);
void* allocate_aligned(size_t alignment, size_t bytes);
cudaError_t set_last_error(cudaError_t error);  // returns it
size_t static_shared(const void* kernel);  // bytes of its own __shared__ arrays
bool launch_fits(const Launch& launch);  // within the limits; otherwise it is reported

// ---- stacks.cpp ----

// All stacks lie in one range. The unmapped gap below each is larger than any local array.
void* reserve_stack(unsigned thread, size_t& bytes);  // its end
constexpr unsigned kNoThread = ~0u;
unsigned stack_owner(uintptr_t address, bool* overflow = nullptr);  // or kNoThread
extern uintptr_t stacks_begin, stacks_bytes;

// ---- accesses.cpp: to which memory an access goes ----

extern bool compiled_for_tracing;  // set before main
extern bool in_kernel;  // traced, and the kernel's own code runs
// No traced access within is the kernel's.
struct EmulatorsWork {
    bool before;
    EmulatorsWork();
    ~EmulatorsWork();
};
// AddressSanitizer, if the program has it, says that some of these bytes are not to be touched.
bool poisoned(const void* begin, size_t bytes);
extern uintptr_t last_traced;  // return address of the last access

// As fail() does: "`what` 8 bytes, `where` (block 0, thread 3)".
void refuse_access(unsigned thread, const std::string& what, int width, const std::string& where,
                   cudaError_t error);
std::string past_multiple(uintptr_t address, int width);  // where a misaligned access is

namespace trace {
enum Kind { kRead, kWrite, kAtomic };

// Of each block that runs with others, `stride` bytes apart.
void begin_launch(size_t dynamic_shared_bytes, size_t stride, unsigned blocks);
void begin_block();
void end_interval();  // every thread of the block is at the barrier, or has returned
void end_launch();
void forget(Allocation& allocation);

// The emulator itself accesses up to 16 bytes for a thread, on behalf of the instruction at `pc`.
// The access is always checked for races. counted: also count it as a request of the warp.
// copied_to: where a load that bypasses L1 goes in shared memory. Returns true if the thread should
// give way.
bool access(unsigned thread, const void* address, int bytes, Kind kind, const void* pc,
            bool counted = true, const void* copied_to = nullptr);
// A bulk copy does, by rows; not counted.
void bulk_access(unsigned thread, const void* address, size_t bytes, Kind kind, const void* pc);
void bulk_bounds(const void* address, size_t bytes, Kind kind, const void* pc);  // may it?
void count_bulk(const void* pc, bool store, uint64_t bytes, uint64_t sectors);  // of global memory
// The same for an access by the kernel's compiled code. aligned: the address must be a multiple of
// `bytes`.
void compiled_access(const void* address, int bytes, Kind kind, const void* pc, bool aligned);
}  // namespace trace

// ---- requests.cpp: what a warp's lanes ask for together ----

struct Request {  // one instruction, executed by the lanes of a warp together
    uint32_t active = 0;
    int width = 0, bytes = 0;  // of a lane, at most; of all lanes
    uint64_t address[32];
    Request() {}  // leaves the addresses unset, because there are millions of requests
};

struct Site {  // one load or store instruction of the program
    uint16_t number;  // from 1 up
    uintptr_t pc;
    bool global, store;
    int width = 0;  // the widest; they differ only where a whole struct is copied
    uint64_t bytes = 0, requests = 0, cost = 0, ideal = 0;
    // Since the last barrier: how often each thread has executed it (times), how many requests of
    // each warp are already counted (finished), and those that are not (pending). A GPU executes an
    // instruction for all lanes at once, so the lanes' i-th executions make one request.
    bool touched = false;
    uint32_t times[kMaxThreads] = {};
    uint32_t finished[kMaxThreads / 32] = {};
    std::vector<Request> pending[kMaxThreads / 32];
    std::string where;  // its source line, looked up when first reported
};

Site& find_site(uintptr_t pc, bool global, bool store);
std::deque<Site>& all_sites();
Site& site_of(uint16_t number);
// True if the thread should give way to the others.
bool count_access(Site& site, unsigned thread, uintptr_t address, int width);
void count_pending();  // the interval is over

// ---- races.cpp: what is ordered, and what is not ----

// How an asynchronous operation is ordered: it knows what the thread that asked for it knew then. It
// takes place at some time between that and a wait, which is another's, an agent's, doing. All
// operations that come to the same mbarrier are one agent's, as are all of a thread that end there.
struct AsyncOrder {
    unsigned agent = 0;  // a number behind those of the block's threads
    uint32_t base = 0, clock = 0;  // clock: that of its accesses
    std::vector<uint32_t> known, fenced;  // by thread; fenced: up to its last proxy fence
    bool sees(uint32_t clock, unsigned thread) const;  // a write that it knows of: fenced?
};

// release() stores everything that a thread has done or knows of. A thread that then calls
// acquire() comes after all that. One object serves one phase of one barrier between several warps.
class Sync {
public:
    void release(unsigned thread);
    void release(const AsyncOrder& operation);
    uint32_t release_agent(const void* whose);  // gives its clock
    void acquire(unsigned thread) const;

private:
    std::vector<uint32_t> known_;
};

namespace races {
void begin_launch();
void begin_block();
void block_barrier();
void warp_barrier(unsigned first_thread, uint32_t lanes);  // among these lanes
void keep_all_readers();  // from now on: threads are going to synchronise beyond their warps
uint32_t now(unsigned thread);  // its clock
bool knows(unsigned thread, unsigned other, uint32_t clock);  // comes after what `other` did then
void fence_proxy(unsigned thread);
unsigned agent(const void* whose);  // its number, this block's
AsyncOrder begin_async(unsigned thread, const void* whose,
                       unsigned threads = 1);  // of `thread` and those behind it
void learn(unsigned thread, const AsyncOrder& operation);  // it comes after what that did
void act(AsyncOrder& operation,
         const std::function<void()>& accesses);  // which are looked at as the operation's
size_t cells_bytes(uintptr_t begin, uintptr_t end);
Cell* new_cells(uintptr_t begin, uintptr_t end);  // those of a range
void delete_cells(Cell* cells, uintptr_t begin, uintptr_t end);
double bytes_per_byte();  // bytes of bookkeeping for each byte of memory
// cells: those of the range that begins at `begin`.
void check(Cell* cells, uintptr_t begin, uintptr_t address, int width, bool global,
           trace::Kind kind, unsigned thread, uint16_t site);
}  // namespace races

// ---- record.cpp: what a block's warps ask for, in order ----

struct Conflict;

namespace record {
extern bool on;  // true while a recorded block runs; the functions below are called only then
extern const char* collective;  // the event that one makes; null if it has accessed memory
void begin_launch();
void begin_block(bool first_or_last);
void access(unsigned thread, const Site& site, uintptr_t address, int width, bool counted);
void cost(const Site& site, unsigned warp, size_t index, int cost,
          int ideal);  // since the last barrier
void call(unsigned thread, const char* name, const char* file,
          int line);  // that accesses no memory
// What becomes of mbarriers, bulk copies and wgmma, in the order in which this run does it: "kind,..."
// Gives the note's number. own: by the running thread's last event, which from now on shows it.
size_t note(const std::string& text, bool own = true);
std::string number(const void* address);  // ",address"
void conflict(const Conflict& conflict);  // its second access is the next one recorded
void end_interval();
void end_launch();
}  // namespace record

// ---- watchdog.cpp: crashes and endless loops ----

namespace watchdog {
void begin_launch();
void end_launch();
}  // namespace watchdog

// ---- symbols.cpp: the program's own symbol table ----

struct Symbol {  // a function or a variable
    uintptr_t begin;
    size_t size;
    bool function;
    const char* mangled;
};
const std::vector<Symbol>& symbols();  // sorted by address; empty in a stripped program
const Symbol* find_symbol(uintptr_t address);
uintptr_t load_address();  // 0 if the program runs at its link address
std::string name_of(const Symbol& symbol);  // demangled
std::string short_name(const Symbol& symbol);  // as in the source: As, matmul<true>
bool is_data(uintptr_t address);  // of the program's writable data

// ---- lines.cpp: where in the source ----

std::string short_path(const std::string& path);  // the last folder and the name
// The source line of each return address, from the debug info; "" where there is none.
std::vector<std::string> find_lines(const std::vector<uintptr_t>& return_addresses);

// ---- report.cpp: problems and counts ----

extern Counts totals;  // barriers, blocks, threads; the rest is filled in by counts()
void report_problem(const std::string& problem);  // keeps it for counts()

// A race. If there is no first access: an uninitialised read.
struct Conflict {
    bool global;
    trace::Kind first_kind, second_kind;
    uint16_t first, second;  // sites
    uint16_t first_thread, second_thread;
    bool same_block;  // the first is of the block that runs
    bool async;  // the second is an asynchronous operation's
    bool unfenced;  // they are in order, but no proxy fence lies between
    std::string who;
};
std::string describe(const Conflict& conflict);  // call counts() first, which looks up the lines
// Keeps one conflict for each pair of instructions, and calls who() only for a new one.
void report_conflict(Conflict conflict, const std::function<std::string()>& who);

}  // namespace emulator
