// What others' traffic the ports carried during a run: their own byte counters less what the run sent.
#pragma once

#include <map>

#include "diagnosis/measurer.h"
#include "run/job.h"
#include "run/report.h"

namespace ringtrue::ops {

class OthersTrafficMeter {
 public:
  // By node of the experiment, where its counters tell and others' traffic is more than they are exact by.
  // Of TCP the network device counts that carried the run with the least beside it (a bond counts what its
  // members do), of RDMA the ports that it went through.
  std::map<int, diagnosis::OthersTraffic> read(const diagnosis::Observation& observation, const run::Job& job,
                                               const run::RunReport& report);

 private:
  // Bytes on the wire over those of the run: headers and acknowledgements, as most nodes show it.
  double overhead_ = 0;
};

}  // namespace ringtrue::ops
