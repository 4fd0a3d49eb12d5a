// What surrounds every stage: padding to whole tiles and back, so that the kernels of the stages need no guard.
//
// Copies a row-major matrix into one of another size. Elements outside `from` become zero: padding, which does not change a
// product. Elements outside `to` are dropped: unpadding.
kernel void resize(int from_rows, int from_cols, global const float* from, int to_rows, int to_cols, global float* to) {
    const int row = get_global_id(1);
    const int col = get_global_id(0);
    if (row >= to_rows || col >= to_cols) return;  // the grid is rounded up to whole work-groups
    const bool inside = row < from_rows && col < from_cols;
    to[(size_t)row * to_cols + col] = inside ? from[(size_t)row * from_cols + col] : 0.0f;
}
