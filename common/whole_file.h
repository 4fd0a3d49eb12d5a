// A file that appears whole or not at all.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "common/command_line.h"

// The text is written beside its target and renamed onto it. What is no regular file (a link, /dev/stdout) is written directly.
class WholeFile {
public:
    // `option` is named in messages. Throws Failure(kBadCommandLine) when `path` can't be written: now rather than after the
    // work. "" as a path: no file.
    WholeFile(const std::string& option, const std::string& path) : option_(option), path_(path), written_(path) {
        if (path_.empty()) return;
        struct stat found;
        const bool exists = lstat(path_.c_str(), &found) == 0;
        if (exists && access(path_.c_str(), W_OK) != 0) fail(errno);
        if (exists && S_ISDIR(found.st_mode)) fail(EISDIR);
        if (exists && !S_ISREG(found.st_mode)) return;
        written_ = path_ + ".part";
        write("");
        remove_part();
    }

    void save(const std::string& text) {
        if (path_.empty()) return;
        write(text);
        if (written_ != path_ && std::rename(written_.c_str(), path_.c_str()) != 0) fail(errno);
        half_written[0] = '\0';
    }

private:
    void write(const std::string& text) {
        if (written_ != path_ && written_.size() < sizeof(half_written)) {
            std::strcpy(half_written + 1, written_.c_str() + 1);
            half_written[0] = written_[0];
        }
        FILE* file = std::fopen(written_.c_str(), "w");
        if (!file) fail(errno);
        const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
        if (std::fclose(file) != 0 || !written) fail(errno);
    }
    void remove_part() {
        std::remove(written_.c_str());
        half_written[0] = '\0';
    }
    [[noreturn]] void fail(int why) {
        if (written_ != path_) remove_part();
        throw Failure(kBadCommandLine, option_ + " '" + path_ + "': can't be written: " + std::strerror(why));
    }

    std::string option_, path_, written_;
};
