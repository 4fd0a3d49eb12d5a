// 07_fragment_probe/probe: which element of the matrix does each lane's x[i] hold? The matrix is
// M[row][col] = row * columns + col, exact in half up to 2048, so a loaded value names its element.
// The kernel prints it by printf, as in the article.
#include <cuda_fp16.h>
#include <mma.h>

#include <cmath>

#include "07_fragment_probe/chip.h"
#include "07_fragment_probe/layouts.h"
#include "07_fragment_probe/picture.h"
#include "common/build.h"
#include "common/checked_launch.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/options.h"
#include "common/table.h"

using namespace nvcuda;

// load_matrix_sync takes an accumulator's layout as an argument; A and B have theirs in the type.
template <int m, int n, int k, class T>
__device__ void load(wmma::fragment<wmma::accumulator, m, n, k, T>& f, const T* M, unsigned ldm,
                     wmma::layout_t order) {
    wmma::load_matrix_sync(f, M, ldm, order);
}
template <class Use, int m, int n, int k, class T, class Layout>
__device__ void load(wmma::fragment<Use, m, n, k, T, Layout>& f, const T* M, unsigned ldm,
                     wmma::layout_t) {
    wmma::load_matrix_sync(f, M, ldm);
}

// Run by one warp. x gets 32 * num_elements values.
template <class Fragment, class T>
__global__ void probe(const T* M, unsigned ldm, wmma::layout_t order, int cols, bool print,
                      float* x) {
    Fragment f;
    load(f, M, ldm, order);
    const int lane = threadIdx.x;
    for (int i = 0; i < f.num_elements; ++i) x[lane * f.num_elements + i] = float(f.x[i]);
    // __syncwarp() makes the lanes print one after the other.
    for (int printing = 0; print && printing < 32; ++printing) {
        if (printing == lane) {
            printf("%4d ", lane);
            for (int i = 0; i < f.num_elements; ++i)
                printf(" %2d,%-2d", int(float(f.x[i])) / cols, int(float(f.x[i])) % cols);
            printf("\n");
        }
        __syncwarp();
    }
}

// Loads M into a fragment and returns what each lane holds. With `print` the device also prints a
// table.
template <class Fragment, class T>
Dump dump_of(const FragmentKind& kind, bool print) {
    const int rows = kind.rows(), cols = kind.cols(), elements = Fragment::num_elements;
    const bool row_major = kind.layout == "row";
    std::vector<T> M(rows * cols);
    for (int row = 0; row < rows; ++row)
        for (int col = 0; col < cols; ++col)
            M[row_major ? row * cols + col : col * rows + row] = T(float(row * cols + col));
    DeviceArray<T> M_device(M.size());
    DeviceArray<float> x_device(32 * elements);
    M_device.upload(M);
    std::vector<float> x(32 * elements, NAN);
    x_device.upload(x);
    if (print) {
        std::printf("%s: M is %d x %d; x[i] of each lane as row,col\nlane ", kind.name().c_str(),
                    rows, cols);
        for (int i = 0; i < elements; ++i) std::printf(" %5s", format("x[%d]", i).c_str());
        std::printf("\n");
    }
    std::fflush(stdout);
    const unsigned ldm = row_major ? cols : rows;
    const wmma::layout_t order = row_major ? wmma::mem_row_major : wmma::mem_col_major;
    run_checked("the probe of " + kind.name(), {}, [&] {
        probe<Fragment, T><<<1, 32>>>(M_device.data(), ldm, order, cols, print, x_device.data());
    });
    x_device.download(x);

    Dump dump;
    for (int at = 0; at < 32 * elements; ++at) {
        if (!(x[at] >= 0 && x[at] < float(rows * cols) && x[at] == std::floor(x[at])))
            throw Failure(kWrongResult,
                          kind.name() + format(": lane %d holds %g in x[%d], no element of M",
                                               at / elements, x[at], at % elements));
        dump.push_back({int(x[at]) / cols, int(x[at]) % cols});
    }
    return dump;
}

template <int m, int n, int k>
Dump dump_of_shape(const FragmentKind& kind, bool print) {
    const bool row = kind.layout == "row";
    if (kind.use == "accumulator")
        return kind.type == "half"
                   ? dump_of<wmma::fragment<wmma::accumulator, m, n, k, half>, half>(kind, print)
                   : dump_of<wmma::fragment<wmma::accumulator, m, n, k, float>, float>(kind, print);
    if (kind.use == "matrix_a")
        return row ? dump_of<wmma::fragment<wmma::matrix_a, m, n, k, half, wmma::row_major>, half>(
                         kind, print)
                   : dump_of<wmma::fragment<wmma::matrix_a, m, n, k, half, wmma::col_major>, half>(
                         kind, print);
    return row ? dump_of<wmma::fragment<wmma::matrix_b, m, n, k, half, wmma::row_major>, half>(
                     kind, print)
               : dump_of<wmma::fragment<wmma::matrix_b, m, n, k, half, wmma::col_major>, half>(
                     kind, print);
}

Dump take_dump(const FragmentKind& kind, bool print) {
    return kind.shape == "16x16x16"  ? dump_of_shape<16, 16, 16>(kind, print)
           : kind.shape == "32x8x16" ? dump_of_shape<32, 8, 16>(kind, print)
                                     : dump_of_shape<8, 32, 16>(kind, print);
}

using Choices = const std::vector<std::string>;
Choices kUses = {"matrix_a", "matrix_b", "accumulator"}, kTypes = {"half", "float"},
        kLayouts = {"row", "col"};
Choices kShapes = {"16x16x16", "32x8x16", "8x32x16"};

int main(int argc, char** argv) {
    Chip chip;
    FragmentKind asked;
    bool all = false;
    std::string csv, svg;
    const auto choice = [](std::string& into, Choices& accepted) -> Setter {
        return [&](const std::string& value) { into = parse_choice(value, accepted); };
    };
    std::vector<Option> options = {
        {"--use", "USE", "matrix_a, matrix_b or accumulator (default matrix_a)",
         choice(asked.use, kUses)},
        {"--type", "TYPE", "half, or float: accumulator only (default half)",
         choice(asked.type, kTypes)},
        {"--layout", "LAYOUT",
         "M lies in memory row by row, or column by column: row or col (default col)",
         choice(asked.layout, kLayouts)},
        {"--shape", "MxNxK", "16x16x16, 32x8x16 or 8x32x16 (default 16x16x16)",
         choice(asked.shape, kShapes)},
        {"--all", "", "all fragments, one line each", flag(all)},
        {"--csv", "FILE",
         "also write lane,element,row,col to FILE; with --all after shape,use,type,layout",
         file_name(csv)},
        {"--svg", "FILE", "also draw the matrix, one colour per lane; not with --all",
         file_name(svg)},
    };
    for (const Option& option : chip_options(chip)) options.push_back(option);
    const std::string about = "which element of a matrix each lane's x[i] of a WMMA fragment holds";
    const std::string examples =
        "Examples:\n  probe --use accumulator --type float\n"
        "  probe --use matrix_b --layout row --svg b.svg\n  probe --all --csv all.csv";
    const Program program = {"probe", about, options, examples, "probe", kBuild};
    return run_program(program, argc, argv, [&] {
        if (!all && asked.use != "accumulator" && asked.type == "float")
            throw Failure(kBadCommandLine, "--type 'float': only --use accumulator takes it; " +
                                               asked.use + " takes half");
        if (all && !svg.empty())
            throw Failure(kBadCommandLine, "--svg: draws one fragment, not --all of them");
        select_chip(chip);
#ifdef CUDA_EMULATOR
        const bool one_shape = chip.sm == 70;  // Volta's layouts of other shapes are not known
        if (one_shape && asked.shape != "16x16x16")
            throw Failure(kBadCommandLine, "--shape '" + asked.shape +
                                               "': for sm_70 the CPU build supports only 16x16x16");
#else
        const bool one_shape = false;
#endif
        std::vector<FragmentKind> kinds = {asked};
        if (all) {
            kinds.clear();
            for (const auto& shape : one_shape ? std::vector<std::string>{"16x16x16"} : kShapes)
                for (const auto& use : kUses)
                    for (const auto& type : kTypes)
                        for (const auto& layout : kLayouts)
                            if (use == "accumulator" || type == "half")
                                kinds.push_back({use, type, layout, shape});
        }
        std::string csv_text =
            std::string(all ? "shape,use,type,layout," : "") + "lane,element,row,col\n";
        for (const FragmentKind& kind : kinds) {
            const Dump dump = take_dump(kind, !all);
            const std::string copies = describe_copies(kind, dump), chips = recognise(kind, dump);
            const std::string row = formula(dump, &Element::row),
                              col = formula(dump, &Element::col);
            const std::string where =
                row.empty() || col.empty() ? "no formula" : "row = " + row + ", col = " + col;
            const int elements = int(dump.size()) / 32;
            if (all)
                std::printf("%-38s %2d a lane; %s; %s; %s\n", kind.name().c_str(), elements,
                            chips.c_str(), copies.c_str(), where.c_str());
            else std::printf("%s\n%s\nlayout: %s\n", where.c_str(), copies.c_str(), chips.c_str());
            const std::string first =
                all ? kind.shape + "," + kind.use + "," + kind.type + "," + kind.layout + "," : "";
            for (int at = 0; at < int(dump.size()); ++at)
                csv_text += first + format("%d,%d,%d,%d\n", at / elements, at % elements,
                                           dump[at].row, dump[at].col);
            const std::string on = chips == "unknown layout" ? chip.architecture() : chips;
            write_whole(svg, draw(kind, dump, kind.name() + " on " + on,
                                  {"In each cell lane: x[i]; the lanes' colours are at the foot.",
                                   where, copies}));
        }
        write_whole(csv, csv_text);
    });
}
