// Slide 39, the same in OpenCL: there is no loop, because each work-item adds one element.
kernel void vector_sum(global const float* A, global const float* B, global float* C, int N) {
    const int i = get_global_id(0);
    if (i < N) C[i] = A[i] + B[i];
}
