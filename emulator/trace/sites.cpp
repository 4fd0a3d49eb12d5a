// The load and store instructions of the program.

#include "emulator/trace/sites.h"

#include <cstdio>
#include <cstdlib>

#include "emulator/trace/lines.h"

extern "C" char __executable_start, etext;  // by the linker: the program's code

namespace emulator {
namespace {

std::deque<Site> sites;  // a deque, because references to a Site must stay valid
// For each address of the program's code: the number of the first Site of that instruction, or 0.
// An instruction has up to four.
std::vector<uint16_t> numbers;

}  // namespace

Site& find_site(uintptr_t pc, bool global, bool store) {
    const auto code = reinterpret_cast<uintptr_t>(&__executable_start);
    if (numbers.empty()) numbers.resize(reinterpret_cast<uintptr_t>(&etext) - code);
    uint16_t& first = numbers[pc - code];
    if (first == 0) {
        if (sites.size() + 4 > UINT16_MAX) {
            std::fputs("emulator: too many loads and stores in one program\n", stderr);
            std::abort();
        }
        first = uint16_t(sites.size() + 1);
        for (int kind = 0; kind < 4; ++kind) {
            sites.emplace_back();
            sites.back().number = uint16_t(sites.size());
            sites.back().pc = pc;
            sites.back().global = kind & 2;
            sites.back().store = kind & 1;
        }
    }
    return sites[first - 1 + global * 2 + store];
}

std::deque<Site>& all_sites() { return sites; }
Site& site_of(uint16_t number) { return sites[number - 1]; }

// One call of addr2line finds the lines of all instructions.
void find_lines_of_sites() {
    std::vector<Site*> unknown;
    std::vector<uintptr_t> addresses;
    for (Site& site : all_sites()) {
        if (!site.where.empty()) continue;
        unknown.push_back(&site);
        addresses.push_back(site.pc);
    }
    const std::vector<std::vector<std::string>> lines = find_inlined_lines(addresses);
    for (size_t i = 0; i < lines.size(); ++i) {
        unknown[i]->where = lines[i].empty() ? "an unknown line" : lines[i][0];
        if (lines[i].size() > 1)
            unknown[i]->inlined_at.assign(lines[i].begin() + 1, lines[i].end());
    }
}

}  // namespace emulator
