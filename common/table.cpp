#include "common/table.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

std::string scaled(const std::string& value, double factor, const char* pattern) {
    return value == "-" ? value : format(pattern, std::atof(value.c_str()) * factor);
}
std::string as_time(const std::string& ms) {
    return std::atof(ms.c_str()) < 1 ? scaled(ms, 1e3, "%.1f us") : scaled(ms, 1, "%.2f ms");
}
std::string as_tera(const std::string& giga) {
    return scaled(giga, 1e-3, std::atof(giga.c_str()) < 1000 ? "%.3g" : "%.2f");
}
std::string as_percent(const std::string& percent) { return scaled(percent, 1, "%.1f%%"); }

void write_whole(const std::string& path, const std::string& text) {
    if (path.empty()) return;
    const std::string part = path + "." + std::to_string(getpid()) + ".part";
    sigset_t all, before;  // block Ctrl-C until the file is complete
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    const bool good =
        (std::ofstream(part) << text).flush() && !std::rename(part.c_str(), path.c_str());
    const int why = errno;
    if (!good) std::remove(part.c_str());
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (!good)
        throw Failure(kBadCommandLine, "'" + path + "' can't be written: " + std::strerror(why));
}

void Csv::add(const Row& row) {
    std::string names, values;
    for (const Cell& cell : row) {
        names += cell.column + ",";
        // A comma or a quotation mark, as in a driver's name, would end a field of the CSV.
        for (const char c : cell.value) values += c == ',' ? ';' : c == '"' ? '\'' : c;
        values += ',';
    }
    names.back() = values.back() = '\n';
    text_ += (text_.empty() ? names : "") + values;
}

void ReportTable::print(const Row& row) {
    progress("");
    if (columns_.empty())
        for (const auto& [name, value] : row)
            columns_.push_back({name, name, -int(std::max(name.size(), value.size()) + 2)});
    std::string lines[3];  // two lines of titles, and the row's
    for (const Column& column : columns_)
        for (const Cell& cell : row) {
            if (cell.column != column.name) continue;
            const size_t bar = column.title.find('|') + 1;  // npos + 1 is 0
            std::string texts[] = {column.title.substr(0, bar ? bar - 1 : 0),
                                   column.title.substr(bar),
                                   column.shown ? column.shown(cell.value) : cell.value};
            const bool left = column.width < 0;
            const int width = column.width + (left ? 1 : -1);  // without the blank between columns
            // A name that is too long gets a line of its own above its figures, which stay in their
            // columns.
            if (left && lines[2].empty() && int(texts[2].size()) > -width)
                lines[2] = std::exchange(texts[2], "") + "\n";
            for (int i = 0; i < 3; ++i)
                lines[i] += format(left ? "%*s " : " %*s", width, texts[i].c_str());
        }
    for (std::string& line : lines) {
        line.erase(line.find_last_not_of(' ') + 1);
        if (!line.empty() && (!titled_ || &line == &lines[2])) std::printf("%s\n", line.c_str());
    }
    titled_ = true;
    std::fflush(stdout);
}
