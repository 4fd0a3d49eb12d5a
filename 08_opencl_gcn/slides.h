// The listings of slides 39 to 48, in slides/: a vector sum and a product, sequential and in
// OpenCL, and the 2 x 2 blocking as printed and as it is meant. Each kernel is compared with the
// sequential code, then timed.
#pragma once

#include "08_opencl_gcn/product.h"
#include "08_opencl_gcn/slides/39_vector_sum.h"
#include "08_opencl_gcn/slides/41_matmul.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/operands.h"
#include "common/options.h"
#include "common/table.h"
#include "common/timing.h"
#include "common/verify.h"

struct Listing {
    const char *slide, *file;
    int per_item;  // a work-item computes per_item x per_item elements; 1: with a guard
    bool rows_first;  // dimension 0 numbers the rows of C
    bool correct;
};
constexpr Listing kListings[] = {{"42", "42_naive", 1, false, true},
                                 {"44", "44_naive", 1, true, true},
                                 {"48", "48_as_printed", 2, false, false},
                                 {"48", "48_corrected", 2, false, true}};

class Slides {
public:
    Slides(const Options& options, const std::string& folder, const FoundDevice& found)
        : options_(options), folder_(folder),
          in_use_(found.device), where_{
                                     {"gpu", found.name},
                                     {"driver", trimmed(found.device.getInfo<CL_DRIVER_VERSION>())},
                                     {"date", today()}} {
        in_use = &in_use_;
        std::printf("%s (%s); wrong: elements that differ from the sequential code's\n",
                    found.name.c_str(), found.platform.c_str());
    }
    ~Slides() { in_use = nullptr; }
    Slides(const Slides&) = delete;
    Slides& operator=(const Slides&) = delete;

    static Columns table() {
        return {{"slide", "slide", -5},
                {"file", "file", -15},
                {"elements", "elements", 9},
                {"wrong", "wrong", 7},
                {"another_b", "another B", 16},
                {"m", "M", 8},
                {"n", "N", 7},
                {"k", "K", 7},
                {"median_ms", "time", 10, as_time},
                {"gflops", "TFLOP/s", 9, as_tera}};
    }

    // A row for each listing and each shape. Throws Failure and cl::Error.
    void run(const std::vector<Shape>& shapes, Report& report) {
        const auto add = [&](Row row, const Row& more) {
            add_cells(row, more);
            add_cells(row, where_);
            report.add(row);
        };
        if (options_.verify_only) add(add_vectors(1000), {});
        for (const Listing& what : kListings) {
            progress(std::string(what.file) + ": verifying");
            const Row row = verify(what);
            if (options_.verify_only) add(row, {});
            else
                for (const Shape& s : shapes) add(row, time(what, s));
        }
    }

private:
    cl::Kernel kernel(const std::string& file, const std::string& name) const {
        return build_kernel(folder_ + "/slides/" + file + ".cl", name);
    }

    // A wrong listing must give wrong elements, and must not depend on B.
    static Row row_of(const char* slide, const char* file, const std::vector<float>& C,
                      const std::vector<float>& expected, bool uses_b, bool correct = true) {
        size_t wrong = 0;
        for (size_t i = 0; i < C.size(); ++i) wrong += !(C[i] == expected[i]);
        if ((wrong == 0) != correct || uses_b != correct)
            throw Failure(kWrongResult, format("%s: %zu of %zu elements differ from the sequential "
                                               "code's, and another B changes %s",
                                               file, wrong, C.size(), uses_b ? "them" : "nothing"));
        return {{"slide", slide},
                {"file", file},
                {"elements", std::to_string(C.size())},
                {"wrong", std::to_string(wrong)},
                {"another_b", uses_b ? "changes C" : "changes nothing"}};
    }

    // Slide 39. Work-items past the end of the vectors must leave alone what lies there.
    Row add_vectors(int n) const {
        const int items = round_up(n + 1, kGroup);
        const std::vector<float> A = random_reals(n, 1), B = random_reals(n, 2);
        std::vector<float> correct(items, 7.0f), C = correct;
        vector_sum(A.data(), B.data(), correct.data(), n);
        OpenClArray A_device(n), B_device(n), C_device(items);
        A_device.upload(A);
        B_device.upload(B);
        C_device.upload(C);
        using Sum = cl::KernelFunctor<cl::Buffer, cl::Buffer, cl::Buffer, int>;
        Sum(kernel("39_vector_sum", "vector_sum"))(
            {in_use->queue, cl::NDRange(items), cl::NDRange(kGroup)}, A_device.data(),
            B_device.data(), C_device.data(), n);
        C_device.download(C);
        return row_of("39", "39_vector_sum", C, correct, true);
    }

    // The matrices of a product, and what launches it.
    struct OnDevice {
        OnDevice(const Listing& what, Shape s, const cl::Kernel& kernel)
            : what(what), s(s), kernel(kernel), A(size_t(s.M) * s.K), B(size_t(s.K) * s.N),
              C(size_t(s.M) * s.N) {}

        // Milliseconds.
        double launch() {
            using Matmul = cl::KernelFunctor<cl::Buffer, cl::Buffer, cl::Buffer, int, int, int>;
            int items[] = {s.N / what.per_item, s.M / what.per_item};  // along dimensions 0 and 1
            if (what.rows_first) std::swap(items[0], items[1]);
            if (what.per_item == 1)
                for (int& each : items) each = round_up(each, kGroup);
            const bool whole = items[0] % kGroup == 0 && items[1] % kGroup == 0;
            const cl::Event event =
                Matmul(kernel)({in_use->queue, cl::NDRange(items[0], items[1]),
                                whole ? cl::NDRange(kGroup, kGroup) : cl::NullRange},
                               A.data(), B.data(), C.data(), s.M, s.N, s.K);
            event.wait();
            return (event.getProfilingInfo<CL_PROFILING_COMMAND_END>() -
                    event.getProfilingInfo<CL_PROFILING_COMMAND_START>()) *
                   1e-6;
        }

        std::vector<float> multiply(const std::vector<float>& a, const std::vector<float>& b) {
            std::vector<float> c(size_t(s.M) * s.N, unwritten());
            A.upload(a);
            B.upload(b);
            C.upload(c);
            launch();
            C.download(c);
            return c;
        }

        Listing what;
        Shape s;
        cl::Kernel kernel;
        OpenClArray A, B, C;
    };

    // Against slide 41, on integers; and with another B.
    Row verify(const Listing& what) const {
        const Shape s = {what.per_item * 19, what.per_item * 65, 33};
        const std::vector<float> A = random_integers(size_t(s.M) * s.K, 1, 9);
        const std::vector<float> B = random_integers(size_t(s.K) * s.N, 2, 9);
        const std::vector<float> other = random_integers(size_t(s.K) * s.N, 3, 9);
        std::vector<float> correct(size_t(s.M) * s.N);
        matmul(A.data(), B.data(), correct.data(), s.M, s.N, s.K);
        OnDevice on(what, s, kernel(what.file, "matmul"));
        const std::vector<float> C = on.multiply(A, B);
        return row_of(what.slide, what.file, C, correct, C != on.multiply(A, other), what.correct);
    }

    Row time(const Listing& what, Shape s) const {
        if (s.M % what.per_item != 0 || s.N % what.per_item != 0)
            throw Failure(kBadCommandLine, "slide 48 has no guard: M and N must be even");
        progress(format("%s: timing %s", what.file, to_string(s).c_str()));
        OnDevice on(what, s, kernel(what.file, "matmul"));
        const std::vector<float> A = random_reals(size_t(s.M) * s.K, options_.seed);
        const std::vector<float> B = random_reals(size_t(s.K) * s.N, options_.seed + 1);
        const std::vector<float> C = on.multiply(A, B);
        if (what.correct)
            with_context(what.file, [&] { check_accuracy(s, A, B, C.data(), kFp32); });
        std::vector<float> ms;
        for (int r = 0; r < options_.repeat; ++r) ms.push_back(float(on.launch()));
        Row row = {
            {"m", std::to_string(s.M)}, {"n", std::to_string(s.N)}, {"k", std::to_string(s.K)}};
        add_times(row, summarize(ms), 2.0 * s.M * s.N * s.K, 0);
        add_cells(row, {{"repeats", std::to_string(options_.repeat)}});
        return row;
    }

    Options options_;
    std::string folder_;
    InUse in_use_;
    Row where_;
};
