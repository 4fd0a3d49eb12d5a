// Which element of a matrix each lane's x[i] holds: the known layouts of 16x16x16, and what can be
// read off any dump.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "common/errors.h"

struct Element {
    int row, col;
    bool operator==(const Element& other) const { return row == other.row && col == other.col; }
    bool operator<(const Element& other) const {
        return row != other.row ? row < other.row : col < other.col;
    }
};
using Dump = std::vector<Element>;  // what x[i] of a lane holds is at [lane * (size / 32) + i]

// A fragment: of A (m x k), of B (k x n) or an accumulator (m x n).
struct FragmentKind {
    std::string use = "matrix_a", type = "half", layout = "col", shape = "16x16x16";

    int extent(int which) const {  // of the shape: 0 is m, 1 is n, 2 is k
        int mnk[3];
        std::sscanf(shape.c_str(), "%dx%dx%d", &mnk[0], &mnk[1], &mnk[2]);
        return mnk[which];
    }
    int rows() const { return extent(use == "matrix_b" ? 2 : 0); }
    int cols() const { return extent(use == "matrix_a" ? 2 : 1); }
    std::string name() const { return use + " " + type + " " + layout + "_major " + shape; }
};

// NVIDIA leaves the layouts of WMMA unspecified; these are the known ones.
struct KnownLayout {
    const char *chips, *use, *types, *orders, *lane_bits, *i_bits;
};
inline const KnownLayout kKnownLayouts[] = {
#include "07_fragment_probe/layouts.inc"
};

// In all known layouts each bit of the lane's number and of i adds one power of two, or nothing, to
// the row or the column. Bits 0 to 4 are the lane's. whole: whether this explains the whole dump.
struct BitLayout {
    std::vector<Element> adds;
    bool whole;
};
inline BitLayout bits_of(const Dump& dump) {
    const int elements = int(dump.size()) / 32;
    BitLayout bits{{}, true};
    for (int lane = 1; lane < 32; lane *= 2) bits.adds.push_back(dump[lane * elements]);
    for (int i = 1; i < elements; i *= 2) bits.adds.push_back(dump[i]);
    for (size_t at = 0; at < dump.size(); ++at) {
        Element sum = {0, 0};
        const int number = int(at) / elements + int(at) % elements * 32;
        for (size_t bit = 0; bit < bits.adds.size(); ++bit)
            if (number >> bit & 1)
                sum = {sum.row + bits.adds[bit].row, sum.col + bits.adds[bit].col};
        bits.whole = bits.whole && sum == dump[at];
    }
    return bits;
}

// The chips that lay `kind` out like this, or "unknown layout". Known are those of 16x16x16.
inline std::string recognise(const FragmentKind& kind, const Dump& dump) {
    const BitLayout bits = bits_of(dump);
    std::string rule;
    for (const Element& adds : bits.adds) {
        if (adds.row) rule += format("r%d", adds.row);
        if (adds.col) rule += format("c%d", adds.col);
        rule += adds == Element{0, 0} ? "- " : " ";
    }
    for (const KnownLayout& known : kKnownLayouts)
        if (bits.whole && kind.shape == "16x16x16" && known.use == kind.use &&
            std::strstr(known.types, kind.type.c_str()) &&
            std::strstr(known.orders, kind.layout.c_str()) &&
            rule == format("%s %s ", known.lane_bits, known.i_bits))
            return known.chips;
    return "unknown layout";
}

// "lane/4 + i/2%2*8": the row (or the column) as a formula; "" if the bits don't explain it.
inline std::string formula(const Dump& dump, int Element::*which) {
    const BitLayout bits = bits_of(dump);
    if (!bits.whole) return "";
    std::string text;
    const int count = int(bits.adds.size());
    for (int bit = 0; bit < count;) {
        const int adds = bits.adds[bit].*which, first = bit < 5 ? 0 : 5, end = bit < 5 ? 5 : count,
                  from = bit++;
        if (adds == 0) continue;
        while (bit < end && bits.adds[bit].*which == adds << (bit - from))
            ++bit;  // consecutive bits that add consecutive powers of two
        text += std::string(text.empty() ? "" : " + ") + (first ? "i" : "lane");
        if (from > first) text += "/" + std::to_string(1 << (from - first));
        if (bit < end) text += "%" + std::to_string(1 << (bit - from));
        if (adds > 1) text += "*" + std::to_string(adds);
    }
    return text.empty() ? "0" : text;
}

// Who holds each element, as {lane, i}.
using Holders = std::map<Element, std::vector<Element>>;
inline Holders holders_of(const Dump& dump) {
    Holders holders;
    const int elements = int(dump.size()) / 32;
    for (int at = 0; at < int(dump.size()); ++at)
        holders[dump[at]].push_back({at / elements, at % elements});
    return holders;
}

// "each element is held 2 times: by lanes l, l^8". Throws Failure(kWrongResult) for elements that
// no lane holds.
inline std::string describe_copies(const FragmentKind& kind, const Dump& dump) {
    const Holders holders = holders_of(dump);
    const size_t all = size_t(kind.rows()) * kind.cols();
    if (holders.size() != all)
        throw Failure(kWrongResult, kind.name() + format(": no lane holds %zu of the %zu elements",
                                                         all - holders.size(), all));
    size_t fewest = dump.size(), most = 0;
    for (const auto& [element, list] : holders) {
        fewest = std::min(fewest, list.size());
        most = std::max(most, list.size());
    }
    if (most == 1) return "each element is held once";
    if (fewest != most) return format("elements are held %zu to %zu times", fewest, most);
    // Places whose numbers differ only in bits that add nothing hold the same element.
    std::string lanes, places;
    const BitLayout bits = bits_of(dump);
    for (int number = 1; bits.whole && number < 1 << bits.adds.size(); ++number) {
        bool same = true;
        for (size_t bit = 0; bit < bits.adds.size(); ++bit)
            if (number >> bit & 1) same = same && bits.adds[bit] == Element{0, 0};
        if (same && number < 32) lanes += format(", l^%d", number);
        if (same && number % 32 == 0) places += format(", x[i^%d]", number / 32);
    }
    const std::string where = (lanes.empty() ? "" : ": by lanes l" + lanes) +
                              (places.empty() ? "" : ": in x[i]" + places);
    return format("each element is held %zu times", most) + where;
}
