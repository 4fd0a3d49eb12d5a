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
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone,
    cudaStreamCaptureStatusActive,
    cudaStreamCaptureStatusInvalidated
};
enum cudaGraphExecUpdateResult {
    cudaGraphExecUpdateSuccess = 0,
    cudaGraphExecUpdateError = 1,
    cudaGraphExecUpdateErrorTopologyChanged = 2
};
struct cudaGraphExecUpdateResultInfo {
    cudaGraphExecUpdateResult result;
    cudaGraphNode_t errorNode, errorFromNode;
};

// A call that was captured.
struct CUgraphNode_st {
    virtual ~CUgraphNode_st() = default;
    virtual cudaError_t run() const = 0;
};

namespace emulator {
// While one of these exists, calls are made in that stream. async: the host need not wait for them.
struct InStream {
    cudaStream_t before;
    bool within;
    explicit InStream(cudaStream_t stream, const char* file = nullptr, int line = 0,
                      bool async = true);
    ~InStream();
};
// While one of these exists, a function of the host runs in a stream, and must not call CUDA.
struct HostFunction {
    InStream scope;  // the places of its calls are its own
    explicit HostFunction(cudaStream_t stream);
    ~HostFunction();
};
template <class Call>
struct Captured : CUgraphNode_st {
    Call call;
    explicit Captured(const Call& call) : call(call) {}
    cudaError_t run() const override { return call(); }
};
bool captured(cudaStream_t stream);
cudaError_t capture(cudaStream_t stream, cudaGraphNode_t call);  // and owns the call
// The error of a call in a stream that is not captured, or cudaSuccess. The default stream would
// wait for blocking streams, so a call in it while one of them is captured invalidates the capture.
cudaError_t may_use(cudaStream_t stream);
// Makes the call at once or, if the stream is captured, adds it to the graph.
template <class Call>
cudaError_t in_stream(cudaStream_t stream, const Call& call, const char* file = nullptr,
                      int line = 0) {
    if (captured(stream)) return capture(stream, new Captured<Call>(call));
    if (const cudaError_t error = may_use(stream)) return error;
    const InStream scope(stream, file, line);
    return call();
}
}  // namespace emulator

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags = 0);
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t*,
                                        char*, size_t) {
    return cudaGraphInstantiate(exec, graph);
}
inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                 unsigned long long flags) {
    return cudaGraphInstantiate(exec, graph, flags);
}
// exec gets the graph's calls, if there are as many as before.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info);
inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t*,
                                       cudaGraphExecUpdateResult* result) {  // before CUDA 12
    cudaGraphExecUpdateResultInfo info;
    const cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
    *result = info.result;
    return error;
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
