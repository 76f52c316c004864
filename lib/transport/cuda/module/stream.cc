#include <algorithm>

#include "transport/cuda/module/device_guard.cuh"
#include "transport/cuda/module/kernels.h"

namespace ringtrue::transport::cuda {
namespace {

class RealEvent final : public Event {
 public:
  RealEvent(const DeviceGuard& guard, cudaEvent_t event) : event(event), guard_(guard) {}
  ~RealEvent() override {
    guard_.quietly([&] { return cudaEventDestroy(event); });
  }
  Result<bool> reached() override {
    return guard_.asked([&] { return cudaEventQuery(event); });
  }
  Result<Seconds> since(const Event& earlier) override {
    float milliseconds = 0;
    const auto ask = [&] {
      return cudaEventElapsedTime(&milliseconds, static_cast<const RealEvent&>(earlier).event, event);
    };
    return guard_.call("tell the time", ask).map([&] { return Seconds(double(milliseconds) * 1e-3); });
  }
  const cudaEvent_t event;

 private:
  DeviceGuard guard_;
};

class RealStream final : public Stream {
 public:
  RealStream(const DeviceGuard& guard, cudaStream_t stream) : stream(stream), guard_(guard) {}
  ~RealStream() override {
    guard_.quietly([&] { return cudaStreamDestroy(stream); });
  }

  Result<void> copy(std::byte* into, const std::byte* from, std::uint64_t bytes) override {
    if (!bytes) return {};
    return guard_.call("copy", [&] { return cudaMemcpyAsync(into, from, bytes, cudaMemcpyDefault, stream); });
  }
  Result<void> run(const Interpretation& job) override {
    return guard_.call("start a collective", [&] { return kernels::launch(stream, job); });
  }
  Result<void> run(const Reduction& job) override {
    return launch("reduce", job, job.elements, size_of_type(job.type));
  }
  Result<void> run(const Fill& job) override { return launch("fill", job, job.elements, job.size); }
  Result<void> run(const Check& job) override { return launch("check values", job, job.elements, job.size); }
  Result<void> run(const Bitmap& job) override { return launch("look for zeros", job, job.elements, 4); }

  Result<void> record(Event& event) override {
    return guard_.call("record an event",
                       [&] { return cudaEventRecord(static_cast<RealEvent&>(event).event, stream); });
  }
  Result<void> wait(const Event& event) override {
    return guard_.call("wait for an event", [&] {
      return cudaStreamWaitEvent(stream, static_cast<const RealEvent&>(event).event, 0);
    });
  }
  Result<bool> idle() override {
    return guard_.asked([&] { return cudaStreamQuery(stream); });
  }
  Result<void> begin_capture() override {
    return guard_.call("record a graph",
                       [&] { return cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal); });
  }
  Result<std::unique_ptr<Graph>> end_capture() override;
  void* native() override { return stream; }

  const cudaStream_t stream;

 private:
  // A thread for each 16 bytes, up to four times what the multiprocessors hold of such blocks.
  template <class Job>
  Result<void> launch(const char* what, const Job& job, std::uint64_t elements, std::uint64_t size) {
    const std::uint64_t wanted = (elements * size + 16 * 512 - 1) / (16 * 512);
    const auto blocks = int(std::clamp<std::uint64_t>(wanted, 1, std::uint64_t(guard_.gpu.processors) * 4));
    return guard_.call(what, [&] { return kernels::launch(stream, job, blocks); });
  }

  DeviceGuard guard_;
};

class RealGraph final : public Graph {
 public:
  RealGraph(const DeviceGuard& guard, cudaGraphExec_t graph) : guard_(guard), graph_(graph) {}
  ~RealGraph() override {
    guard_.quietly([&] { return cudaGraphExecDestroy(graph_); });
  }
  Result<void> launch(Stream& stream) override {
    return guard_.call("start a graph",
                       [&] { return cudaGraphLaunch(graph_, static_cast<RealStream&>(stream).stream); });
  }

 private:
  DeviceGuard guard_;
  cudaGraphExec_t graph_;
};

Result<std::unique_ptr<Graph>> RealStream::end_capture() {
  cudaGraph_t graph = nullptr;
  auto ended = guard_.call("record a graph", [&] { return cudaStreamEndCapture(stream, &graph); });
  if (!ended) return tl::unexpected(ended.error());
  cudaGraphExec_t ready = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphDestroy(graph);
  if (auto good = guard_.check(made, "prepare a graph"); !good) return tl::unexpected(good.error());
  auto prepared = std::make_unique<RealGraph>(guard_, ready);
  // Now, and not with its first launch, when another GPU's kernel may already wait for this one's.
  auto sent = guard_.call("prepare a graph", [&] { return cudaGraphUpload(ready, stream); });
  if (!sent) return tl::unexpected(sent.error());
  return prepared;
}

}  // namespace

Result<std::unique_ptr<Stream>> make_stream(const DeviceGuard& guard) {
  cudaStream_t stream = nullptr;
  const auto make = [&] { return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); };
  return guard.call("make a stream", make).map([&]() -> std::unique_ptr<Stream> {
    return std::make_unique<RealStream>(guard, stream);
  });
}

Result<std::unique_ptr<Event>> make_event(const DeviceGuard& guard) {
  cudaEvent_t event = nullptr;
  const auto make = [&] { return cudaEventCreate(&event); };
  return guard.call("make an event", make).map([&]() -> std::unique_ptr<Event> {
    return std::make_unique<RealEvent>(guard, event);
  });
}

}  // namespace ringtrue::transport::cuda
