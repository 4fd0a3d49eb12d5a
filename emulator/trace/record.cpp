// Records the requests of each warp, for a page that steps through them (tools/view).
//
// The first and the last block of a launch are recorded. A warp's requests are in program order:
// the first lane to make one inserts it after its own last request, and the other lanes join it.

#include "emulator/trace/record.h"

#include <algorithm>
#include <list>
#include <map>
#include <tuple>
#include <utility>

#include "emulator/trace/hazards.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/shared_names.h"

namespace emulator {

bool record::on;
const char* record::collective;

namespace {

struct Event {
    uint16_t site = 0;  // of a load or store, or 0 and, below,
    const char* call = "";  // another event (barrier, wait, ...), at `where`
    std::string where;
    uint32_t active = 0, copies = 0;  // lanes
    int width = 0;  // bytes per lane
    uint64_t address[32] = {}, to[32] = {};  // to: a copy's destination in shared memory
    int cost = 0, ideal = 0;  // sectors or wavefronts
    int number = 0;  // in its warp
    size_t notes = 0;  // how many notes there were when its last lane arrived
};
using Position = std::list<Event>::iterator;

// One instruction, as a warp has executed it since the last barrier.
struct Executed {
    std::vector<Position> events;
    uint32_t times[32] = {};  // by each lane
};
// Key of an instruction: a site's address and kind, or a call's file and line.
using Instruction = std::tuple<uintptr_t, int, int>;

struct Warp {
    std::list<Event> events = std::list<Event>(1);  // the first is a sentinel
    Position last[32];  // of each lane
    std::map<Instruction, Executed> executed;
    Warp() { std::fill(std::begin(last), std::end(last), events.begin()); }
};

struct Found {  // a race, or an uninitialised read
    Hazard hazard;
    const Event *first, *second;
};

struct Block {
    std::string name;
    std::vector<Warp> warps;
    std::vector<Found> found;
    std::vector<std::string> notes;
};

std::function<void(const std::string&)> receiver;  // empty: nothing is recorded
std::string wanted_kernel;  // empty: any
bool passed_on;  // a launch of another kernel
std::vector<RecordedMatrix> matrices;
std::list<Block> blocks;

Warp& warp_of(unsigned thread) { return blocks.back().warps[thread / 32]; }

// The event of the thread's index-th execution of the instruction since the last barrier.
Event& event_of(unsigned thread, const Instruction& instruction, uint32_t index) {
    Warp& warp = warp_of(thread);
    Position& last = warp.last[thread % 32];
    std::vector<Position>& events = warp.executed[instruction].events;
    if (index >= events.size()) {
        index = uint32_t(events.size());
        events.push_back(warp.events.emplace(std::next(last)));
    }
    last = events[index];
    last->active |= 1u << thread % 32;
    last->notes = blocks.back().notes.size();
    return *last;
}

Instruction instruction_of(const Site& site) { return {site.pc, site.global, site.store}; }

// The last access of the first thread, by that instruction, to bytes of the second access.
const Event* first_of(const Hazard& hazard, uintptr_t address, int width) {
    if (!hazard.same_block) return nullptr;
    const std::list<Event>& events = warp_of(hazard.first_thread).events;
    const unsigned lane = hazard.first_thread % 32;
    for (auto e = events.rbegin(); e != events.rend(); ++e)
        if (e->site && site_of(e->site).pc == site_of(hazard.first).pc)
            for (const uint64_t its : {e->address[lane], e->to[lane]})
                if (address < its + e->width && its < address + width) return &*e;
    return nullptr;
}

// event,WARP,KIND,WHERE,WIDTH,COST,IDEAL,NOTES and for each lane its address; a copy's is FROM>TO.
std::string text_of(size_t warp, const Event& e) {
    const Site* const site = e.site ? &site_of(e.site) : nullptr;
    const std::string space = site && site->global ? "global " : "shared ";
    std::string text = "event," + std::to_string(warp) + ",";
    text += !site ? e.call : e.copies ? "copy" : space + (site->store ? "store" : "load");
    text += "," + (site ? site->where : e.where);
    for (const int number : {e.width, e.cost, e.ideal, int(e.notes)})
        text += "," + std::to_string(number);
    for (int lane = 0; lane < 32; ++lane) {
        text += ",";
        if (site && e.active >> lane & 1) text += std::to_string(e.address[lane]);
        if (e.copies >> lane & 1) text += ">" + std::to_string(e.to[lane]);
    }
    return text + "\n";
}

// conflict,WARP,EVENT,LANE,WARP,EVENT,LANE,TEXT of the two accesses; the first may be unknown.
std::string text_of(const Found& found) {
    const auto side = [](const Event* e, unsigned thread) {
        if (!e) return std::string(",,,");
        return std::to_string(thread / 32) + "," + std::to_string(e->number) + "," +
               std::to_string(thread % 32) + ",";
    };
    return "conflict," + side(found.first, found.hazard.first_thread) +
           side(found.second, found.hazard.second_thread) + describe(found.hazard) + "\n";
}

// array,NAME,BEGIN,BYTES,ELEMENT,LENGTH,...; nothing if that memory has been given another name
// since.
std::string text_of(const SharedArray& array) {
    if (shared_names::renamed(array)) return "";
    const Extents& extents = array.extents;
    std::string lengths;
    size_t row = extents.element;
    for (size_t i = 0; i < extents.dimensions; ++i) {
        row *= extents.lengths[i];
        lengths += "," + std::to_string(extents.lengths[i]);
    }
    const size_t bytes = shared_names::end_of(array) - array.begin;
    if (array.pointer) lengths = "," + std::to_string((bytes + row - 1) / row) + lengths;
    const std::string rank = array.rank ? "rank " + std::to_string(array.rank) + " " : "";
    return "array," + rank + array.full_name() + "," + std::to_string(array.begin) + "," +
           std::to_string(bytes) + "," + std::to_string(extents.element) + lengths + "\n";
}

std::string text_of_launch(const std::string& kernel) {
    find_lines_of_sites();
    std::string text = "kernel," + kernel + "\n";
    for (std::string problem : problems_uncounted()) {
        std::replace(problem.begin(), problem.end(), '\n', ';');
        text += "problem," + problem + "\n";
    }
    const auto range = [&](const char* kind, const std::string& name, const void* begin) {
        text += kind + name + "," + std::to_string(reinterpret_cast<uintptr_t>(begin));
    };
    for (const RecordedMatrix& m : matrices) {
        range("matrix,", m.name, m.data);
        for (const int number : {m.rows, m.cols, m.bytes}) text += "," + std::to_string(number);
        text += "\n";
    }
    for (const SharedArray& array : shared_names::all()) text += text_of(array);
    for (Block& block : blocks) {
        text += "block," + block.name + "\n";
        for (const std::string& note : block.notes) text += "note," + note + "\n";
        for (Warp& warp : block.warps) {
            int number = -1;  // skips the sentinel
            for (Event& e : warp.events) e.number = number++;
            for (const Event& e : warp.events)
                if (e.number >= 0) text += text_of(size_t(&warp - &block.warps[0]), e);
        }
        for (const Found& found : block.found) text += text_of(found);
    }
    return text;
}

}  // namespace

void record_next_launch(const std::vector<RecordedMatrix>& recorded,
                        std::function<void(const std::string&)> to, const std::string& kernel) {
    matrices = recorded;
    receiver = std::move(to);
    wanted_kernel = kernel;
    passed_on = false;
}

namespace record {

void begin_launch() {  // again if the launch restarts with clusters
    blocks.clear();
}

bool wanted() { return bool(receiver); }

void begin_block(const std::string& name, unsigned threads) {
    on = true;
    blocks.push_back({name, std::vector<Warp>((threads + 31) / 32), {}, {}});
}

// Atomics are not counted, nor is the store of a copy, which is passed twice: at the call and at
// the wait.
void access(unsigned thread, const Site& site, uintptr_t address, int width, bool counted) {
    const unsigned lane = thread % 32;
    collective = nullptr;
    if (counted) {
        Event& e = event_of(thread, instruction_of(site), site.times[thread] - 1);
        e.site = site.number;
        e.width = width;
        e.address[lane] = address;
    }
    Event& e = *warp_of(thread).last[lane];
    if (!counted && e.site && site_of(e.site).pc == site.pc && !(e.copies >> lane & 1)) {
        e.copies |= 1u << lane;
        e.to[lane] = address;
    }
    for (Found& found : blocks.back().found)
        if (!found.second) {
            found.first = first_of(found.hazard, address, width);
            found.second = &e;
        }
}

void cost(const Site& site, unsigned warp, size_t index, int cost, int ideal) {
    Event& e = *blocks.back().warps[warp].executed[instruction_of(site)].events[index];
    e.cost = cost;
    e.ideal = ideal;
}

void call(unsigned thread, const char* name, const char* file, int line) {
    const Instruction instruction{reinterpret_cast<uintptr_t>(file), line, -1};
    uint32_t& times = warp_of(thread).executed[instruction].times[thread % 32];
    Event& e = event_of(thread, instruction, times++);
    e.call = name;
    e.where = short_place(file, line);
}

size_t note(const std::string& text) {
    std::vector<std::string>& notes = blocks.back().notes;
    if (notes.empty() || notes.back() != text) notes.push_back(text);  // lanes say the same
    return notes.size() - 1;
}

size_t note_of(unsigned thread, const std::string& text) {
    const size_t number = note(text);
    warp_of(thread).last[thread % 32]->notes = number + 1;
    return number;
}

std::string number(const void* address) {
    return "," + std::to_string(reinterpret_cast<uintptr_t>(address));
}

void hazard(const Hazard& hazard) { blocks.back().found.push_back({hazard, nullptr, nullptr}); }

void end_interval() {
    for (Warp& warp : blocks.back().warps) warp.executed.clear();
}

void end_launch(const std::string& kernel) {
    const bool last = wanted_kernel.empty() || kernel.substr(0, kernel.find('<')) == wanted_kernel;
    if (last || !passed_on) receiver(text_of_launch(kernel));
    passed_on = true;
    if (last) receiver = nullptr;
}

}  // namespace record

}  // namespace emulator
