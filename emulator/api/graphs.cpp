// Graphs by stream capture. A graph is the list of the calls that were captured, in their order.
// Source: CUDA programming guide, "Creating a Graph Using Stream Capture", for what joins a
// capture, what is ruled out meanwhile, and what becomes of the capture then.

#include "emulator/api/graphs.h"

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "emulator/api/errors.h"
#include "emulator/api/streams.h"
#include "emulator/trace/report.h"

struct CUgraph_st {
    std::vector<std::shared_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st : CUgraph_st {};

namespace emulator {
namespace {

// Nodes that a call, or what waits for an event, comes after.
using Before = std::set<cudaGraphNode_t>;

struct Capture {
    cudaStream_t origin;
    bool relaxed;  // cudaStreamCaptureModeRelaxed
    std::unique_ptr<CUgraph_st> graph;  // null: the capture has been invalidated
    std::map<cudaStream_t, Before> streams;  // that take part, the origin among them
    std::map<cudaEvent_t, Before> events;  // that were last recorded in one of them
};
// Never destroyed, because a program may still make calls when it ends.
std::list<Capture>& all = *new std::list<Capture>;

Capture* capture_of(cudaStream_t stream) {
    for (Capture& c : all)
        if (c.streams.count(stream)) return &c;
    return nullptr;
}
Capture* capture_of(cudaEvent_t event) {
    for (Capture& c : all)
        if (c.events.count(event)) return &c;
    return nullptr;
}

// The default stream waits for blocking streams, so it can't be used while one of them is captured.
bool blocks_default(const Capture& c) {
    return std::any_of(c.streams.begin(), c.streams.end(),
                       [](const auto& each) { return streams::is_blocking(each.first); });
}

bool any_failed;  // captures, so that a graph may be missing

// The graph is null. If that is because a capture has failed, it is not reported again.
cudaError_t no_graph(const char* call) {
    return any_failed ? set_last_error(cudaErrorInvalidValue)
                      : refuse(call, cudaErrorInvalidValue, "there is no graph");
}

bool in_host_function;

// Invalidates the captures to which `concerned` applies, and returns the error if there are any.
template <class Concerned>
cudaError_t invalidate(const Concerned& concerned, cudaError_t error, const char* call = "a call") {
    if (const cudaError_t refused = captures::permitted(call)) return refused;
    bool any = false, any_valid = false;
    for (Capture& c : all)
        if (concerned(c)) {
            any = true;
            any_valid |= c.graph != nullptr;
            c.graph = nullptr;
        }
    if (!any) return cudaSuccess;
    any_failed = true;
    return any_valid ? refuse(call, error, "the capture of its graph ends with that")
                     : set_last_error(error);
}

}  // namespace

HostFunction::HostFunction(cudaStream_t stream) : scope(stream) { in_host_function = true; }
HostFunction::~HostFunction() { in_host_function = false; }

namespace captures {

// Source: CUDA runtime API, cudaLaunchHostFunc().
cudaError_t permitted(const char* call) {
    return in_host_function
               ? refuse(
                     call, cudaErrorNotPermitted,
                     "a function that a stream calls (cudaLaunchHostFunc, cudaStreamAddCallback) "
                     "must not call CUDA: it may wait for what waits for it")
               : cudaSuccess;
}

cudaError_t host_waits_for(cudaStream_t stream) {
    if (streams::is_default(stream)) return may_use(stream);
    return invalidate([&](const Capture& c) { return c.streams.count(stream); },
                      cudaErrorStreamCaptureUnsupported);
}
cudaError_t host_waits_for(cudaEvent_t event) {
    return invalidate([&](const Capture& c) { return c.events.count(event); },
                      cudaErrorCapturedEvent);
}
cudaError_t host_waits_for_all() {
    return invalidate([](const Capture&) { return true; }, cudaErrorStreamCaptureUnsupported);
}

// Source: CUDA runtime API, cudaThreadExchangeStreamCaptureMode().
cudaError_t unsafe_call(const char* call) {
    return invalidate([](const Capture& c) { return !c.relaxed; },
                      cudaErrorStreamCaptureUnsupported, call);
}

cudaError_t record(cudaEvent_t event, cudaStream_t stream) {
    forget(event);
    Capture* const c = capture_of(stream);
    if (!c) return may_use(stream);
    if (!c->graph) return set_last_error(cudaErrorStreamCaptureInvalidated);
    c->events[event] = c->streams[stream];
    return cudaSuccess;
}

cudaError_t wait(cudaStream_t stream, cudaEvent_t event) {
    Capture *const of_stream = capture_of(stream), *const of_event = capture_of(event);
    const auto either = [&](const Capture& c) { return &c == of_stream || &c == of_event; };
    if (!of_event) return invalidate(either, cudaErrorStreamCaptureIsolation);
    if (of_stream && of_stream != of_event) return invalidate(either, cudaErrorStreamCaptureMerge);
    if (streams::is_default(stream)) return invalidate(either, cudaErrorStreamCaptureImplicit);
    if (!of_event->graph) return set_last_error(cudaErrorStreamCaptureInvalidated);
    const Before& before = of_event->events[event];
    of_event->streams[stream].insert(before.begin(), before.end());  // the stream may join only now
    return cudaSuccess;
}

// Beside a capture of blocking streams the default stream can't be used, and may_use() has said so.
void note_launch(const std::string& place) {
    if (!streams::in_default_stream() || all.empty()) return;
    report_note("the launch at " + place + " is not captured",
                "it is in the default stream, while another stream is captured. It runs once, and "
                "no launch of the graph repeats it; was the stream forgotten in its <<<...>>>?");
}

void forget(cudaEvent_t event) {
    for (Capture& c : all) c.events.erase(event);
}
void forget() { all.clear(); }

}  // namespace captures

bool captured(cudaStream_t stream) { return capture_of(stream); }
bool captured(cudaEvent_t event) { return capture_of(event); }

cudaError_t may_use(cudaStream_t stream) {
    if (const cudaError_t error = captures::permitted("a call")) return error;
    return streams::is_default(stream) ? invalidate(blocks_default, cudaErrorStreamCaptureImplicit)
                                       : cudaSuccess;
}

cudaError_t capture(cudaStream_t stream, cudaGraphNode_t call) {
    std::shared_ptr<CUgraphNode_st> node(call);
    Capture& c = *capture_of(stream);
    if (!c.graph) return set_last_error(cudaErrorStreamCaptureInvalidated);
    c.graph->nodes.push_back(std::move(node));
    c.streams[stream].insert(call);
    return cudaSuccess;
}

}  // namespace emulator

using namespace emulator;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    const char* const call = "cudaStreamBeginCapture";
    if (streams::is_default(stream))
        return refuse(call, cudaErrorStreamCaptureUnsupported,
                      "the default stream cannot be captured");
    if (captured(stream)) return refuse(call, cudaErrorIllegalState, "the stream is captured");
    all.push_back({stream,
                   mode == cudaStreamCaptureModeRelaxed,
                   std::make_unique<CUgraph_st>(),
                   {{stream, {}}},
                   {}});
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    *graph = nullptr;
    Capture* const c = capture_of(stream);
    const char* const call = "cudaStreamEndCapture";
    if (!c) return refuse(call, cudaErrorIllegalState, "the stream is not captured");
    const auto same = [&](const Capture& other) { return &other == c; };
    if (stream != c->origin) return invalidate(same, cudaErrorStreamCaptureUnmatched, call);
    std::unique_ptr<CUgraph_st> captured_graph = std::move(c->graph);
    const bool joined = captured_graph && c->streams[stream].size() == captured_graph->nodes.size();
    all.remove_if(same);
    if (!captured_graph) return set_last_error(cudaErrorStreamCaptureInvalidated);
    any_failed |= !joined;
    if (!joined)
        return refuse(call, cudaErrorStreamCaptureUnjoined,
                      "a stream that has joined has work for which this one does not wait");
    *graph = captured_graph.release();
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    *status = cudaStreamCaptureStatusNone;
    if (streams::is_default(stream) && std::any_of(all.begin(), all.end(), blocks_default))
        return set_last_error(cudaErrorStreamCaptureImplicit);
    if (const Capture* const c = capture_of(stream))
        *status = c->graph ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated;
    return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    if (!graph) return no_graph("cudaGraphGetNodes");
    const size_t there = graph->nodes.size();
    if (!nodes) {
        *count = there;
        return cudaSuccess;
    }
    for (size_t i = 0; i < *count; ++i) nodes[i] = i < there ? graph->nodes[i].get() : nullptr;
    *count = std::min(*count, there);
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
    if (exec) *exec = nullptr;
    if (!graph) return no_graph("cudaGraphInstantiate");
    *exec = new CUgraphExec_st{*graph};
    return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
    *info = {cudaGraphExecUpdateError, nullptr, nullptr};
    if (!exec || !graph) return no_graph("cudaGraphExecUpdate");
    // A program may try this, and instantiate the graph if it fails.
    if (exec->nodes.size() != graph->nodes.size()) {
        info->result = cudaGraphExecUpdateErrorTopologyChanged;
        return set_last_error(cudaErrorGraphExecUpdateFailure);
    }
    exec->nodes = graph->nodes;
    info->result = cudaGraphExecUpdateSuccess;
    return cudaSuccess;
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
    *clone = nullptr;
    if (!graph) return no_graph("cudaGraphClone");
    *clone = new CUgraph_st(*graph);
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    if (!exec) return no_graph("cudaGraphLaunch");
    return in_stream(stream, [nodes = exec->nodes] {
        cudaError_t error = cudaSuccess;
        for (const auto& node : nodes)
            if (!error) error = node->run();
        return error;
    });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    delete exec;
    return cudaSuccess;
}
