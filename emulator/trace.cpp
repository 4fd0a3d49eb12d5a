// What the threads of a kernel access: traffic, coalescing, bank conflicts, races.
//
// A .cu file compiled with -fsanitize=thread calls __tsan_read4(address) and the like before every load and store. ThreadSanitizer
// itself is not linked: these functions are ours. They see every access with no change to the kernel.

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <sstream>

#include "emulator/internal.h"

// The linker's: the program's code, its writable data, and the __constant__ variables within (none: null).
extern "C" char __executable_start, etext, __data_start, _end;
extern "C" __attribute__((weak)) char __start_cuda_constant, __stop_cuda_constant;

namespace emulator {
namespace {

uintptr_t number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
const uintptr_t kCodeBegin = number(&__executable_start), kCodeEnd = number(&etext);
const uintptr_t kDataBegin = number(&__data_start), kDataEnd = number(&_end);
const uintptr_t kConstantBegin = number(&__start_cuda_constant),
                kConstantEnd = number(&__stop_cuda_constant);

bool compiled_for_tracing;  // set by __tsan_init, which a traced file calls before main
bool in_kernel;

// ---- Requests ---------------------------------------------------------------------------------------------------------------

struct Request {  // one instruction, executed by the lanes of a warp together
    uint32_t active = 0;
    int width = 0;
    uint64_t address[32];
    Request() {}  // the addresses stay unset: there are millions
};

struct Site {  // one load or store instruction of the program
    uintptr_t pc;
    bool global, store;
    int width = 0;  // the widest; they differ only where a whole struct is copied
    uint64_t bytes = 0, requests = 0, cost = 0, ideal = 0;
    // In this interval: how often each thread has executed it, and each warp's requests: how many are counted already, and the rest.
    // A GPU executes an instruction for all lanes at once, so the i-th time of each lane is one request.
    bool touched = false;
    uint32_t times[1024] = {};
    uint32_t finished[32] = {};
    std::vector<Request> pending[32];
    std::string where;  // found when first reported
};

// A thread gives way to the others each time that it has executed an instruction so often, so that its warp's requests can be
// counted and forgotten long before the next barrier.
constexpr uint32_t kChunk = 256;

std::deque<Site> sites;  // a Site stays where it is
std::vector<Site*> touched_sites;
// For each address of the program's code: the number + 1 of the first Site of that instruction. An instruction has up to four.
std::vector<uint16_t>* site_numbers;

Site& find_site(uintptr_t pc, bool global, bool store) {
    if (!site_numbers) site_numbers = new std::vector<uint16_t>(kCodeEnd - kCodeBegin);
    uint16_t& first = (*site_numbers)[pc - kCodeBegin];
    if (first == 0) {
        if (sites.size() + 4 > UINT16_MAX)
            std::fputs("emulator: too many loads and stores in one program\n", stderr),
                std::abort();
        first = uint16_t(sites.size() + 1);
        for (int kind = 0; kind < 4; ++kind) {
            sites.emplace_back();
            sites.back().pc = pc;
            sites.back().global = kind & 2;
            sites.back().store = kind & 1;
        }
    }
    return sites[first - 1 + global * 2 + store];
}

int global_sectors(const Request& request) {
    constexpr int kSectorBytes = 32;
    uint64_t sectors[64];
    int count = 0;
    for (int lane = 0; lane < 32; ++lane) {
        if (!(request.active >> lane & 1)) continue;
        const uint64_t last = (request.address[lane] + request.width - 1) / kSectorBytes;
        for (uint64_t s = request.address[lane] / kSectorBytes; s <= last; ++s) {
            int i =
                count;  // neighbouring lanes mostly meet in the sector seen last: look from the end
            while (i > 0 && sectors[i - 1] != s) --i;
            if (i == 0) sectors[count++] = s;
        }
    }
    return count;
}

// Counts the oldest requests of a warp and forgets them.
void finish_requests(Site& site, unsigned warp, size_t count) {
    std::vector<Request>& pending = site.pending[warp];
    for (size_t i = 0; i < count; ++i) {
        const Request& request = pending[i];
        const int bytes = __builtin_popcount(request.active) * request.width;
        ++site.requests;
        site.bytes += bytes;
        int ideal = 0;
        if (site.global) {
            const int sectors = global_sectors(request);
            site.cost += sectors;
            ideal = std::min(sectors,
                             (bytes + 31) / 32);  // lanes that read the same bytes may need fewer
        } else {
            site.cost += shared_wavefronts(request.address, request.active, request.width,
                                           site.store, &ideal);
        }
        site.ideal += ideal;
    }
    pending.erase(pending.begin(), pending.begin() + count);
    site.finished[warp] += count;
}

// The thread's next request of this instruction.
Request& next_request(Site& site, unsigned thread) {
    std::vector<Request>& pending = site.pending[thread / 32];
    uint32_t &time = site.times[thread], &finished = site.finished[thread / 32];
    if (time - finished == 2 * kChunk) finish_requests(site, thread / 32, kChunk);
    time =
        std::max(time, finished);  // of lanes that far apart, the slower one joins a later request
    if (time - finished == pending.size()) pending.emplace_back();
    return pending[time++ - finished];
}

// ---- Races ------------------------------------------------------------------------------------------------------------------

// When: intervals between barriers are numbered through all blocks and launches. Two accesses are in order if a barrier lies
// between them, or a warp-wide synchronisation if they are of one warp; accesses of two blocks never are.
struct Access {
    uint32_t interval = 0;  // 0: none yet
    uint32_t epoch = 0;  // of the warp
    uint16_t thread = 0;
    uint16_t site = 0;
};
uint32_t interval, block_start, launch_start;
std::map<uint32_t, uint3> blocks_by_start;  // of this launch

}  // namespace

// The last write, and two reads such that a write that is in order with both is in order with all.
struct Cell {
    Access writer, reader[2];
};

namespace {

constexpr int kCellBytes =
    2;  // the narrowest access that two threads may make side by side: a half
constexpr unsigned kMaxProblems = 20;

enum class Fault { race_ww, race_wr, race_rw, uninitialised };
struct Problem {
    Fault fault;
    bool global;
    uint16_t first, second;  // sites
    std::string who;
};
std::vector<Problem> faults;  // one for each pair of instructions
std::vector<std::string> other_problems;

bool in_order(const Access& before, const Access& now) {
    if (before.interval < block_start) return false;  // another block
    if (before.interval != now.interval || before.thread == now.thread) return true;
    return before.thread / 32 == now.thread / 32 && before.epoch != now.epoch;
}

std::string block_name(uint32_t at) {
    return "block " +
           index_name(std::prev(blocks_by_start.upper_bound(at))->second, builtins.grid_dim);
}

void add_fault(Fault fault, bool global, const Access& before, const Access& now) {
    for (const Problem& p : faults)
        if (p.fault == fault && p.global == global && p.first == before.site &&
            p.second == now.site)
            return;
    const auto index = [](const Access& a) {
        return index_name(unflatten(a.thread, builtins.block_dim), builtins.block_dim);
    };
    std::string who = block_name(now.interval);
    if (fault == Fault::uninitialised) who += ", thread " + index(now);
    else if (before.interval >= block_start)
        who += ", threads " + index(before) + " and " + index(now);
    else
        who = block_name(before.interval) + " thread " + index(before) + ", " + who + " thread " +
              index(now);
    faults.push_back({fault, global, before.site, now.site, who});
}

// Keeps `now` as one of the two reads. It may take the place of one that it is in order with: what is out of order with that
// one later is out of order with `now` too. Otherwise the two should be as far apart as can be: of two blocks, or two warps.
void keep_reader(Cell& cell, const Access& now, uint32_t since) {
    Access &first = cell.reader[0], &second = cell.reader[1];
    if (first.interval < since || in_order(first, now)) first = now;
    else if (second.interval < since || in_order(second, now)) second = now;
    else if (first.interval < block_start ? second.interval < block_start
                                          : first.thread / 32 == second.thread / 32)
        second = now;
}

void check_cell(Cell& cell, bool global, bool store, const Access& now) {
    const uint32_t since =
        global ? launch_start : block_start;  // shared memory starts anew with each block
    const auto races = [&](const Access& before) {
        return before.interval >= since && !in_order(before, now);
    };
    if (races(cell.writer))
        add_fault(store ? Fault::race_ww : Fault::race_wr, global, cell.writer, now);
    if (store) {
        for (const Access& reader : cell.reader)
            if (races(reader)) add_fault(Fault::race_rw, global, reader, now);
        cell.writer = now;
    } else {
        if (!global && cell.writer.interval < since)
            add_fault(Fault::uninitialised, global, now, now);
        keep_reader(cell, now, since);
    }
}

// One untouched Cell for each kCellBytes of a range. The pages come into being, zeroed, when first touched.
size_t cells_bytes(uintptr_t begin, uintptr_t end) {
    return ((end - begin) / kCellBytes + 2) * sizeof(Cell);
}
Cell* new_cells(uintptr_t begin, uintptr_t end) {
    void* p = mmap(nullptr, cells_bytes(begin, end), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) std::perror("emulator: no memory to trace with"), std::abort();
    return static_cast<Cell*>(p);
}

// ---- Accesses ---------------------------------------------------------------------------------------------------------------

Allocation static_shared{kDataBegin, kDataEnd, nullptr}, dynamic_shared_range{0, 0, nullptr};
Allocation recent_global{0, 0, nullptr};  // most accesses fall into the range of the one before

bool contains(const Allocation& range, uintptr_t address) {
    return address - range.begin < range.end - range.begin;
}

// The range of shared or global memory that holds the address; null for a thread's own variables and everything else.
const Allocation* find_range(uintptr_t address, bool& global) {
    global = true;
    if (contains(recent_global, address)) return &recent_global;
    if (Allocation* found = find_allocation(address)) {
        if (!found->cells) found->cells = new_cells(found->begin, found->end);
        recent_global = *found;
        return &recent_global;
    }
    global = false;
    if (contains(static_shared, address)) {
        if (address - number(&builtins) < sizeof(Builtins)) return nullptr;
        if (address - kConstantBegin < kConstantEnd - kConstantBegin) return nullptr;
        return &static_shared;
    }
    return contains(dynamic_shared_range, address) ? &dynamic_shared_range : nullptr;
}

// A copy that bypasses L1 asks, for each 128-byte line, once for each 32-byte sector of shared memory that the line goes to; see
// README.md. Returns an address in a sector that is the same for those, and for those only.
uintptr_t bypass_address(uintptr_t from, const void* to) {
    return (from / 128 << 16 | (number(to) / 32 & 0xffff)) * 32;
}

// True if the thread should give way to the others.
bool note_access(unsigned thread, const void* pointer, int width, bool store,
                 const void* return_address, bool counted, const void* copied_to = nullptr) {
    const uintptr_t address = number(pointer), pc = number(return_address);
    bool global;
    const Allocation* range = find_range(address, global);
    if (!range || pc - kCodeBegin >= kCodeEnd - kCodeBegin) return false;

    Site& site = find_site(pc, global, store);
    if (counted) {
        site.width = std::max(site.width, width);
        if (!site.touched) site.touched = true, touched_sites.push_back(&site);
        Request& request = next_request(site, thread);
        request.active |= 1u << thread % 32;
        request.width = width;
        request.address[thread % 32] = copied_to ? bypass_address(address, copied_to) : address;
    }
    const Access now{interval, warp_epoch[thread / 32], uint16_t(thread),
                     (*site_numbers)[pc - kCodeBegin]};
    Cell* const cells = range->cells - range->begin / kCellBytes;
    for (uintptr_t c = address / kCellBytes; c <= (address + width - 1) / kCellBytes; ++c)
        check_cell(cells[c], global, store, now);
    return counted && site.times[thread] % kChunk == 0;
}

void access(const void* pointer, int width, bool store, const void* return_address) {
    if (note_access(current_thread, pointer, width, store, return_address, true)) give_way();
}

void access_range(const void* pointer, size_t bytes, bool store, const void* return_address) {
    for (const char* p = static_cast<const char*>(pointer);
         bytes > 0;) {  // as a GPU would: at most 16 bytes at a time
        const int width = int(std::min<size_t>(bytes, 16));
        access(p, width, store, return_address);
        p += width;
        bytes -= width;
    }
}

// ---- Report -----------------------------------------------------------------------------------------------------------------

// What addr2line prints for these addresses; nothing where there is none. Its arguments go past any shell.
std::string addr2line(const std::vector<std::string>& addresses) {
    const std::string program = "/proc/" + std::to_string(getpid()) + "/exe";
    std::vector<const char*> words = {"addr2line", "-a", "-i", "-e", program.c_str()};
    for (const std::string& address : addresses) words.push_back(address.c_str());
    words.push_back(nullptr);

    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return "";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child;
    const bool started = posix_spawnp(&child, words[0], &actions, nullptr,
                                      const_cast<char**>(words.data()), environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);

    std::string output;
    char text[4096];
    for (ssize_t n; started && (n = read(ends[0], text, sizeof text)) > 0;) output.append(text, n);
    close(ends[0]);
    if (started) waitpid(child, nullptr, 0);
    return output;
}

// The source lines of all instructions, from the debug info, in one call of addr2line. Where a line was inlined into another, the
// innermost that is not the emulator's own (a float4 is copied by cuda_runtime.h) is the one that its author knows.
void find_lines() {
    std::vector<Site*> unknown;
    std::vector<std::string> addresses;
    for (Site& site : sites) {
        if (!site.where.empty()) continue;
        char address[32];
        std::snprintf(address, sizeof address, "%#zx",
                      size_t(site.pc - 1));  // a return address is one past the call
        unknown.push_back(&site);
        addresses.push_back(address);
    }
    if (unknown.empty()) return;
    std::istringstream output(addr2line(addresses));
    auto site = unknown.begin() - 1;
    for (std::string line; std::getline(output, line);) {
        if (line[0] == '0') ++site;  // -a: the address comes before its lines
        else if ((*site)->where.empty() && line[0] != '?' &&
                 line.find("emulator/include/") == line.npos)
            (*site)->where =
                short_path(line.substr(0, line.find(" (discriminator", line.rfind('/'))));
    }
    for (Site* site : unknown)
        if (site->where.empty()) site->where = "an unknown line";
}

std::string describe(const Problem& p) {
    const std::string &first = sites[p.first - 1].where, &second = sites[p.second - 1].where;
    const std::string who = " (" + p.who + ")";
    if (p.fault == Fault::uninitialised)
        return "uninitialised shared memory: " + second +
               " reads what no thread of the block has written" + who;
    const size_t name = first.rfind('/') + 1;  // the same file is not named in full twice
    const bool same_file = name > 0 && second.compare(0, name, first, 0, name) == 0;
    return std::string("race in ") + (p.global ? "global" : "shared") + " memory: " + first +
           (p.fault == Fault::race_rw ? " reads" : " writes") + " what " +
           (same_file ? second.substr(name) : second) +
           (p.fault == Fault::race_wr ? " reads" : " writes") + who;
}

}  // namespace

void report_problem(const std::string& problem) { other_problems.push_back(problem); }

bool tracing() { return compiled_for_tracing; }

double host_bytes(double device_bytes) {
    return device_bytes * (tracing() ? 1 + double(sizeof(Cell)) / kCellBytes : 1);
}

void reset_counts() {
    totals = Counts();
    faults.clear();
    other_problems.clear();
    for (Site& site : sites) site.bytes = site.requests = site.cost = site.ideal = 0;
}

const Counts& counts() {
    static Counts result;
    result = totals;
    find_lines();

    std::map<std::string, size_t> line_numbers;
    for (const Site& site : sites) {
        if (site.requests == 0) continue;
        uint64_t none = 0;
        const auto add = [&](uint64_t& bytes, uint64_t& requests, uint64_t& cost, uint64_t& ideal) {
            bytes += site.bytes, requests += site.requests, cost += site.cost, ideal += site.ideal;
        };
        Counts& r = result;
        if (site.global && site.store)
            add(r.global_store_bytes, r.global_store_requests, r.global_store_sectors, none);
        else if (site.global)
            add(r.global_load_bytes, r.global_load_requests, r.global_load_sectors, none);
        else if (site.store)
            add(r.shared_store_bytes, r.shared_store_requests, r.shared_store_wavefronts,
                r.shared_store_ideal);
        else
            add(r.shared_load_bytes, r.shared_load_requests, r.shared_load_wavefronts,
                r.shared_load_ideal);

        const std::string key = site.where + "," + std::to_string(site.width) +
                                (site.global ? "g" : "s") + (site.store ? "s" : "l");
        const auto [place, is_new] = line_numbers.emplace(key, r.lines.size());
        if (is_new) r.lines.push_back({site.where, site.global, site.store, site.width, 0, 0, 0});
        Line& line = r.lines[place->second];
        add(none, line.requests, line.sectors_or_wavefronts, line.ideal);
    }

    std::vector<std::string> problems = other_problems, heads;
    for (
        const Problem& p :
        faults) {  // two instructions of one line, say an unrolled loop's, are one problem to a reader
        const std::string line = describe(p), head = line.substr(0, line.rfind(" ("));
        if (std::find(heads.begin(), heads.end(), head) != heads.end()) continue;
        heads.push_back(head);
        problems.push_back(line);
    }
    const size_t shown = std::min<size_t>(problems.size(), kMaxProblems);
    result.problems.assign(problems.begin(), problems.begin() + shown);
    if (problems.size() > shown)
        result.problems.push_back("... and " + std::to_string(problems.size() - shown) + " more");
    return result;
}

int shared_wavefronts(const uint64_t (&address)[32], uint32_t active, int width, bool store,
                      int* ideal) {
    constexpr int kBanks = 32, kBankBytes = 4;
    // 128 bytes are served at a time: a whole warp of 4 bytes a lane, half a warp of 8, a quarter of 16.
    int groups = width <= 4 ? 1 : width <= 8 ? 2 : 4;
    const auto pairs_agree = [&](int distance) {
        for (int lane = 0; lane < 32; ++lane) {
            const int other = lane ^ distance;
            if ((active >> lane & 1) && (active >> other & 1) && address[lane] != address[other])
                return false;
        }
        return true;
    };
    // Two neighbouring groups of a load go together when pairs of lanes want the same bytes.
    if (!store && groups > 1 && (pairs_agree(1) || pairs_agree(2))) groups /= 2;

    int wavefronts = 0, least = 0;
    for (int group = 0; group < groups; ++group) {
        uint64_t words[kBanks][32];  // the distinct words wanted of each bank
        int in_bank[kBanks] = {}, distinct = 0, most = 0;
        for (int lane = group * 32 / groups; lane < (group + 1) * 32 / groups; ++lane) {
            if (!(active >> lane & 1)) continue;
            for (uint64_t word = address[lane] / kBankBytes;
                 word <= (address[lane] + width - 1) / kBankBytes; ++word) {
                uint64_t* const bank = words[word % kBanks];
                int& count = in_bank[word % kBanks];
                if (std::find(bank, bank + count, word) != bank + count)
                    continue;  // one word serves all who want it
                bank[count++] = word;
                ++distinct;
                most = std::max(most, count);
            }
        }
        wavefronts += most;
        least += (distinct + kBanks - 1) / kBanks;
    }
    if (ideal) *ideal = least;
    return wavefronts;
}

// ---- Called by the scheduler ------------------------------------------------------------------------------------------------

namespace trace {

void begin_launch(size_t dynamic_shared_bytes) {
    if (!compiled_for_tracing) return;
    const uintptr_t begin = number(builtins.dynamic_shared);
    dynamic_shared_range = {begin, begin + dynamic_shared_bytes,
                            new_cells(begin, begin + dynamic_shared_bytes)};
    if (!static_shared.cells) static_shared.cells = new_cells(kDataBegin, kDataEnd);
    launch_start = interval + 1;
    blocks_by_start.clear();
}

void begin_block() {
    if (!compiled_for_tracing) return;
    block_start = ++interval;
    blocks_by_start[block_start] = builtins.block;
}

void end_interval() {
    if (!compiled_for_tracing) return;
    for (Site* site : touched_sites) {
        for (unsigned warp = 0; warp < 32; ++warp)
            finish_requests(*site, warp, site->pending[warp].size());
        std::fill(std::begin(site->times), std::end(site->times), 0);
        std::fill(std::begin(site->finished), std::end(site->finished), 0);
        site->touched = false;
    }
    touched_sites.clear();
    ++interval;
}

void end_launch() {
    if (!compiled_for_tracing) return;
    munmap(dynamic_shared_range.cells,
           cells_bytes(dynamic_shared_range.begin, dynamic_shared_range.end));
    dynamic_shared_range = {0, 0, nullptr};
}

void forget(Allocation& allocation) {
    if (allocation.cells) munmap(allocation.cells, cells_bytes(allocation.begin, allocation.end));
    recent_global = {0, 0, nullptr};
}

void resume() { in_kernel = compiled_for_tracing; }
void pause() { in_kernel = false; }

bool access(unsigned thread, const void* address, int bytes, bool store, const void* pc,
            bool counted, const void* copied_to) {
    return in_kernel && note_access(thread, address, bytes, store, pc, counted, copied_to);
}

}  // namespace trace

void trace_lane(int lane, const void* address, int bytes, bool store, const void* pc) {
    trace::access(current_thread / 32 * 32 + lane, address, bytes, store, pc);
}

bool traced_as_shared(const void* address) {
    bool global;
    return find_range(number(address), global) && !global;
}

}  // namespace emulator

// ---- What -fsanitize=thread calls -------------------------------------------------------------------------------------------

#define HERE __builtin_return_address(0)
// clang-format off
#define READ_WRITE(bytes, prefix, suffix)                                                                                        \
    void __tsan_##prefix##read##suffix(void* p) { if (emulator::in_kernel) emulator::access(p, bytes, false, HERE); }            \
    void __tsan_##prefix##write##suffix(void* p) { if (emulator::in_kernel) emulator::access(p, bytes, true, HERE); }

// Host code in a traced file uses atomics too (guards of static variables, std::shared_ptr). They are done, not traced.
#define ATOMIC_FETCH(bits, type, name)                                                                                           \
    type __tsan_atomic##bits##_fetch_##name(volatile type* p, type v, int) { return __atomic_fetch_##name(p, v, __ATOMIC_SEQ_CST); }
#define ATOMICS(bits, type)                                                                                                      \
    type __tsan_atomic##bits##_load(const volatile type* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }                \
    void __tsan_atomic##bits##_store(volatile type* p, type v, int) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }                \
    type __tsan_atomic##bits##_exchange(volatile type* p, type v, int) { return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); }   \
    ATOMIC_FETCH(bits, type, add) ATOMIC_FETCH(bits, type, sub) ATOMIC_FETCH(bits, type, and)                                    \
    ATOMIC_FETCH(bits, type, or) ATOMIC_FETCH(bits, type, xor) ATOMIC_FETCH(bits, type, nand)                                    \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* expected, type v, int, int) {                      \
        return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                           \
    }                                                                                                                            \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type* p, type* expected, type v, int, int) {                        \
        return __atomic_compare_exchange_n(p, expected, v, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                            \
    }                                                                                                                            \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type* p, type expected, type v, int, int) {                         \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                                 \
        return expected;                                                                                                         \
    }

extern "C" {

void __tsan_init() { emulator::compiled_for_tracing = true; }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

READ_WRITE(1, , 1) READ_WRITE(2, , 2) READ_WRITE(4, , 4) READ_WRITE(8, , 8) READ_WRITE(16, , 16)
READ_WRITE(2, unaligned_, 2) READ_WRITE(4, unaligned_, 4) READ_WRITE(8, unaligned_, 8) READ_WRITE(16, unaligned_, 16)

void __tsan_read_range(void* p, size_t bytes) { if (emulator::in_kernel) emulator::access_range(p, bytes, false, HERE); }
void __tsan_write_range(void* p, size_t bytes) { if (emulator::in_kernel) emulator::access_range(p, bytes, true, HERE); }

void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
    if (emulator::in_kernel) emulator::access_range(from, bytes, false, HERE), emulator::access_range(to, bytes, true, HERE);
    return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, size_t bytes) {
    if (emulator::in_kernel) emulator::access_range(from, bytes, false, HERE), emulator::access_range(to, bytes, true, HERE);
    return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, size_t bytes) {
    if (emulator::in_kernel) emulator::access_range(to, bytes, true, HERE);
    return std::memset(to, value, bytes);
}

ATOMICS(8, uint8_t) ATOMICS(16, uint16_t) ATOMICS(32, uint32_t) ATOMICS(64, uint64_t)
    // clang-format on
    void __tsan_atomic_thread_fence(int) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"
