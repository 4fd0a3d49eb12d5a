// The matrix as a picture: a grid, in each cell the lanes that hold the element, and in which x[i].
#pragma once

#include <string>
#include <vector>

#include "07_fragment_probe/layouts.h"
#include "common/errors.h"

// A colour for each lane: a hue for each group of four, four shades within it. All are light enough
// for black text, in grey too.
inline std::string lane_colour(int lane) {
    const int hues[8][3] = {{220, 60, 50},  {50, 110, 220}, {50, 160, 60},  {120, 70, 200},
                            {240, 140, 20}, {20, 160, 160}, {220, 70, 160}, {120, 105, 80}};
    const int strength = 15 + 18 * (lane % 4);  // percent; the rest is white
    int mixed[3];
    for (int i = 0; i < 3; ++i) mixed[i] = 255 - (255 - hues[lane / 4][i]) * strength / 100;
    return format("#%02x%02x%02x", mixed[0], mixed[1], mixed[2]);
}

inline std::string svg_text(double x, double y, const std::string& text, const char* style = "") {
    return format("<text x=\"%g\" y=\"%g\"%s>", x, y, style) + text + "</text>\n";
}

// For a phone, too: eight columns of the matrix side by side, the next eight below them. `title` and
// `notes` stand above, the lanes' colours below. Returns the text of an SVG file.
inline std::string draw(const FragmentKind& kind, const Dump& dump, const std::string& title,
                        const std::vector<std::string>& notes) {
    const Holders holders = holders_of(dump);
    size_t most = 1;
    for (const auto& [element, list] : holders) most = std::max(most, list.size());
    const int columns = 8, width = 55, height = std::max(20, 18 * int(most)), left = 28;
    const int right = left + width * columns, top = 58 + 18 * int(notes.size());
    const int part = height * kind.rows() + 36;  // to the next eight columns
    const int bottom = top + part * (kind.cols() / columns);
    const auto x_of = [&](int col) { return left + width * (col % columns); };
    const auto y_of = [&](int row, int col) { return top + part * (col / columns) + height * row; };

    // The cells are light enough for black text, whatever is around them.
    std::string svg = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 480 %d\" "
        "width=\"480\" height=\"%d\" "
        "font-family=\"sans-serif\" font-size=\"12\" text-anchor=\"middle\">\n"
        "<style>.card{fill:#fff}text{fill:#1f2328}text.in{fill:#000;font-size:11px}"
        "@media(prefers-color-scheme:dark){.card{fill:#0d1117}text{fill:#e6edf3}}</style>\n"
        "<rect class=\"card\" width=\"100%%\" height=\"100%%\"/>\n",
        bottom + 56, bottom + 56);
    svg += svg_text(12, 24, title, " font-size=\"15\" text-anchor=\"start\"");
    for (size_t i = 0; i < notes.size(); ++i)
        svg += svg_text(12, 44 + 18.0 * i, notes[i], " text-anchor=\"start\"");
    for (int col = 0; col < kind.cols(); ++col)
        svg += svg_text(x_of(col) + width / 2.0, y_of(0, col) - 6, std::to_string(col));
    for (int col = 0; col < kind.cols(); col += columns)
        for (int row = 0; row < kind.rows(); ++row)
            svg += svg_text(16, y_of(row, col) + height / 2.0 + 4, std::to_string(row));
    std::string in_colour[32], labels;  // a path for each lane, a line for each row
    for (const auto& [element, list] : holders) {
        if (element.col == 0) labels += "<text class=\"in\">";
        const double x = x_of(element.col), y = y_of(element.row, element.col),
                     each = height / double(list.size());
        for (size_t h = 0; h < list.size(); ++h) {
            in_colour[list[h].row] +=
                format("M%g %gh%dv%gh-%dz", x, y + h * each, width, each, width);
            labels += format("<tspan x=\"%g\" y=\"%g\">%d: x[%d]</tspan>", x + width / 2.0,
                             y + (h + 0.5) * each + 4, list[h].row, list[h].col);
        }
        if (element.col == kind.cols() - 1) labels += "</text>\n";
    }
    for (int lane = 0; lane < 32; ++lane)
        svg += format("<path fill=\"%s\" d=\"", lane_colour(lane).c_str()) + in_colour[lane] +
               "\"/>\n";
    svg += labels;
    std::string lines;
    for (int first = 0; first < kind.cols(); first += columns) {
        const int begin = y_of(0, first), end = y_of(kind.rows(), first);
        for (int col = 0; col <= columns; ++col)
            lines += format("M%d %dV%d", left + width * col, begin, end);
        for (int row = 0; row <= kind.rows(); ++row)
            lines += format("M%d %dH%d", left, begin + height * row, right);
    }
    svg += "<path stroke=\"black\" d=\"" + lines + "\"/>\n";
    for (int lane = 0; lane < 32; ++lane) {  // the legend of the lanes' colours
        const int x = left + 27 * (lane % 16), y = bottom - 4 + 24 * (lane / 16);
        svg += format(
            "<rect x=\"%d\" y=\"%d\" width=\"27\" height=\"24\" fill=\"%s\" stroke=\"black\"/>\n",
            x, y, lane_colour(lane).c_str());
        svg += svg_text(x + 13.5, y + 16, std::to_string(lane), " class=\"in\"");
    }
    return svg + "</svg>\n";
}
