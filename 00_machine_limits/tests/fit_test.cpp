// The fit of T = 3 N^2 T_x + 2 N^3 T_gpu to the times of copies and kernels.
#include "00_machine_limits/fit.h"

#include <gtest/gtest.h>

#include <limits>

namespace {

// What copies of t_x ns an element and a kernel of t_gpu ns a flop take, in milliseconds.
FitPoint point(double n, double t_x, double t_gpu) {
    return {n, 3 * n * n * t_x * 1e-6, 2 * n * n * n * t_gpu * 1e-6};
}

TEST(Fit, RecoversExactTimes) {
    const Fit f =
        fit({point(512, 0.08, 1.6e-4), point(1024, 0.08, 1.6e-4), point(8192, 0.08, 1.6e-4)});
    EXPECT_NEAR(f.t_x_ns, 0.08, 1e-12);
    EXPECT_NEAR(f.t_gpu_ns, 1.6e-4, 1e-15);
    EXPECT_NEAR(f.gbs(), 50, 1e-9);
    EXPECT_NEAR(f.tflops(), 6.25, 1e-9);
    EXPECT_NEAR(f.crossover_n(), 750, 1e-9);
    EXPECT_NEAR(f.worst_error, 0, 1e-12);
    EXPECT_NEAR(f.model_ms(1000), 3e6 * 0.08e-6 + 2e9 * 1.6e-10, 1e-12);
}

TEST(Fit, TransferAndComputationTakeTheSameTimeAtTheCrossover) {
    const Fit f = fit({point(4096, 0.3, 7e-4)});
    const double n = f.crossover_n();
    EXPECT_NEAR(3 * n * n * f.t_x_ns, 2 * n * n * n * f.t_gpu_ns, 1e-3);
}

TEST(Fit, OnePointIsMetExactly) {
    const Fit f = fit({{8192, 70, 787}});  // the article: 805 MB in 0.070 s, 1.1e12 flop in 0.787 s
    EXPECT_NEAR(f.gbs(), 11.5, 0.05);
    EXPECT_NEAR(f.tflops(), 1.397, 0.0005);
    EXPECT_NEAR(f.crossover_n(), 729, 0.5);
    EXPECT_NEAR(f.model_ms(8192), 857, 1e-9);
    EXPECT_NEAR(f.worst_error, 0, 1e-12);
    EXPECT_EQ(kArticle.transfer_ms, 70);
}

// Two points of which the small one takes twice as long for its work: with relative errors T becomes 1.2 times the large one's;
// with absolute errors the small one would not count.
TEST(Fit, SmallSizesCountAsMuchAsLargeOnes) {
    const Fit f = fit({point(100, 0.2, 2e-4), point(10000, 0.1, 1e-4)});
    EXPECT_NEAR(f.t_x_ns, 0.12, 1e-12);
    EXPECT_NEAR(f.t_gpu_ns, 1.2e-4, 1e-15);
    EXPECT_NEAR(f.worst_error, -0.4, 1e-9);
    EXPECT_EQ(f.worst_n, 100);
}

TEST(Fit, KeepsTheTwoTermsApart) {
    const Fit f = fit({point(500, 0.1, 1e-4), point(5000, 0.1, 3e-4)});
    EXPECT_NEAR(f.t_x_ns, 0.1, 1e-12);
    EXPECT_NE(f.t_gpu_ns, 1e-4);
}

TEST(Fit, NoiseOfOnePercentMovesItByNoMore) {
    std::vector<FitPoint> points;
    for (int i = 0; i < 9; ++i) {
        FitPoint p = point(512 << i / 2, 0.08, 1.6e-4);
        p.transfer_ms *= 1 + 0.01 * ((i * 7) % 3 - 1);
        p.kernel_ms *= 1 + 0.01 * ((i * 5) % 3 - 1);
        points.push_back(p);
    }
    const Fit f = fit(points);
    EXPECT_NEAR(f.t_x_ns, 0.08, 0.0008);
    EXPECT_NEAR(f.t_gpu_ns, 1.6e-4, 1.6e-6);
    EXPECT_GT(std::fabs(f.worst_error), 0);
    EXPECT_LT(std::fabs(f.worst_error), 0.021);
}

TEST(Fit, RefusesWhatIsNoPoint) {
    EXPECT_THROW(fit({}), Failure);
    const double inf = std::numeric_limits<double>::infinity();
    for (const double bad : {std::nan(""), inf, -inf, 0.0, -1.0}) {
        EXPECT_THROW(fit({point(512, 0.08, 1.6e-4), {bad, 1, 1}}), Failure) << bad;
        EXPECT_THROW(fit({point(512, 0.08, 1.6e-4), {512, bad, 1}}), Failure) << bad;
        EXPECT_THROW(fit({{512, 1, bad}}), Failure) << bad;
    }
}

}  // namespace
