// Prints rows as a table and writes them as CSV: whole files or none.
#pragma once

#include <string>
#include <vector>

#include "common/errors.h"

struct Cell {
    std::string column, value;
};
using Row = std::vector<Cell>;  // all columns of the CSV
inline Row& operator+=(Row& row, const Row& more) {
    row.insert(row.end(), more.begin(), more.end());
    return row;
}

// How a column is shown on a terminal. Columns that no table shows are in the CSV and in --wide.
struct Column {
    Column(const char* name);  // a column that several programs share, from kColumns
    Column(const std::string& name, const std::string& title, int width,
           std::string (*shown)(const std::string& value, int width) = nullptr)
        : name(name), title(title), width(width), shown(shown) {}

    std::string name;  // in the CSV
    std::string title;  // above it; a | begins its second line
    int width;  // negative: aligned to the left; 0: the rest of the line
    std::string (*shown)(const std::string& value, int width);  // formats the value for a reader
};
using Columns = std::vector<Column>;
extern const Column kBar;  // percent_of_peak, to the end of the line

std::string as_time(const std::string& ms, int);  // "22.4 ms", "94.8 us"
std::string as_tera(const std::string& giga, int);  // "51.49"
std::string as_percent(const std::string& percent, int);
std::string as_bar(const std::string& percent, int width);

// Writes a file completely or not at all: beside `path`, and then renames it. path "": no file.
// Throws Failure(kBadCommandLine) if it can't be written.
void write_whole(const std::string& path, const std::string& text);

// Prints each row as it comes, and keeps it for a CSV, which save() writes.
class Report {
public:
    // csv: the file, "" for none. wide: shows all columns, as the CSV has them.
    Report(const std::string& csv, const Columns& table, bool wide = false)
        : path_(csv), table_(wide ? Columns() : table) {}
    void add(const Row& row);
    void save() { write_whole(path_, csv_); }

private:
    std::string path_, csv_;
    Columns table_;  // empty until the first row: all of its columns
};

// Throws Failure(kBadCommandLine) if standard output can't be written.
void flush_output();

struct Times {
    double median, least, most;  // milliseconds
};
Times summarize(std::vector<float> ms);

// The clocks while something ran, in MHz. 0: unknown.
struct Clocks {
    double sm = 0;  // of the multiprocessors
    const char* by = "-";  // who read it: "kernel" itself, "probe" (lab/clock.h) or "nvml"
    unsigned nvml = 0, memory = 0;  // what NVML says: of the multiprocessors, of the memory
};

// Formats a figure; "-" unless it is positive.
inline std::string figure(double value, const char* pattern = "%.0f") {
    return value > 0 ? format(pattern, value) : "-";
}
inline std::string percent(double part, double whole) {  // "-" unless the whole is positive
    return whole > 0 ? format("%.1f", 100 * part / whole) : "-";
}

// Append to a row: times and speed, where `flop` is of one launch and `peak` is in GFLOP/s or 0; a
// library's speed for the same product, with a median of 0 if it is missing; clocks.
void add_times(Row& row, const Times& times, double flop, double peak);
void add_library(Row& row, const std::string& name, double flop, const Times& ours,
                 const Times& theirs);
void add_clocks(Row& row, const Clocks& clocks);

std::string today();  // "2026-01-31", in UTC
