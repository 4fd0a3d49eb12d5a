// CLBlast's product, to compare with, where its library is installed. It is loaded at run time, so
// that the program also starts without it.
#pragma once

#include <dlfcn.h>

#include "08_opencl_gcn/opencl.h"
#include "common/errors.h"

class Clblast {
public:
    Clblast() {
        if (void* library = dlopen("libclblast.so.1", RTLD_NOW))
            sgemm_ = reinterpret_cast<Sgemm*>(dlsym(library, "CLBlastSgemm"));
    }
    explicit operator bool() const { return sgemm_ != nullptr; }

    // Enqueues C = A * B, all row-major and packed.
    void multiply(int M, int N, int K, const cl::Buffer& A, const cl::Buffer& B,
                  const cl::Buffer& C) const {
        constexpr int kRowMajor = 101, kNotTransposed = 111;  // clblast_c.h
        cl_command_queue queue = in_use->queue();
        const int status = sgemm_(kRowMajor, kNotTransposed, kNotTransposed, M, N, K, 1.0f, A(), 0,
                                  K, B(), 0, N, 0.0f, C(), 0, N, &queue, nullptr);
        if (status != 0)
            throw Failure(kDeviceFailed, format("CLBlastSgemm failed: status %d", status));
    }

private:
    using Sgemm = int(int, int, int, size_t, size_t, size_t, float, cl_mem, size_t, size_t, cl_mem,
                      size_t, size_t, float, cl_mem, size_t, size_t, cl_command_queue*, cl_event*);
    Sgemm* sgemm_ = nullptr;
};
