// Reads the CSVs that the programs here write: a header and rows, no quotes.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "common/command_line.h"

using CsvRow = std::map<std::string, std::string>;  // a cell by its column's name

// The rows of the CSV at `path`, which must have these columns. `option` is named in messages.
// Throws Failure(kBadCommandLine) with one line that says what is wrong with it.
inline std::vector<CsvRow> read_csv(const std::string& option, const std::string& path, const std::vector<std::string>& columns) {
    const auto fail = [&](const std::string& why) { return Failure(kBadCommandLine, option + " '" + path + "': " + why); };
    errno = 0;
    std::ifstream file(path);
    std::stringstream content;
    if (!file || !(content << file.rdbuf())) throw fail(errno ? std::string("can't be read: ") + std::strerror(errno) : "is empty");
    const std::string text = content.str();
    if (text.back() != '\n') throw fail("ends in the middle of a line");

    const auto split = [](const std::string& line) {
        std::vector<std::string> cells(1);
        for (const char c : line) {
            if (c == ',') cells.emplace_back();
            else cells.back() += c;
        }
        return cells;
    };
    std::string line;
    std::getline(content, line);
    const std::vector<std::string> header = split(line);
    for (const std::string& column : columns)
        if (std::find(header.begin(), header.end(), column) == header.end())
            throw fail("has no column '" + column + "': another program or another version wrote it");
    std::vector<CsvRow> rows;
    while (std::getline(content, line)) {
        const std::vector<std::string> cells = split(line);
        if (cells.size() != header.size())
            throw fail("line " + std::to_string(rows.size() + 2) + " has " + std::to_string(cells.size()) + " fields, the header " +
                       std::to_string(header.size()));
        rows.emplace_back();
        for (size_t i = 0; i < cells.size(); ++i) rows.back()[header[i]] = cells[i];
    }
    if (rows.empty()) throw fail("has no rows");
    return rows;
}

// The number above 0 in `column` of a row that read_csv() gave, for the same `option` and `path`. Throws Failure(kBadCommandLine).
inline double positive(const std::string& option, const std::string& path, const CsvRow& row, const std::string& column) {
    const std::string& text = row.at(column);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value > 0) || std::isinf(value))  // the comparison is false for NaN
        throw Failure(kBadCommandLine, option + " '" + path + "': " + column + " is '" + text + "', expected a number above 0");
    return value;
}
