// Graphs by stream capture. Here all streams run in the order of the calls, so a graph is the list
// of its calls.

#include <utility>
#include <vector>

#include "emulator/api/errors.h"
#include "emulator/include/cuda_runtime_api.h"

struct Recorded {
    cudaError_t (*run)(const void*);
    // Never freed, because a graph shares it with the executable graphs made from it.
    const void* call;
};
struct CUgraph_st {
    std::vector<Recorded> calls;
};
struct CUgraphExec_st : CUgraph_st {};

namespace emulator {
namespace {

cudaStream_t captured_stream = nullptr;
CUgraph_st* graph = nullptr;  // null: nothing is captured

bool is_default(cudaStream_t stream) { return !stream || stream == cudaStreamLegacy; }

}  // namespace

bool capturing() { return graph; }

// Records calls of other streams, too: those that wait for an event of the captured one belong to
// the graph.
cudaError_t record_call(cudaStream_t stream, cudaError_t (*run)(const void*), const void* call) {
    if (is_default(stream)) return set_last_error(cudaErrorStreamCaptureImplicit);
    graph->calls.push_back({run, call});
    return cudaSuccess;
}

}  // namespace emulator

using namespace emulator;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (is_default(stream)) return set_last_error(cudaErrorStreamCaptureUnsupported);
    if (graph) return set_last_error(cudaErrorIllegalState);
    captured_stream = stream;
    graph = new CUgraph_st;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* captured) {
    if (!graph || stream != captured_stream) return set_last_error(cudaErrorIllegalState);
    *captured = std::exchange(graph, nullptr);
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    *status = graph && stream == captured_stream ? cudaStreamCaptureStatusActive
                                                 : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t of, cudaGraphNode_t*, size_t* count) {
    *count = of->calls.size();
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t of, unsigned long long) {
    if (!of) return set_last_error(cudaErrorInvalidValue);
    *made = new CUgraphExec_st{*of};
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t made, cudaStream_t stream) {
    if (!made) return set_last_error(cudaErrorInvalidValue);
    const InStream scope(stream);
    cudaError_t error = cudaSuccess;
    for (const Recorded& recorded : made->calls)
        if (!error) error = recorded.run(recorded.call);
    return error;
}
cudaError_t cudaGraphDestroy(cudaGraph_t of) {
    delete of;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t made) {
    delete made;
    return cudaSuccess;
}
