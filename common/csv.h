// Reads the CSVs that the programs here write: a header and rows (RFC 4180).
#pragma once

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "common/command_line.h"

using CsvRow = std::map<std::string, std::string>;  // a cell by its column's name

// The rows of the CSV at `path`, which must have these columns. Control characters come as ?. `option` is named in messages.
// Throws Failure(kBadCommandLine) with one line that says what is wrong with it.
inline std::vector<CsvRow> read_csv(const std::string& option, const std::string& path,
                                    const std::vector<std::string>& columns) {
    constexpr size_t kMostBytes = 16 << 20, kMostInField = 1000;  // /dev/zero has no end
    const auto fail = [&](const std::string& why) {
        return Failure(kBadCommandLine, option + " '" + path + "': " + why);
    };
    FILE* file = std::fopen(path.c_str(), "r");
    if (!file) throw fail(std::string("can't be read: ") + std::strerror(errno));
    std::string text;
    char chunk[1 << 16];
    for (size_t got;
         text.size() <= kMostBytes && (got = std::fread(chunk, 1, sizeof chunk, file)) > 0;)
        text.append(chunk, got);
    const int why = std::ferror(file) ? errno : 0;
    std::fclose(file);
    if (why) throw fail(std::string("can't be read: ") + std::strerror(why));
    if (text.empty()) throw fail("is empty");
    if (text.size() > kMostBytes)
        throw fail("has more than 16 MiB, which no CSV of these programs has");

    std::vector<std::string> header, cells(1);
    std::vector<CsvRow> rows;
    size_t line = 1, row_line = 1;  // a quoted field may hold several lines
    bool quoted = false;
    const auto end_row = [&] {
        if (header.empty()) {
            header = cells;
            for (const std::string& column : columns)
                if (std::find(header.begin(), header.end(), column) == header.end())
                    throw fail("has no column '" + column +
                               "': another program or another version wrote it");
        } else {
            if (cells.size() != header.size())
                throw fail("line " + std::to_string(row_line) + " has " +
                           std::to_string(cells.size()) + " fields, the header " +
                           std::to_string(header.size()));
            rows.emplace_back();
            for (size_t i = 0; i < cells.size(); ++i) rows.back()[header[i]] = printable(cells[i]);
        }
        cells.assign(1, "");
        row_line = line;
    };
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        line += c == '\n';
        if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"')
            cells.back() += text[++i];
        else if (c == '"') quoted = !quoted;
        else if (c == ',' && !quoted) cells.emplace_back();
        else if (c == '\n' && !quoted) end_row();
        else if (c != '\r' || quoted) cells.back() += c;
        if (cells.back().size() > kMostInField)
            throw fail("line " + std::to_string(line) + " has a field of more than " +
                       std::to_string(kMostInField) + " characters");
    }
    if (text.back() != '\n' || quoted) throw fail("ends in the middle of a line");
    if (rows.empty()) throw fail("has no rows");
    return rows;
}

// The number above 0 in `column` of a row that read_csv() gave, for the same `option` and `path`. Throws Failure(kBadCommandLine).
inline double positive(const std::string& option, const std::string& path, const CsvRow& row,
                       const std::string& column) {
    const std::string& text = row.at(column);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value > 0) ||
        std::isinf(value))  // the comparison is false for NaN
        throw Failure(kBadCommandLine, option + " '" + path + "': " + column + " is '" + text +
                                           "', expected a number above 0");
    return value;
}
