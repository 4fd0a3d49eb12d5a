// What a source line's accesses cost: in words, and as a CSV.

#include <cstdio>

#include "emulator/emulator.h"

namespace emulator {
namespace {

std::string per_request(const Line& line, uint64_t cost) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", double(cost) / double(line.requests));
    return text;
}

std::string quoted(const std::string& text) {
    std::string field = "\"";
    for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
    return field + '"';
}

}  // namespace

std::string Line::cost() const {
    return where + ": a warp's " + (store ? "store" : "load") + " takes " +
           per_request(*this, sectors_or_wavefronts) +
           (global ? " sectors of global memory" : " wavefronts of shared memory");
}

std::string Line::remedy() const {
    return "where " + per_request(*this, ideal) + " would do: " +
           (global ? "neighbouring threads should access neighbouring elements"
                   : "bank conflicts, which rows longer by one element may avoid");
}

std::string lines_csv() {
    std::string text = "line,memory,kind,bytes,requests,cost,at_best,said,remedy\n";
    for (const Line& line : lines()) {
        text += quoted(line.where) + (line.global ? ",global," : ",shared,") +
                (line.store ? "store" : "load");
        for (const uint64_t number :
             {uint64_t(line.width), line.requests, line.sectors_or_wavefronts, line.ideal})
            text += "," + std::to_string(number);
        text += "," + quoted(line.cost()) + "," + quoted(line.remedy()) + "\n";
    }
    return text;
}

}  // namespace emulator
