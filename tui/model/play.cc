#include "tui/model/play.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "operator/check.h"
#include "operator/run.h"
#include "operator/sweep.h"
#include "report/json/json.h"
#include "tui/model/document.h"

namespace ringtrue::tui {
namespace {

// `trouble`: null where it went well.
void end_with(Run& run, const ops::Trouble* trouble) {
  const bool cancelled = trouble != nullptr && trouble->error.cause == Cause::cancelled;
  run.state = cancelled ? Run::State::cancelled : trouble != nullptr ? Run::State::failed : Run::State::done;
  if (run.state == Run::State::failed) run.error = trouble->error.text();
}

template <class Document>
void end_with(Run& run, const ops::Outcome<Document>& document) {
  end_with(run, !document ? &document.error() : document->error ? &*document->error : nullptr);
}

}  // namespace

Play::Play(const LiveRequest& request, const std::vector<std::string>& hosts, const Order& order, Told told)
    : request_(request),
      hosts_(hosts),
      order_(order),
      told_(std::move(told)),
      watch_(price_of(order, {}, hosts.size()).what, {}) {}

void Play::go(ops::Stop& stop) {
  told_.run(watch_.run());
  const ops::Control control(stop, [this](const ops::progress::Event& event) {
    watch_.take(event);
    told_.run(watch_.run());
  });
  switch (order_.task.kind) {
    case Task::Kind::check:
      return check(control);
    case Task::Kind::run:
      return run(control);
    case Task::Kind::sweep:
      return sweep(control);
  }
}

// Where it is to run, and as what others see it.
ops::Setup Play::setup() const {
  ops::Setup out = request_.setup;
  out.command = fmt::format("tui {}", key_of(order_.task.kind));
  if (order_.nodes.size() == hosts_.size()) return out;
  std::vector<std::string> some;
  for (const std::size_t i : order_.nodes) some.push_back(hosts_[i]);
  out.config.hosts.value = fmt::format("{}", fmt::join(some, ","));
  return out;
}

void Play::run(const ops::Control& control) {
  ops::RunRequest request = run_of(order_);
  request.setup = setup();
  request.on_row = [&](const ops::RunDocument& document) {
    if (const auto read = read_document(report::json(document), wall_clock(), "run"); read && read->run)
      watch_.take(*read->run);
    told_.run(watch_.run());
  };
  const auto document = ops::run(request, control);
  Run out = watch_.run();
  end_with(out, document);
  if (document && document->wrong()) {
    out.verdict = "faulty: a result was wrong";
    out.level = Level::critical;
  }
  told_.run(out);
}

void Play::sweep(const ops::Control& control) {
  ops::SweepRequest request = sweep_of(order_);
  request.setup = setup();
  const auto document = ops::sweep(request, control);
  Run out = watch_.run();
  end_with(out, document);
  if (document)
    if (const auto read = read_document(report::json(*document), wall_clock(), "sweep"); read && read->moment)
      out.matrix = read->moment->matrix;
  told_.run(out);
}

void Play::check(const ops::Control& control) {
  ops::CheckRequest request = check_of(order_);
  request.setup = setup();
  request.again = request_.again;
  auto document = ops::check(request, control);
  Run out = watch_.run();
  if (!document) {
    end_with(out, document);
    return told_.run(out);
  }
  const auto tell = [&] {
    show_verdict(*document, out);
    told_.run(out);
  };
  const auto where = place(*document);
  if (!where) return tell();
  ops::RecordRequest recording;
  recording.place = *where;
  recording.version = request_.version;
  const auto done = ops::remember(recording, *document, tell, [&] { return report::json(*document); });
  if (!done) out.error = done.error().text();
  out.recorded = done ? where->file : "";
  told_.run(out);
}

// As of the command: what was cancelled, too, where it measured something.
std::optional<ops::HistoryPlace> Play::place(const ops::CheckDocument& document) const {
  if (document.diagnosis.sides.empty()) return std::nullopt;
  const bool named = request_.history && !request_.history->empty();
  return ops::history_place(request_.setup.config, named ? request_.history : std::nullopt, std::nullopt);
}

void Play::show_verdict(const ops::CheckDocument& document, Run& run) const {
  const bool cancelled = document.error && document.error->error.cause == Cause::cancelled;
  run.state = cancelled ? Run::State::cancelled : Run::State::done;
  if (cancelled) return;
  const auto read = read_document(report::json(document), wall_clock(), "check");
  if (!read || !read->moment) return;
  end_with_verdict(run, *read->moment);
  told_.finished(read->moment);
}

}  // namespace ringtrue::tui
