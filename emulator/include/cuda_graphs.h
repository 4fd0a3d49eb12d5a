// Graphs by stream capture: a list of calls, which are recorded and not executed. Graphs built node
// by node are not supported.
#pragma once

#include "cuda_errors.h"

using cudaStream_t = struct CUstream_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
using cudaGraphNode_t = struct CUgraphNode_st*;
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };

namespace emulator {
bool capturing();
// While one of these exists, calls are made in that stream, and the host need not wait for them.
struct InStream {
    cudaStream_t before;
    bool within;
    explicit InStream(cudaStream_t stream, const char* file = nullptr, int line = 0);
    ~InStream();
};
cudaError_t record_call(cudaStream_t stream, cudaError_t (*run)(const void*), const void* call);
// Makes the call at once or, while a stream is captured, records it.
template <class Call>
cudaError_t in_stream(cudaStream_t stream, const Call& call, const char* file = nullptr,
                      int line = 0) {
    if (!capturing()) {
        const InStream scope(stream, file, line);
        return call();
    }
    return record_call(
        stream, [](const void* recorded) { return (*static_cast<const Call*>(recorded))(); },
        new Call(call));
}
}  // namespace emulator

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph,
                                 unsigned long long flags = 0);
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, cudaGraphNode_t*,
                                        char*, size_t) {
    return cudaGraphInstantiate(made, graph);
}
inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* made, cudaGraph_t graph,
                                                 unsigned long long flags) {
    return cudaGraphInstantiate(made, graph, flags);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
