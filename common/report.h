// The rows that a program prints, and the same rows as CSV.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

#include "common/command_line.h"
#include "common/whole_file.h"

// printf into a string.
__attribute__((format(printf, 1, 2))) inline std::string format(const char* pattern, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, pattern);
    std::vsnprintf(text, sizeof text, pattern, arguments);
    va_end(arguments);
    return text;
}

// `text` as a field of a CSV: in quotes where it needs them (RFC 4180).
inline std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
}

struct Cell {
    std::string title;  // above the column on the terminal; "": in the CSV only
    std::string column;  // its name in the CSV
    std::string value;
};
using Row = std::vector<Cell>;

// Prints each row as it comes, and keeps it for a CSV, which save() writes.
class Report {
public:
    // Throws Failure(kBadCommandLine) when `csv` can't be written. "": no CSV.
    explicit Report(const std::string& csv) : file_("--csv", csv) {}

    void add(const Row& row) {
        if (rows_.empty()) print(row, &Cell::title);
        print(row, &Cell::value);
        rows_.push_back(row);
    }

    void save() {
        std::string text = line(rows_.at(0), &Cell::column);
        for (const Row& row : rows_) text += line(row, &Cell::value);
        file_.save(text);
    }

private:
    static std::string line(const Row& row, std::string Cell::*what) {
        std::string text;
        for (const Cell& cell : row)
            text += csv_field(cell.*what) + (&cell == &row.back() ? "\n" : ",");
        return text;
    }
    static void print(const Row& row, std::string Cell::*what) {
        for (const Cell& cell : row) {
            if (cell.title.empty()) continue;
            const int width = &cell == &row[0] ? -21 : std::max(5, int(cell.title.size()));
            std::printf(&cell == &row[0] ? "%*s" : "  %*s", width, (cell.*what).c_str());
        }
        std::printf("\n");
        flush_output();
    }
    WholeFile file_;
    std::vector<Row> rows_;
};
