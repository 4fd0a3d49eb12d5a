// The rows that a program prints, and the same rows as CSV.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "common/command_line.h"

// printf into a string.
__attribute__((format(printf, 1, 2))) inline std::string format(const char* pattern, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, pattern);
    std::vsnprintf(text, sizeof text, pattern, arguments);
    va_end(arguments);
    return text;
}

struct Cell {
    std::string title;   // above the column on the terminal; "": in the CSV only
    std::string column;  // its name in the CSV
    std::string value;
};
using Row = std::vector<Cell>;

// Prints each row as it comes, and keeps it for a CSV that appears whole or not at all: it is written beside its target at the
// end and renamed onto it. What is not a regular file (a link, a pipe, /dev/stdout) is written directly.
class Report {
public:
    // Throws Failure(kBadCommandLine) when `csv` can't be written: now rather than after a long run. "": no CSV.
    explicit Report(const std::string& csv) : path_(csv), written_(csv) {
        if (path_.empty()) return;
        struct stat found;
        const bool exists = lstat(path_.c_str(), &found) == 0;
        if (exists && access(path_.c_str(), W_OK) != 0) fail(errno);
        if (exists && S_ISDIR(found.st_mode)) fail(EISDIR);
        if (exists && !S_ISREG(found.st_mode)) return;
        written_ = path_ + ".part";
        write("");
        std::remove(written_.c_str());
    }

    void add(const Row& row) {
        if (rows_.empty()) print(row, &Cell::title);
        print(row, &Cell::value);
        rows_.push_back(row);
    }

    void save() {
        if (path_.empty()) return;
        std::string text;
        for (const Cell& cell : rows_.at(0)) text += cell.column + (&cell == &rows_[0].back() ? "\n" : ",");
        for (const Row& row : rows_)
            for (const Cell& cell : row) text += cell.value + (&cell == &row.back() ? "\n" : ",");
        write(text);
        if (written_ != path_ && std::rename(written_.c_str(), path_.c_str()) != 0) fail(errno);
    }

private:
    static void print(const Row& row, std::string Cell::*what) {
        for (const Cell& cell : row) {
            if (cell.title.empty()) continue;
            const int width = &cell == &row[0] ? -21 : std::max(5, int(cell.title.size()));
            std::printf(&cell == &row[0] ? "%*s" : "  %*s", width, (cell.*what).c_str());
        }
        std::printf("\n");
        std::fflush(stdout);
    }
    void write(const std::string& text) {
        FILE* file = std::fopen(written_.c_str(), "w");
        if (!file) fail(errno);
        const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
        if (std::fclose(file) != 0 || !written) fail(errno);
    }
    [[noreturn]] void fail(int why) {
        if (written_ != path_) std::remove(written_.c_str());
        throw Failure(kBadCommandLine, "--csv '" + path_ + "': can't be written: " + std::strerror(why));
    }

    std::string path_, written_;
    std::vector<Row> rows_;
};
