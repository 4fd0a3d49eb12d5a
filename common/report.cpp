#include "common/report.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

// `value` times `factor`; "-" stays as it is.
static std::string scaled(const std::string& value, double factor, const char* pattern) {
    return value == "-" ? value : format(pattern, std::atof(value.c_str()) * factor);
}
std::string as_time(const std::string& ms, int) {
    return std::atof(ms.c_str()) < 1 ? scaled(ms, 1e3, "%.1f us") : scaled(ms, 1, "%.2f ms");
}
std::string as_tera(const std::string& giga, int) {
    return scaled(giga, 1e-3, std::atof(giga.c_str()) < 1000 ? "%.3g" : "%.2f");
}
static std::string as_mib(const std::string& bytes, int) { return scaled(bytes, 0x1p-20, "%.2f"); }
std::string as_percent(const std::string& percent, int) { return scaled(percent, 1, "%.1f%%"); }
std::string as_bar(const std::string& percent, int width) {
    const double share = std::clamp(std::atof(percent.c_str()) / 100, 0.0, 1.0);
    return std::string(size_t(std::lround(share * width)), '#');
}

static const Column kColumns[] = {
    {"stage", "stage", -22},
    {"m", "M", 8},
    {"n", "N", 7},
    {"k", "K", 7},
    {"verified", "verified", 9},
    {"median_ms", "time", 10, as_time},
    {"gbs", "GB/s", 9},
    {"gflops", "TFLOP/s", 9, as_tera},
    {"percent_of_peak", "of|peak", 7, as_percent},
    {"percent_of_cublas", "of|cuBLAS", 8, as_percent},
    {"sm_mhz", "MHz", 6},
    {"percent_of_clblast", "of|CLBlast", 8, as_percent},
    {"global_load_bytes", "loaded|MiB", 9, as_mib},
    {"sectors_per_request", "sectors a|request", 10},
    {"bank_conflict_factor", "conflict|factor", 9},
    {"barriers_per_block", "barriers|a block", 9},
    {"flop_per_byte", "flop per|byte", 9},
    {"predicted_gflops", "predicted|TFLOP/s", 10, as_tera},
    {"measured_of_predicted", "ratio", 7},
};

Column::Column(const char* name)
    : Column(*std::find_if(std::begin(kColumns), std::end(kColumns),
                           [&](const Column& each) { return each.name == name; })) {}

WholeFile::WholeFile(const std::string& option, const std::string& path)
    : option_(option), path_(path) {
    struct stat found;
    const bool exists = !path.empty() && stat(path.c_str(), &found) == 0;
    if (exists && S_ISDIR(found.st_mode)) throw unwritable(EISDIR);
    if (exists && !S_ISREG(found.st_mode)) throw refused(option, path, "is no regular file");
    if (path.empty()) return;
    const std::string folder = (path[0] == '/' ? "" : "./") + path.substr(0, path.rfind('/') + 1);
    if (access(exists ? path.c_str() : folder.c_str(), W_OK) != 0) throw unwritable(errno);
}

void WholeFile::save(const std::string& text) {
    if (path_.empty()) return;
    const std::string part = path_ + "." + std::to_string(getpid()) + ".part";
    sigset_t ending, before;  // block Ctrl-C until the file is complete
    sigemptyset(&ending);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&ending, signal);
    sigprocmask(SIG_BLOCK, &ending, &before);
    FILE* file = std::fopen(part.c_str(), "wx");  // x: overwrites nothing
    bool good = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    good = file && std::fclose(file) == 0 && good;
    good = good && std::rename(part.c_str(), path_.c_str()) == 0;
    const int why = errno;
    if (file && !good) unlink(part.c_str());
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (!good) throw unwritable(why);
}

Failure WholeFile::unwritable(int why) const {
    return refused(option_, path_, std::string("can't be written: ") + std::strerror(why));
}

// `text` as a field of a CSV: in quotes where it needs them (RFC 4180).
static std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
}

// Pads `text` to `width`, with at least one blank. Negative width: left-aligned.
static std::string aligned(const std::string& text, int width) {
    const std::string blanks(size_t(std::max(1, std::abs(width) - int(text.size()))), ' ');
    return width < 0 ? text + blanks : blanks + text;
}

void Report::add(const Row& row) {
    progress("");
    const bool first = csv_.empty();
    if (first && wide_) table_.clear();
    std::string names, values, titles[2], line;
    for (const Cell& cell : row) {
        const char* comma = names.empty() ? "" : ",";
        names += comma + csv_field(cell.column);
        values += comma + csv_field(cell.value);
        const int width = int(std::max(cell.column.size(), cell.value.size())) + 2;
        if (first && wide_) table_.push_back({cell.column, cell.column, comma[0] ? width : -21});
    }
    csv_ += (first ? names + "\n" : "") + values + "\n";
    for (const Column& column : table_)
        for (const Cell& cell : row) {
            if (cell.column != column.name) continue;
            const int rest = std::max(0, line_width() - int(line.size()) - 1);
            line +=
                aligned(column.shown ? column.shown(cell.value, rest) : cell.value, column.width);
            const size_t bar = column.title.find('|') + 1;  // npos + 1 is 0
            titles[0] += aligned(column.title.substr(0, bar ? bar - 1 : 0), column.width);
            titles[1] += aligned(column.title.substr(bar), column.width);
        }
    for (std::string* each : {&titles[0], &titles[1], &line}) {
        each->erase(each->find_last_not_of(' ') + 1);
        if (!each->empty() && (first || each == &line)) std::printf("%s\n", each->c_str());
    }
    flush_output();
}

void flush_output() {
    errno = EIO;  // of a failure before this one
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
    throw Failure(kBadCommandLine,
                  std::string("standard output can't be written: ") + std::strerror(errno));
}

Times summarize(std::vector<float> ms) {
    std::sort(ms.begin(), ms.end());
    const size_t n = ms.size();
    return {(ms[(n - 1) / 2] + ms[n / 2]) / 2.0, ms.front(), ms.back()};
}

void add_times(Row& row, const Times& times, double flop, double peak) {
    const double gflops = flop / times.median * 1e-6;
    row += {{"median_ms", format("%.4f", times.median)},
            {"min_ms", format("%.4f", times.least)},
            {"max_ms", format("%.4f", times.most)},
            {"gflops", format("%.0f", gflops)},
            {"percent_of_peak", percent(gflops, peak)}};
}

void add_library(Row& row, const std::string& name, double flop, const Times& ours,
                 const Times& theirs) {
    const double its = theirs.median;
    row += {{"percent_of_" + name, percent(its, its > 0 ? ours.median : 0)},
            {name + "_gflops", figure(its > 0 ? flop / its * 1e-6 : 0)}};
}

void add_clocks(Row& row, const Clocks& clocks) {
    row += {{"sm_mhz", figure(clocks.sm)},
            {"clock_by", clocks.by},
            {"nvml_mhz", figure(clocks.nvml)},
            {"memory_mhz", figure(clocks.memory)}};
}

std::string today() {
    char text[16];
    const std::time_t now = std::time(nullptr);
    std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
    return text;
}
