// The rows that a program prints, and the same rows as CSV.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/options.h"

// printf into a string.
__attribute__((format(printf, 1, 2))) inline std::string format(const char* pattern, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, pattern);
    std::vsnprintf(text, sizeof text, pattern, arguments);
    va_end(arguments);
    return text;
}

// One line of progress on a terminal's stderr, overwritten by the next; nothing when stderr is a file.
inline void progress(const std::string& text) {
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

// A CSV that appears whole or not at all: rows are kept, written beside the target at the end and renamed onto it.
// What is not a regular file (a pipe, /dev/stdout) is written directly.
class CsvFile {
public:
    using Row = std::vector<std::pair<std::string, std::string>>;  // column name, value

    // Throws Failure(kBadCommandLine) when `path` can't be written: now rather than after a long run. "" keeps nothing.
    explicit CsvFile(const std::string& path) : path_(path), temporary_(path) {
        if (path_.empty()) return;
        struct stat found;
        const bool exists = stat(path.c_str(), &found) == 0;
        if (exists && access(path.c_str(), W_OK) != 0) fail();
        if (exists && S_ISDIR(found.st_mode)) fail(EISDIR);
        if (exists && !S_ISREG(found.st_mode)) return;
        temporary_ = path + ".part";
        write("");
        std::remove(temporary_.c_str());
    }
    void add(Row row) {
        if (!path_.empty()) rows_.push_back(std::move(row));
    }
    void save() {
        if (rows_.empty()) return;
        std::string text;
        for (size_t i = 0; i < rows_[0].size(); ++i) text += (i ? "," : "") + rows_[0][i].first;
        for (const Row& row : rows_) {
            text += "\n";
            for (size_t i = 0; i < row.size(); ++i) text += (i ? "," : "") + row[i].second;
        }
        write(text + "\n");
        if (temporary_ != path_ && std::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
    }

private:
    void write(const std::string& text) {
        FILE* file = std::fopen(temporary_.c_str(), "w");
        if (!file) fail();
        const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
        if (std::fclose(file) != 0 || !written) fail();
    }
    [[noreturn]] void fail(int why = errno) {
        if (temporary_ != path_) std::remove(temporary_.c_str());
        throw Failure(kBadCommandLine, "--csv '" + path_ + "': can't be written: " + std::strerror(why));
    }

    std::string path_, temporary_;
    std::vector<Row> rows_;
};
