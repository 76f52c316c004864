#include "ideal/loads.h"

#include <gtest/gtest.h>

#include "collective/recorder.h"

namespace ringtrue::ideal {
namespace {

using collective::Layout;

TEST(Loads, AreToldWithWhatTheSchedulesSendInAll) {
  for (const collective::Algorithm& algorithm : collective::algorithms()) {
    if (algorithm.uses_packets()) continue;
    for (const int n : {2, 3, 4, 7, 8, 16, 23}) {
      for (const Layout& layout : {Layout::one_node(n), Layout::uniform(n, 1)}) {
        collective::Call call;
        call.elements = 16 * 23 * 7 * 9 * 3;
        call.slice_bytes = 4096;
        call.lanes = 2;
        double sent = 0;
        for (collective::Rank r = 0; r < n; ++r)
          collective::record(algorithm, layout, r, call, [&](const collective::Step& step) {
            if (step.kind == collective::Step::Kind::send) sent += double(step.slice.length);
          });
        const double bytes = double(call.bytes());
        EXPECT_NEAR(sent / bytes, sent_by_all(algorithm.id, n), 0.001) << algorithm.name << " " << n;
      }
    }
  }
}

TEST(Loads, AreNothingWhereARankIsAlone) {
  for (const collective::Algorithm& algorithm : collective::algorithms())
    if (!algorithm.uses_packets()) EXPECT_EQ(sent_by_all(algorithm.id, 1), 0) << algorithm.name;
}

}  // namespace
}  // namespace ringtrue::ideal
