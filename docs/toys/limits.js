// Measured, from docs/results/*/limits.csv; ./run plot writes it.
const LIMITS = [
  { gpu: "NVIDIA H200", memory: 4274.4, shared: 33276.7, peak: 65940.0 },  // GB/s, GB/s, GFLOP/s
  { gpu: "NVIDIA H100 80GB HBM3", memory: 3044.2, shared: 33334.7, peak: 65938.4 },  // GB/s, GB/s, GFLOP/s
];
