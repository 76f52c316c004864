// What is said of GPUs, as text and as JSON that fits its schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "hop.h"
#include "paths.h"
#include "report/json/json.h"
#include "report/text/text.h"
#include "schema.h"

namespace ringtrue::report {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> departures(const std::string& name, const std::string& text) {
  std::ifstream file(RINGTRUE_SOURCE_DIR "/packaging/schema/" + name + ".json");
  std::vector<std::string> errors;
  check_schema(nlohmann::json::parse(file), nlohmann::json::parse(text), "", errors);
  return errors;
}

ops::GpuSweepDocument sweep() {
  ops::GpuSweepDocument document;
  document.nodes = {"node1"};
  document.bytes = 256 << 20;
  diagnosis::GpuRate slow, staged;
  slow.limit = {"node1",
                run::GpuLimit::Kind::to_device,
                {0, "GPU-0", "0000:1b:00.0"},
                {},
                run::GpuLimit::Host::pinned,
                0,
                BytesPerSecond(27e9),
                Seconds(2e-6),
                ""};
  slow.near = true;
  slow.ideal = BytesPerSecond(63e9);
  slow.attainable = BytesPerSecond(57.6e9);
  slow.origin = ideal::Origin::probed;
  slow.source = "PCIe at 0000:1b:00.0, 32 GT/s x16";
  slow.ratio = 27 / 57.6;
  staged.limit = {
      "node1",         run::GpuLimit::Kind::peer_read, {0, "GPU-0", ""}, {1, "GPU-1", ""}, {}, -1, {}, {},
      "no peer access"};
  document.limits.rates = {slow, staged};
  diagnosis::Finding finding;
  finding.severity = diagnosis::Severity::critical;
  finding.kind = diagnosis::FindingKind::slow_gpu_link;
  finding.scope = {diagnosis::ScopeType::gpu, -1, -1, "node1", ""};
  finding.scope.subject.device = "GPU 0 (GPU-0)";
  finding.evidence = {"host-to-device carried 27 GB/s"};
  document.limits.findings = {finding};
  document.limits.not_checked = {
      {diagnosis::StatementKind::gpu_not_measured, {"node0"}, {{"limit", "peer-read"}}, "no peer access"}};
  document.notes = {"a note"};
  return document;
}

TEST(GpuSweep, JsonFitsItsSchema) {
  EXPECT_THAT(departures("sweep-gpu", json(sweep())), IsEmpty());
  ops::GpuSweepDocument none;
  none.error = ops::Trouble{Error{Cause::unavailable, "no NVIDIA GPU here", "", ""}, {}};
  EXPECT_THAT(departures("sweep-gpu", json(none)), IsEmpty());
}

TEST(GpuSweep, TextMarksWhatIsSlow) {
  const std::string out = text(sweep(), Style{});
  EXPECT_THAT(out, HasSubstr("GPU 0, pinned, NUMA 0 (near)"));
  EXPECT_THAT(out, HasSubstr("46.9 %!"));
  EXPECT_THAT(out, HasSubstr("GPU 0 with 1"));
  EXPECT_THAT(out, HasSubstr("no peer access"));
}

TEST(GpuRun, SaysWhereTheDataWasAndWhatTheReferenceDid) {
  ops::RunDocument document;
  ops::RunResult result;
  result.algorithm = collective::AlgorithmId::ring;
  result.transports = {run::Transport::cuda};
  result.type = "float32";
  result.op = "sum";
  result.ranks = 2;
  result.bytes = 1024;
  result.iterations = 2;
  result.wrong = 0;
  document.results = {result};
  document.hops = {hop(0, 1, 4096)};
  document.gpus = {
      {"local", 0, "NVIDIA H100", "GPU-8d1c", {0, 1}, run::GpuPlay::kernel, {run::GpuWay::same_gpu}}};
  document.references = {{{"NCCL 2.28.9", "RING, LL128", {}, 0, ""}, {}}};
  EXPECT_THAT(departures("run", json(document)), IsEmpty());
  EXPECT_THAT(json(document), HasSubstr("\"busy_s\": null"));
  const std::string out = text(document, Style{});
  EXPECT_THAT(out, HasSubstr("GPU 0 of local (NVIDIA H100, GPU-8d1c): ranks 0, 1; kernel, same-gpu\n"));
  EXPECT_THAT(out, HasSubstr("NCCL 2.28.9 (RING, LL128)"));
  document.references[0].reference.why_not = "libnccl.so.2 cannot be opened";
  EXPECT_THAT(text(document, Style{}), Not(HasSubstr("RING, LL128")));
}

}  // namespace
}  // namespace ringtrue::report
