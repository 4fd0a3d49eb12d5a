// Prints rows as a table, writes the same rows as CSV, and reads such CSVs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/failure.h"

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

// A file that is written completely or not at all: under an unpredictable name beside its target,
// and then renamed. Links and devices such as /dev/stdout are written directly.
class WholeFile {
public:
    // Throws Failure(kBadCommandLine), naming `option`, if `path` can't be written. The constructor
    // checks that, so that the program fails before the work. path "": no file.
    WholeFile(const std::string& option, const std::string& path);
    ~WholeFile();
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;

    void save(const std::string& text) { write(&text); }

private:
    void write(const std::string* text);  // nullptr: only checks that it could
    Failure unwritable(int why) const;

    std::string option_, path_;
    bool beside_ = false;
    unsigned mode_ = 0;
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

using CsvRow = std::map<std::string, std::string>;  // column -> value

// Reads the CSV at `path`, which must have these columns. Control characters become ?. Throws
// Failure(kBadCommandLine), naming `option`, if the file is bad.
std::vector<CsvRow> read_csv(const std::string& option, const std::string& path,
                             const std::vector<std::string>& columns);

struct Times {
    double median, least, most;  // milliseconds
};
Times summarize(std::vector<float> ms);

// The clocks while something ran, in MHz. 0: unknown.
struct Clocks {
    double sm = 0;  // of the multiprocessors
    const char* by = "-";  // who read it: "kernel" itself, "probe" (gpu.h) or "nvml"
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

#ifndef HARNESS_COMPILED_APART

#include <fcntl.h>
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
#include <filesystem>

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

// {option: the file that it writes}, to notice two options with the same file.
static std::map<std::string, std::filesystem::path> claimed;

WholeFile::WholeFile(const std::string& option, const std::string& path)
    : option_(option), path_(path) {
    if (path_.empty()) return;
    struct stat found, target;
    const bool exists = lstat(path_.c_str(), &found) == 0;
    if (exists && access(path_.c_str(), W_OK) != 0) throw unwritable(errno);
    if (exists && S_ISDIR(found.st_mode)) throw unwritable(EISDIR);
    if (stat(path_.c_str(), &target) != 0 || S_ISREG(target.st_mode)) {
        std::error_code ignored;
        const auto file =
            std::filesystem::weakly_canonical(std::filesystem::absolute(path_), ignored);
        for (const auto& [other, its] : claimed)
            if (its == file && other != option_)
                throw refused(option_, path_, other + " writes to that file, too");
        claimed[option_] = file;
    }
    const mode_t mask = umask(0);
    umask(mask);
    mode_ = exists ? found.st_mode & 07777 : 0666 & ~mask;
    beside_ = !exists || S_ISREG(found.st_mode);
    if (beside_) write(nullptr);
}

WholeFile::~WholeFile() { claimed.erase(option_); }

void WholeFile::write(const std::string* text) {
    if (path_.empty()) return;
    std::string part = beside_ ? path_ + ".XXXXXX.part" : path_;
    sigset_t ending, before;  // block Ctrl-C until the file is complete
    sigemptyset(&ending);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&ending, signal);
    sigprocmask(SIG_BLOCK, &ending, &before);
    const int number =
        beside_ ? mkstemps(&part[0], 5) : open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC, mode_);
    FILE* file = number < 0 ? nullptr : fdopen(number, "w");
    bool good = file != nullptr;
    if (file && beside_) fchmod(number, mode_);
    if (file && text) good = std::fwrite(text->data(), 1, text->size(), file) == text->size();
    if (file) good = std::fclose(file) == 0 && good;
    if (good && text && beside_) good = std::rename(part.c_str(), path_.c_str()) == 0;
    const int why = errno;
    if (file && beside_ && !(good && text)) unlink(part.c_str());
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

std::vector<CsvRow> read_csv(const std::string& option, const std::string& path,
                             const std::vector<std::string>& columns) {
    constexpr size_t kMostBytes = 16 << 20, kMostInField = 1000;  // /dev/zero is endless
    const auto check = [&](bool good, const std::string& why) {
        if (!good) throw refused(option, path, why);
    };
    errno = 0;
    FILE* file = std::fopen(path.c_str(), "r");
    std::string text;
    for (int c; file && text.size() <= kMostBytes && (c = std::getc(file)) != EOF;) text += char(c);
    check(file && !std::ferror(file), std::string("can't be read: ") + std::strerror(errno));
    std::fclose(file);
    check(!text.empty(), "is empty");
    check(text.size() <= kMostBytes, "has more than 16 MiB, which no CSV of these programs has");

    std::vector<std::string> header, cells(1);
    std::vector<CsvRow> rows;
    size_t line = 1, row_line = 1;  // a quoted field may hold several lines
    const auto end_row = [&] {
        if (header.empty()) {
            header = cells;
            for (const std::string& each : columns)
                check(std::count(header.begin(), header.end(), each),
                      "has no column '" + each + "': another program or another version wrote it");
        } else {
            check(cells.size() == header.size(), format("line %zu has %zu fields, the header %zu",
                                                        row_line, cells.size(), header.size()));
            rows.emplace_back();
            for (size_t i = 0; i < cells.size(); ++i) rows.back()[header[i]] = printable(cells[i]);
        }
        cells.assign(1, "");
        row_line = line;
    };
    bool quoted = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        line += c == '\n';
        if (c == '"' && quoted && text[i + 1] == '"') cells.back() += text[++i];  // text[size()]: 0
        else if (c == '"') quoted = !quoted;
        else if (c == ',' && !quoted) cells.emplace_back();
        else if (c == '\n' && !quoted) end_row();
        else if (c != '\r' || quoted) cells.back() += c;
        if (cells.back().size() > kMostInField)
            check(false, format("line %zu has a field of more than 1000 characters", line));
    }
    check(text.back() == '\n' && !quoted, "ends in the middle of a line");
    check(!rows.empty(), "has no rows");
    return rows;
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

#endif  // HARNESS_COMPILED_APART
