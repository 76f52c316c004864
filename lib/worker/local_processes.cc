#include "worker/local_processes.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>

#include "base/phase.h"
#include "base/plural.h"
#include "run/member.h"
#include "run/report.h"
#include "wire/convert.h"
#include "worker/group.h"

namespace ringtrue::worker {
namespace {

tl::unexpected<Error> in_phase(Phase phase, Error error) {
  if (error.where.empty()) error.where.phase = phase;
  return tl::unexpected(std::move(error));
}

}  // namespace

Result<run::RunReport> run_in_processes(const run::Job& job, int processes, Deadline deadline,
                                        const std::stop_token& stop) {
  const int ranks = job.ranks();
  if (processes < 1 || processes > ranks)
    return fail(Cause::bad_input,
                fmt::format("{} for {}", plural(processes, "process", "processes"), plural(ranks, "rank")),
                {}, "give --processes between 1 and the number of ranks");
  run::Job dealt = job;
  if (dealt.nodes.empty()) dealt.nodes = {"localhost"};
  if (dealt.nodes.size() != 1) return fail(Cause::bad_input, "several nodes on one machine need daemons");
  for (int r = 0; r < ranks; ++r)
    dealt.seats[std::size_t(r)] = {0, int(std::int64_t(r) * processes / ranks), r};

  if (auto fits = wire::sendable(dealt); !fits) return tl::unexpected(fits.error());
  auto program = worker::find_worker();
  if (!program) return tl::unexpected(program.error());
  run::Member member;
  member.processes = processes;
  member.secret.resize(32);
  member.data_address = "127.0.0.1";
  if (getrandom(member.secret.data(), member.secret.size(), 0) != ssize_t(member.secret.size()))
    return fail(Cause::internal, "no random bytes from the system");

  auto workers = worker::start_workers(*program, member, deadline);
  if (!workers) return in_phase(Phase::start, workers.error());
  worker::WorkerGroup& group = **workers;
  const std::stop_callback abort(stop, [&group] { group.abort(); });
  auto ports = group.prepare(dealt, deadline);
  if (!ports) return in_phase(Phase::prepare, ports.error());
  std::vector<run::Address> addresses;
  for (const int port : *ports) addresses.push_back({member.data_address, port});
  if (auto done = group.connect({addresses}, deadline); !done) return in_phase(Phase::connect, done.error());
  if (auto done = group.barrier(deadline); !done) return in_phase(Phase::barrier, done.error());
  if (auto done = group.run(deadline); !done) return in_phase(Phase::run, done.error());
  // What has been measured is not lost for want of a moment to fetch it.
  const Deadline fetch = Deadline::in(Seconds(std::max(1.0, deadline.left_ms() * 1e-3)));
  auto report = group.collect(fetch);
  if (!report) return in_phase(Phase::collect, report.error());
  group.release();
  return report;
}

}  // namespace ringtrue::worker
