// gloo_allreduce ALGORITHM RANK RANKS STORE ADDRESS SIZES SAMPLES WARMUP: Gloo over its tcp transport.
//
// ALGORITHM: new_ring, new_bcube (the function gloo::allreduce); ring_chunked, halving_doubling (the objects
// of its own benchmark, made once before the timing). One process a rank; they meet through files in STORE.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <map>
#include <memory>
#include <numeric>

#include "samples.h"

namespace {

using Sum = void (*)(void*, const void*, const void*, std::size_t);

class Ranks {
 public:
  Ranks(int rank, int ranks, const std::string& store, const std::string& address)
      : files_(store), context_(std::make_shared<gloo::rendezvous::Context>(rank, ranks)) {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = address;
    attributes.ai_family = AF_INET;
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    context_->connectFullMesh(files_, device);
  }

  void barrier() {
    gloo::BarrierOptions options(context_);
    options.setTag(tag_++);
    gloo::barrier(options);
  }

  std::vector<double> gathered(double mine) {
    std::vector<double> all(context_->size);
    gloo::AllgatherOptions options(context_);
    options.setInput(&mine, 1);
    options.setOutput(all.data(), all.size());
    options.setTag(tag_++);
    gloo::allgather(options);
    return all;
  }

  void allreduce(const std::string& algorithm, float* data, std::size_t count) {
    if (algorithm == "new_ring" || algorithm == "new_bcube") {
      gloo::AllreduceOptions options(context_);
      options.setOutput(data, count);
      options.setReduceFunction(static_cast<Sum>(&gloo::sum<float>));
      options.setAlgorithm(algorithm == "new_ring" ? gloo::AllreduceOptions::Algorithm::RING
                                                   : gloo::AllreduceOptions::Algorithm::BCUBE);
      options.setTag(tag_++);
      gloo::allreduce(options);
      return;
    }
    auto& object = objects_[{data, count}];  // registering buffers is not part of a call
    if (!object) {
      const std::vector<float*> buffers{data};
      if (algorithm == "ring_chunked")
        object = std::make_unique<gloo::AllreduceRingChunked<float>>(context_, buffers, int(count));
      else
        object = std::make_unique<gloo::AllreduceHalvingDoubling<float>>(context_, buffers, int(count));
    }
    object->run();
  }

 private:
  gloo::rendezvous::FileStore files_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::map<std::pair<float*, std::size_t>, std::unique_ptr<gloo::Algorithm>> objects_;
  std::uint32_t tag_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) {
    std::fprintf(stderr, "gloo_allreduce ALGORITHM RANK RANKS STORE ADDRESS SIZES SAMPLES WARMUP\n");
    return 3;
  }
  const std::string algorithm = argv[1];
  samples::Library library;
  library.rank = std::atoi(argv[2]);
  library.ranks = std::atoi(argv[3]);
  Ranks ranks(library.rank, library.ranks, argv[4], argv[5]);
  library.barrier = [&] { ranks.barrier(); };
  library.allreduce = [&](float* data, std::size_t count) { ranks.allreduce(algorithm, data, count); };
  library.largest = [&](double value) {
    const auto all = ranks.gathered(value);
    return *std::max_element(all.begin(), all.end());
  };
  library.total = [&](double value) {
    const auto all = ranks.gathered(value);
    return std::accumulate(all.begin(), all.end(), 0.0);
  };
  const samples::Plan plan{samples::parse_sizes(argv[6]), std::atoi(argv[7]), std::atoi(argv[8])};
  const bool right = samples::measure(plan, library);
  ranks.barrier();
  return right ? 0 : 1;
}
