// The matrix as a picture: a grid, in each cell the lanes that hold the element, and in which x[i].
#pragma once

#include <string>

#include "07_fragment_probe/layouts.h"

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

// `title` and `note` stand above it. Returns the text of an SVG file.
inline std::string draw(const FragmentKind& kind, const Dump& dump, const std::string& title,
                        const std::string& note) {
    const Holders holders = holders_of(dump);
    size_t most = 1;
    for (const auto& [element, list] : holders) most = std::max(most, list.size());
    const int width = 68, stripe = 18, height = std::max(28, stripe * int(most)), left = 46,
              top = 92;
    const int right = left + width * kind.cols(), bottom = top + height * kind.rows();
    const int total_width = std::max(right, left + 32 * 26) + 16;

    std::string svg = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
        "width=\"%d\" height=\"%d\" "
        "font-family=\"sans-serif\" font-size=\"12\" text-anchor=\"middle\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        total_width, bottom + 60, total_width, bottom + 60);
    svg += svg_text(left, 26, title, " font-size=\"18\" text-anchor=\"start\"");
    svg += svg_text(left, 48, note, " text-anchor=\"start\"");
    svg += svg_text(left + (right - left) / 2.0, 70, "column");
    svg += format("<text transform=\"translate(14 %g) rotate(-90)\">row</text>\n",
                  (top + bottom) / 2.0);
    for (int col = 0; col < kind.cols(); ++col)
        svg += svg_text(left + width * (col + 0.5), 86, std::to_string(col));
    for (int row = 0; row < kind.rows(); ++row)
        svg += svg_text(34, top + height * (row + 0.5) + 4, std::to_string(row));
    std::string in_colour[32], labels;  // a path for each lane, a line for each row
    for (const auto& [element, list] : holders) {
        if (element.col == 0) labels += "<text>";
        const double x = left + width * element.col, y = top + height * element.row,
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
    for (int col = 0; col <= kind.cols(); ++col)
        lines += format("M%d %dV%d", left + width * col, top, bottom);
    for (int row = 0; row <= kind.rows(); ++row)
        lines += format("M%d %dH%d", left, top + height * row, right);
    svg += "<path stroke=\"black\" d=\"" + lines + "\"/>\n";
    svg += svg_text(34, bottom + 37, "lane", " text-anchor=\"end\"");
    for (int lane = 0; lane < 32; ++lane) {
        svg += format(
            "<rect x=\"%d\" y=\"%d\" width=\"26\" height=\"24\" fill=\"%s\" stroke=\"black\"/>\n",
            left + 26 * lane, bottom + 20, lane_colour(lane).c_str());
        svg += svg_text(left + 26 * (lane + 0.5), bottom + 36, std::to_string(lane));
    }
    return svg + "</svg>\n";
}
