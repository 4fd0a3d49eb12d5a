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

std::string as_time(const std::string& ms, int);  // "22.4 ms", "94.8 us"
std::string as_tera(const std::string& giga, int);  // "51.49"
std::string as_percent(const std::string& percent, int);
std::string as_bar(const std::string& percent, int width);

// A file that is written completely or not at all: beside its target, and then renamed.
class WholeFile {
public:
    // Throws Failure(kBadCommandLine), naming `option`, if `path` can't be written: before the
    // work, not after it. path "": no file.
    WholeFile(const std::string& option, const std::string& path);
    void save(const std::string& text);

private:
    Failure unwritable(int why) const;
    std::string option_, path_;
};

// Prints each row as it comes, and keeps it for a CSV, which save() writes.
class Report {
public:
    // csv: see WholeFile. wide: shows all columns, as the CSV has them.
    Report(const std::string& csv, const Columns& table, bool wide = false)
        : file_("--csv", csv), table_(table), wide_(wide) {}
    void add(const Row& row);
    void save() { file_.save(csv_); }

private:
    WholeFile file_;
    Columns table_;
    bool wide_;
    std::string csv_;
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
