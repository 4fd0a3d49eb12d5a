// One stage's product: its kernel, and the padding to whole tiles around it.
#pragma once

#include <vector>

#include "08_opencl_gcn/opencl.h"
#include "common/operands.h"
#include "common/verify.h"

using Operands = OperandsIn<OpenClArray, OpenClArray>;

constexpr int kGroup = 16;  // a work-group is 16 x 16 work-items in every stage

struct OpenClStage {
    const char* name;  // of the .cl file
    int per_item;  // a work-item owns per_item x per_item elements of C
    int tile_k;  // K must be a multiple of it
    // How many elements of A and B all work-items together load from global memory, for whole
    // tiles.
    double (*loaded_elements)(double M, double N, double K);
    // How many bytes they load from local memory, or nullptr where they load none.
    double (*local_loaded_bytes)(double M, double N, double K);
};

inline int round_up(int length, int to) { return (length + to - 1) / to * to; }

// The shape that the kernel sees.
inline Shape padded(const OpenClStage& stage, Shape s) {
    const int tile = kGroup * stage.per_item;
    return {round_up(s.M, tile), round_up(s.N, tile), round_up(s.K, stage.tile_k)};
}

struct Matrix {
    cl::Buffer buffer;
    int rows, cols;
};

// A stage, its kernel, and a set of operands.
class Product {
public:
    Product(const OpenClStage& stage, const cl::Kernel& matmul, const cl::Kernel& resize,
            Operands& x)
        : stage_(stage), matmul_(matmul), resize_(resize),
          shape_(padded(stage, x.shape)), A_{x.A_device.data(), x.shape.M, x.shape.K},
          B_{x.B_device.data(), x.shape.K, x.shape.N}, C_{x.C_device(), x.shape.M, x.shape.N},
          A_padded_(room_for(A_, shape_.M, shape_.K)), B_padded_(room_for(B_, shape_.K, shape_.N)),
          C_padded_(room_for(C_, shape_.M, shape_.N)) {}

    // Copies C's NaN into the padded copy, so that elements which a stage does not write are
    // noticed.
    void clear() { copy(C_, C_padded_); }

    // Enqueues C = A * B with the padding that it needs.
    void launch() {
        using Matmul = cl::KernelFunctor<int, int, int, cl::Buffer, cl::Buffer, cl::Buffer>;
        const Shape s = shape_;
        events_.clear();
        copy(A_, A_padded_);
        copy(B_, B_padded_);
        events_.push_back(Matmul(matmul_)(work_items(s.M / stage_.per_item, s.N / stage_.per_item),
                                          s.M, s.N, s.K, A_padded_.buffer, B_padded_.buffer,
                                          C_padded_.buffer));
        copy(C_padded_, C_);
        in_use->queue.flush();
    }

    // Waits for what was launched. Returns the milliseconds from the start of its first kernel to
    // the end of its last.
    double wait() {
        cl::Event::waitForEvents(events_);
        return (events_.back().getProfilingInfo<CL_PROFILING_COMMAND_END>() -
                events_.front().getProfilingInfo<CL_PROFILING_COMMAND_START>()) *
               1e-6;
    }

private:
    static bool same(const Matrix& a, const Matrix& b) { return a.buffer() == b.buffer(); }

    // `matrix` itself if it has that size, otherwise a buffer for a copy of it.
    static Matrix room_for(const Matrix& matrix, int rows, int cols) {
        if (matrix.rows == rows && matrix.cols == cols) return matrix;
        return {OpenClArray(size_t(rows) * cols).data(), rows, cols};
    }

    // A work-item for each of rows x cols, rounded up to whole work-groups; dimension 0 lies along
    // a row.
    static cl::EnqueueArgs work_items(int rows, int cols) {
        return {in_use->queue, cl::NDRange(round_up(cols, kGroup), round_up(rows, kGroup)),
                cl::NDRange(kGroup, kGroup)};
    }

    // Pads or unpads; does nothing if the matrix needs no padding.
    void copy(const Matrix& from, const Matrix& to) {
        using Resize = cl::KernelFunctor<int, int, cl::Buffer, int, int, cl::Buffer>;
        if (same(from, to)) return;
        events_.push_back(Resize(resize_)(work_items(to.rows, to.cols), from.rows, from.cols,
                                          from.buffer, to.rows, to.cols, to.buffer));
    }

    OpenClStage stage_;
    cl::Kernel matmul_, resize_;
    Shape shape_;
    Matrix A_, B_, C_, A_padded_, B_padded_, C_padded_;
    std::vector<cl::Event> events_;
};
