// What is ordered between streams: vector clocks that count the operations of each stream. The
// emulator carries out all operations in the order of the calls, whatever stream they are in. A
// program may therefore come to the correct result though nothing makes a GPU wait, and that is
// reported.
//
// An operation comes after everything that its stream has waited for by events, and after
// everything that the host had waited for before it called the operation. The default stream waits
// for all other streams except those that are created as non-blocking, and these other streams wait
// for it. A launch with programmatic stream serialization does not come after the launch before it;
// its threads do, from their cudaGridDependencySynchronize() on. Source: CUDA programming guide,
// "Programmatic Dependent Launch and Synchronization".
//
// Likewise the host: what it accesses itself must not be what an operation for which it has not
// waited accesses, if one of the two writes. These are accesses to pinned and to managed memory.

#include "emulator/api/streams.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "emulator/engine/accesses.h"
#include "emulator/engine/clocks.h"
#include "emulator/engine/grid_dependency.h"
#include "emulator/engine/races.h"
#include "emulator/engine/removed_calls.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/sites.h"
#include "emulator/trace/tracing.h"

namespace emulator {
namespace {

using Known = std::map<cudaStream_t, uint64_t>;  // how many operations of each stream

// Names of operations, which are those of the calls.
constexpr const char *kAllocate = "cudaMallocAsync", *kFree = "cudaFreeAsync";

struct Operation {
    cudaStream_t stream;
    uint64_t number;  // in its stream, from 1 on
    std::string name;
    std::string place;  // of the call; "": looked up from `caller` when it is needed
    uintptr_t caller = 0;  // the return address of the call
    bool launch = false;
    uint64_t launches_before = 0;  // of a launch: in all streams
    // Of a copy, or of a library's function: what it reads or writes, of each `pitch` bytes the
    // first `width`.
    uintptr_t begin = 0, end = 0;
    size_t width = 0, pitch = 0;
    bool writes = false;
    // Of a launch: the clocks of its accesses are above the first, up to the last.
    uint32_t first_clock = 0, last_clock = 0;

    bool touches(uintptr_t from, uintptr_t to) const {
        if (from >= end || to <= begin) return false;
        const size_t offset = from > begin ? (from - begin) % pitch : 0;
        return offset < width || std::max(from, begin) + (pitch - offset) < std::min(to, end);
    }
    bool allocates() const { return name == kAllocate; }
    std::string call() const { return place.empty() ? std::to_string(caller) : place; }
    std::string at() const { return place.empty() ? place_of_call(caller) : " at " + place; }
    std::string where() const { return "the " + name + at(); }
};

constexpr size_t kMax = 1000;  // operations that are kept
// Never destroyed, because a program may still free memory when it ends.
std::vector<Operation>& earlier = *new std::vector<Operation>;  // the host has not waited for them
// Those of them that the current operation does not come after.
std::vector<const Operation*>& unordered = *new std::vector<const Operation*>;
// One of `unordered`: the launch before in the stream, if the present one may begin before it has
// ended. A thread comes after it once it has called cudaGridDependencySynchronize().
const Operation* prerequisite = nullptr;
using KnownByStream = std::map<cudaStream_t, Known>;
// What each stream's next operation comes after, with the stream's own last one.
KnownByStream& known = *new KnownByStream;
struct Recorded : Known {
    uint64_t launches = 0;  // so far
    std::string last_launch;
};
std::map<cudaEvent_t, Recorded>& events = *new std::map<cudaEvent_t, Recorded>;
Recorded& launched = *new Recorded;  // so far
uint64_t launch_count;  // of all; a constructor of the program's may ask before main()
Known& host = *new Known;
std::vector<cudaStream_t>& non_blocking = *new std::vector<cudaStream_t>;
cudaStream_t current = nullptr;
bool has_stream = false;  // whether the current call names its stream
std::string& current_place = *new std::string;  // of that call, or ""
Operation& now = *new Operation;
// The operations of `unordered` that were reported with the current one; and all pairs of calls
// that were reported.
std::vector<const Operation*>& reported_with_now = *new std::vector<const Operation*>;
std::set<std::string>& reported = *new std::set<std::string>;
uint64_t reported_since;  // the last reset_counts(); see report.h

void join(Known& to, const Known& from) {
    for (const auto& [stream, count] : from) to[stream] = std::max(to[stream], count);
}

using streams::is_blocking, streams::is_default;

// What is complete when the stream has carried out everything that was called so far.
Known all_of(cudaStream_t stream) {
    Known all = known[is_default(stream) ? nullptr : stream];
    if (is_default(stream)) {
        for (const auto& [other, operations] : known)
            if (is_blocking(other)) join(all, operations);
    } else if (is_blocking(stream)) {
        join(all, known[nullptr]);
    }
    return all;
}

void look_at_host();

void complete(const Known& operations) {  // the host has waited for them
    join(host, operations);
    const auto over = [](const Operation& o) { return o.number <= host[o.stream]; };
    earlier.erase(std::remove_if(earlier.begin(), earlier.end(), over), earlier.end());
    look_at_host();
}

void begin(const char* name) {
    const cudaStream_t stream = is_default(current) ? nullptr : current;
    Known& mine = known[stream];
    mine = all_of(stream);
    join(mine, host);
    unordered.clear();
    reported_with_now.clear();
    for (const Operation& o : earlier)
        if (mine[o.stream] < o.number) unordered.push_back(&o);
    now = {stream, ++mine[stream], name, ""};
}

void keep(const Operation& operation) {
    if (earlier.size() == kMax) earlier.erase(earlier.begin());
    earlier.push_back(operation);
    look_at_host();
}

const char* verb(trace::Kind kind) {
    return kind == trace::kRead ? " reads" : kind == trace::kWrite ? " writes" : " adds to";
}
// What the operation does to memory. To allocate and to free count as writes of the whole array.
const char* verb(const Operation& operation, trace::Kind kind) {
    return operation.allocates() ? " allocates" : operation.name == kFree ? " frees" : verb(kind);
}

// Whether the problem with these two calls is reported for the first time.
bool is_new(const std::string& calls) {
    if (std::exchange(reported_since, resets) != resets) reported.clear();
    return reported.insert(calls).second;
}

// site: the access of a launch's kernel; 0 where a copy does it.
std::string who(const Operation& operation, uint16_t site) {
    const std::string line = site ? find_lines({site_of(site).pc})[0] : "";
    return line.empty() ? operation.where() : line;
}

void report(const Operation& then, trace::Kind kind_then, uint16_t site_then, trace::Kind kind,
            uint16_t site) {
    if (std::count(reported_with_now.begin(), reported_with_now.end(), &then)) return;
    reported_with_now.push_back(&then);
    // What does not wait for an allocation is reported once, however often the memory is then used.
    if (!is_new(then.call() + (then.allocates() ? "" : " " + now.call()))) return;
    const bool programmatic = &then == prerequisite;
    report_problem(
        std::string("race between ") + (programmatic ? "launches: " : "streams: ") +
        who(now, site) + verb(now, kind) + " what " + who(then, site_then) + verb(then, kind_then) +
        " (" + now.where() +
        (programmatic
             ? ", with programmatic stream serialization, may begin before " + then.where() +
                   " has ended: cudaGridDependencySynchronize() is missing before the access)"
             : " and " + then.where() + " are in two streams, and nothing orders them: " +
                   (then.name.find("cublas") == 0 || now.name.find("cublas") == 0
                        ? "cublasSetStream(), "
                        : "") +
                   "cudaStreamWaitEvent() or a synchronisation is missing)"));
}

// Reports the earlier copies that conflict with the current access.
void check_copies(uintptr_t begin, uintptr_t end, trace::Kind kind, uint16_t site) {
    for (const Operation* const o : unordered)
        if (!o->launch && o->touches(begin, end) && (o->writes || kind != trace::kRead))
            report(*o, o->writes ? trace::kWrite : trace::kRead, 0, kind, site);
}

// Reports the earlier launch that made a conflicting access at that clock.
void check_launch(uint32_t clock, trace::Kind kind_then, uint16_t site_then, trace::Kind kind,
                  uint16_t site, unsigned thread) {
    for (const Operation* const o : unordered)
        if (o->launch && o->first_clock < clock && clock <= o->last_clock &&
            !(o == prerequisite && grid_dependency::has_waited(thread)))
            report(*o, kind_then, site_then, kind, site);
}

constexpr races::Earlier kEarlier = {check_copies, check_launch};

// ---- The host's own accesses --------------------------------------------------------------------

// "cudaStreamSynchronize(s)": what makes the host wait for the operation.
std::string wait_for(const Operation& operation) {
    if (!operation.stream) return "cudaDeviceSynchronize()";
    std::string stream;
    if (operation.launch) stream = launch_argument(operation.place, 3);
    else
        for (const auto& [call, number] :
             {std::pair("cudaMemcpyAsync", 4u), std::pair("cudaMemsetAsync", 3u)})
            if (stream.empty()) stream = call_argument(operation.place, call, number);
    return "cudaStreamSynchronize(" + stream + ")" + (stream.empty() ? " of its stream" : "");
}

// "h, which the copy at mine.cu:16" or "what mine.cu:4": what did the access then, for a sentence
// that goes on with a verb. site: as for who().
std::string which(const Operation& operation, uint16_t site) {
    if (site || operation.name.find("cudaMemcpy") != 0) return "what " + who(operation, site);
    const std::string name =
        call_argument(operation.place, "cudaMemcpyAsync", operation.writes ? 0 : 1);
    return (name.empty() ? "what" : name + ", which") + " the copy" + operation.at();
}

// The last operation that the host's access conflicts with, and its access.
struct Conflicting {
    const Operation* operation = nullptr;
    trace::Kind kind = trace::kRead;
    uint16_t site = 0;
} conflicting;

void keep_last(const Operation& operation, trace::Kind kind, uint16_t site) {
    if (!conflicting.operation || conflicting.operation <= &operation)
        conflicting = {&operation, kind, site};
}

// what: "mine.cu:31: the host reads". call: a name for the place.
void report_host(const std::string& what, const std::string& call, const std::string& why = "") {
    const auto& [then, kind_then, site] = conflicting;
    if (!is_new(then->call() + " " + call)) return;
    report_problem("missing wait: " + what + " " + which(*then, site) + " may still be " +
                   (kind_then == trace::kRead    ? "reading"
                    : kind_then == trace::kWrite ? "writing"
                                                 : "adding to") +
                   (then->launch ? ", in " + then->where() : "") + ": " + wait_for(*then) +
                   " is missing" + why);
}

// Finds the last of the operations for which the host has not waited that conflicts with its access.
// Returns whether there is one.
bool find_conflicting(const Allocation& memory, uintptr_t begin, uintptr_t end, trace::Kind kind) {
    conflicting = {};
    for (const Operation& o : earlier)
        if (!o.launch && !o.allocates() && o.touches(begin, end) &&
            (o.writes || kind != trace::kRead))
            keep_last(o, o.writes ? trace::kWrite : trace::kRead, 0);
    constexpr races::Earlier kOfHost = {
        nullptr,
        [](uint32_t clock, trace::Kind kind, uint16_t site, trace::Kind, uint16_t, unsigned) {
            for (const Operation& o : earlier)
                if (o.launch && o.first_clock < clock && clock <= o.last_clock)
                    keep_last(o, kind, site);
        }};
    races::check_launches(kOfHost, memory, begin, end, kind);
    return conflicting.operation;
}

// polls: the host sees what the operation has done, so it waits for the operation.
void check_host(const void* address, size_t bytes, trace::Kind kind, bool polls, const void* pc) {
    if (has_stream) return;  // a function that the stream calls (cudaLaunchHostFunc)
    const auto begin = reinterpret_cast<uintptr_t>(address), end = begin + bytes;
    const Allocation* const memory = find_allocation(begin);
    if (!memory || memory->kind == Memory::device) return;
    if (!find_conflicting(*memory, begin, end, kind)) return;
    if (!polls) {
        const auto caller = reinterpret_cast<uintptr_t>(pc);
        const std::string place = find_lines({caller})[0];
        report_host((place.empty() ? "" : place + ": ") + "the host" + verb(kind),
                    place.empty() ? std::to_string(caller) : place);
    }
    // Now it has waited, or would have: one missing wait is reported once.
    complete(all_of(conflicting.operation->stream));
}

// Whether it is worthwhile to look at the host's accesses.
void look_at_host() {
    const auto host_can_access = [](const Allocation& a) { return a.kind != Memory::device; };
    const bool any = compiled_for_tracing && !earlier.empty() &&
                     std::any_of(allocations.begin(), allocations.end(), host_can_access);
    accesses::of_host = any ? check_host : nullptr;
    if (any) removed_calls::restore();
}

}  // namespace

InStream::InStream(cudaStream_t stream, const char* file, int line, bool async)
    : before(current), within(has_stream) {
    current = stream;
    has_stream = async;
    current_place = file ? short_place(file, line) : "";
}
InStream::~InStream() {
    current = before;
    has_stream = within;
    current_place = "";
}

namespace streams {

bool is_default(cudaStream_t stream) { return !stream || stream == cudaStreamLegacy; }
bool is_blocking(cudaStream_t stream) {
    return std::find(non_blocking.begin(), non_blocking.end(), stream) == non_blocking.end();
}
bool in_default_stream() { return is_default(current); }
bool in_a_stream() { return has_stream; }
std::string place_in_stream() { return current_place; }

// The next operation of the current stream, which accesses these regions.
static void operate(const char* name, const void* caller, const std::vector<Region>& regions) {
    begin(name);
    now.caller = reinterpret_cast<uintptr_t>(caller);
    now.place = current_place;
    std::vector<Operation> parts;
    for (const Region& region : regions) {
        const auto begin = reinterpret_cast<uintptr_t>(region.begin);
        const Allocation* const memory = find_allocation(begin);
        if (!memory || !region.bytes()) continue;  // the host's own memory
        Operation part = now;
        part.begin = begin;
        part.end = begin + region.bytes();
        part.width = region.width;
        part.pitch = region.pitch;
        part.writes = region.writes;
        parts.push_back(part);
        const trace::Kind kind = part.writes ? trace::kWrite : trace::kRead;
        for (size_t row = 0; row < region.rows && !unordered.empty(); ++row) {
            const uintptr_t at = begin + row * region.pitch;
            check_copies(at, at + region.width, kind, 0);
            races::check_launches(kEarlier, *memory, at, at + region.width, kind);
        }
    }
    for (const Operation& part : parts) keep(part);
}

void copy(const char* name, const void* caller, const void* to, const void* from, size_t bytes,
          bool host_waits) {
    operate(name, caller, {{"", from, bytes, bytes, 1, false}, {"", to, bytes, bytes, 1, true}});
    if (host_waits) complete(all_of(now.stream));
}
static void whole_array(const char* name, const void* caller, const Allocation& memory) {
    const size_t bytes = memory.end - memory.begin;
    operate(name, caller, {{"", reinterpret_cast<void*>(memory.begin), bytes, bytes, 1, true}});
}
// Another array may get its addresses.
static void forget(const Allocation& memory) {
    const auto of_memory = [&](const Operation& o) {
        return !o.launch && memory.begin <= o.begin && o.end <= memory.end;
    };
    earlier.erase(std::remove_if(earlier.begin(), earlier.end(), of_memory), earlier.end());
}
void allocate(const void* caller, const Allocation& memory) {
    whole_array(kAllocate, caller, memory);
}
void free(const void* caller, const Allocation& memory) {
    whole_array(kFree, caller, memory);
    forget(memory);
}
void host_frees(const void* caller, const Allocation& memory) {
    if (find_conflicting(memory, memory.begin, memory.end, trace::kWrite)) {
        const std::string place = place_of_call(reinterpret_cast<uintptr_t>(caller));
        report_host("cudaFree()" + place + " frees", "cudaFree" + place,
                    " (cudaFree() does not wait where cudaMallocAsync() has allocated)");
        complete(all_of(conflicting.operation->stream));
    }
    forget(memory);
}
void call_library(const char* name, const std::vector<Region>& regions) {
    operate(name, nullptr, regions);
}

void begin_launch(const Launch& launch) {
    begin("launch");
    now.place = short_place(launch.file, launch.line);
    now.launch = true;
    now.launches_before = launch_count++;
    ++launched.launches;
    launched.last_launch = now.place;
    const auto is_before = [](const Operation& o) {
        return o.launch && o.stream == now.stream && o.number + 1 == now.number;
    };
    const auto before = std::find_if(earlier.begin(), earlier.end(), is_before);
    prerequisite = launch.attributes.programmatic && before != earlier.end() ? &*before : nullptr;
    if (prerequisite) unordered.push_back(prerequisite);
    now.first_clock = clocks::state.last;
    accesses::of_host = nullptr;
    races::earlier = tracing() && !unordered.empty() ? &kEarlier : nullptr;
}

void end_launch() {
    races::earlier = nullptr;
    unordered.clear();
    prerequisite = nullptr;
    now.last_clock = clocks::state.last;
    keep(now);
}

void record(cudaEvent_t event, cudaStream_t stream) {
    Recorded& recorded = events[event] = launched;
    static_cast<Known&>(recorded) = all_of(stream);
}
std::string launch_beside(cudaEvent_t begin, cudaEvent_t end) {
    const Recorded &before = events[begin], &after = events[end];
    const bool none = static_cast<const Known&>(before) == static_cast<const Known&>(after);
    return none && before.launches < after.launches ? after.last_launch : "";
}
void wait(cudaStream_t stream, cudaEvent_t event) {
    join(known[is_default(stream) ? nullptr : stream], events[event]);
}
void host_waits_for(cudaStream_t stream) { complete(all_of(stream)); }
void host_waits_for(cudaEvent_t event) { complete(events[event]); }
bool host_has_waited_for(cudaEvent_t event) {
    const Known& before = events[event];
    return std::all_of(before.begin(), before.end(),
                       [](const auto& each) { return each.second <= host[each.first]; });
}
void host_waits_for_all() {
    for (const auto& [stream, operations] : known) join(host, operations);
    earlier.clear();
    look_at_host();
}

uint64_t launches() { return launch_count; }
std::string launch_under_way(uint64_t before) {
    if (launch_count <= before) return "";
    for (auto o = earlier.rbegin(); o != earlier.rend(); ++o)
        if (o->launch) return o->launches_before >= before ? o->place : "";
    return "";
}

void forget(cudaEvent_t event) { events.erase(event); }
void forget() {
    earlier.clear();
    known.clear();
    events.clear();
    host.clear();
    non_blocking.clear();
    look_at_host();
}

}  // namespace streams
}  // namespace emulator

using namespace emulator;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    static uintptr_t created = 16;
    *stream = reinterpret_cast<cudaStream_t>(++created);
    if (flags & cudaStreamNonBlocking) non_blocking.push_back(*stream);
    return cudaSuccess;
}
