#include "collective/omnireduce/omnireduce.h"

#include "collective/omnireduce/aggregator.h"
#include "collective/omnireduce/worker.h"

namespace ringtrue::collective {

Task omnireduce(Endpoint& self, const Call& call) {
  if (call.elements == 0) co_return;
  if (self.rank() < call.omni.workers) {
    OmniWorker worker(self, call);
    const Task work = worker.run();
    co_await work;
  } else {
    OmniAggregator aggregator(self, call);
    const Task work = aggregator.run();
    co_await work;
  }
}

}  // namespace ringtrue::collective
