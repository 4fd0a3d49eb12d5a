// A file that appears whole or not at all.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "common/command_line.h"

// The text is written beside its target, under a name that nobody can foresee, and renamed onto it. What is no regular file (a link,
// /dev/stdout) is written directly.
class WholeFile {
public:
    // `option` is named in messages. Throws Failure(kBadCommandLine) when `path` can't be written: now rather than after the
    // work. "" as a path: no file.
    WholeFile(const std::string& option, const std::string& path) : option_(option), path_(path) {
        if (path_.empty()) return;
        struct stat found;
        const bool exists = lstat(path_.c_str(), &found) == 0;
        if (exists && access(path_.c_str(), W_OK) != 0) fail(errno);
        if (exists && S_ISDIR(found.st_mode)) fail(EISDIR);
        if (stat(path_.c_str(), &found) != 0 || S_ISREG(found.st_mode)) claim();
        if (exists && lstat(path_.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) return;
        const mode_t mask = umask(0);
        umask(mask);
        mode_ = exists ? found.st_mode & 07777 : 0666 & ~mask;
        beside_ = true;
        std::fclose(open_part());
        remove_part();
    }
    ~WholeFile() { claimed().erase(option_); }
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;

    void save(const std::string& text) {
        if (path_.empty()) return;
        FILE* file = beside_ ? open_part() : std::fopen(path_.c_str(), "w");
        if (!file) fail(errno);
        const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
        if (std::fclose(file) != 0 || !written) fail(errno);
        if (beside_ && std::rename(half_written, path_.c_str()) != 0) fail(errno);
        half_written[0] = '\0';
    }

private:
    // Where each option writes.
    static std::map<std::string, std::filesystem::path>& claimed() {
        static std::map<std::string, std::filesystem::path> files;
        return files;
    }
    void claim() {
        std::error_code ignored;
        const auto file =
            std::filesystem::weakly_canonical(std::filesystem::absolute(path_), ignored);
        for (const auto& [option, other] : claimed())
            if (other == file && option != option_)
                throw Failure(kBadCommandLine, option_ + " '" + path_ + "': " + option +
                                                   " writes to that file, too");
        claimed()[option_] = file;
    }

    // A new file of a random name, which ends as half_written. No signal comes between the two.
    FILE* open_part() {
        std::string part = path_ + ".XXXXXX.part";
        if (part.size() >= sizeof half_written) fail(ENAMETOOLONG);
        sigset_t ending, before;
        sigemptyset(&ending);
        sigaddset(&ending, SIGINT);
        sigaddset(&ending, SIGTERM);
        sigprocmask(SIG_BLOCK, &ending, &before);
        const int file = mkstemps(&part[0], 5);
        const int why = errno;
        if (file >= 0) std::strcpy(half_written, part.c_str());
        sigprocmask(SIG_SETMASK, &before, nullptr);
        if (file < 0) fail(why);
        fchmod(file, mode_);
        return fdopen(file, "w");
    }
    static void remove_part() {
        if (half_written[0]) unlink(half_written);
        half_written[0] = '\0';
    }
    [[noreturn]] void fail(int why) {
        remove_part();
        throw Failure(kBadCommandLine,
                      option_ + " '" + path_ + "': can't be written: " + std::strerror(why));
    }

    std::string option_, path_;
    bool beside_ = false;
    mode_t mode_ = 0;
};
