// Prints rows as a table and writes them as CSV: whole files or none.
#pragma once

#include <string>
#include <vector>

#include "common/errors.h"

struct Cell {
    std::string column, value;
};
using Row = std::vector<Cell>;  // all columns of the CSV
inline void add_cells(Row& row, const Row& more) {
    row.insert(row.end(), more.begin(), more.end());
}

// How a column is shown on a terminal. Columns that no table lists are only in the CSV and in
// --wide.
struct Column {
    std::string name;  // in the CSV
    std::string title;  // above it; a | begins its second line
    int width;  // negative: aligned to the left
    std::string (*shown)(const std::string& value) = nullptr;  // formats the value for a reader
};
using Columns = std::vector<Column>;

// `value` times `factor`; "-" stays as it is.
std::string scaled(const std::string& value, double factor, const char* pattern);
std::string as_time(const std::string& ms);  // "22.40 ms", "94.8 us"
std::string as_tera(const std::string& giga);  // "51.49"
std::string as_percent(const std::string& percent);

// Writes a file completely or not at all: first under another name beside `path`, and then renames
// it. path "": no file. Throws Failure(kBadCommandLine) if it can't be written.
void write_whole(const std::string& path, const std::string& text);

// Prints each row as it comes, the first one below the titles.
class ReportTable {
public:
    explicit ReportTable(const Columns& columns)
        : columns_(columns) {}  // if empty, all columns of the first row
    void print(const Row& row);

private:
    Columns columns_;
    bool titled_ = false;
};

// Keeps rows for a file, which save() writes; path "": no file.
class Csv {
public:
    explicit Csv(const std::string& path) : path_(path) {}
    void add(const Row& row);
    void save() const { write_whole(path_, text_); }

private:
    std::string path_, text_;
};

// Prints rows and keeps them. wide: shows all columns, as the CSV has them.
class Report {
public:
    Report(const std::string& csv, const Columns& table, bool wide = false)
        : csv_(csv), table_(wide ? Columns() : table) {}
    void add(const Row& row) {
        csv_.add(row);
        table_.print(row);
    }
    void save() const { csv_.save(); }

private:
    Csv csv_;
    ReportTable table_;
};

// Formats a figure; "-" unless it is positive.
inline std::string figure(double value, const char* pattern = "%.0f") {
    return value > 0 ? format(pattern, value) : "-";
}
inline std::string percent(double part, double whole) {  // "-" unless the whole is positive
    return whole > 0 ? format("%.1f", 100 * part / whole) : "-";
}
