// Measured, from limits.csv and ladder.csv of docs/results/*; ./run plot writes it.
const LIMITS = [
  { gpu: "NVIDIA H200", memory: 4274.4, shared: 33276.7, peak: 65940.0, chapters: [  // GB/s, GB/s, GFLOP/s
    { name: "01", flopPerByte: 0.25, gflops: 6175 },
    { name: "02", flopPerByte: 2.00, gflops: 15114 },
    { name: "03", flopPerByte: 31.75, gflops: 13968 },
    { name: "04", flopPerByte: 31.75, gflops: 39382 },
    { name: "05", flopPerByte: 31.75, gflops: 51848 },
    { name: "09", flopPerByte: 42.24, gflops: 55191 },
  ] },
  { gpu: "NVIDIA H100 80GB HBM3", memory: 3044.2, shared: 33334.7, peak: 65938.4, chapters: [  // GB/s, GB/s, GFLOP/s
    { name: "01", flopPerByte: 0.25, gflops: 6148 },
    { name: "02", flopPerByte: 2.00, gflops: 15049 },
    { name: "03", flopPerByte: 31.75, gflops: 13994 },
    { name: "04", flopPerByte: 31.75, gflops: 38787 },
    { name: "05", flopPerByte: 31.75, gflops: 51889 },
    { name: "09", flopPerByte: 42.24, gflops: 55216 },
  ] },
];
