#include "collective/recorder.h"

#include <cassert>

namespace ringtrue::collective {

void Recorder::note(Step::Kind kind, Rank peer, Lane lane, Slice slice, Slice with) {
  sink_(Step{rank_, next_, kind, peer, lane, slice, with});
}

Token Recorder::send(Rank to, Lane lane, Slice from) {
  note(Step::Kind::send, to, lane, from);
  ++next_;
  return {};
}

Token Recorder::send_all(std::span<const Rank> to, Lane lane, Slice from) {
  for (const Rank peer : to) note(Step::Kind::send, peer, lane, from);
  ++next_;
  return {};
}

Token Recorder::receive(Rank from, Lane lane, Slice into) {
  note(Step::Kind::receive, from, lane, into);
  ++next_;
  return {};
}

Token Recorder::receive_reduce(Rank from, Lane lane, Slice into, Slice with, Arrival how) {
  note(how == Arrival::reduce_last ? Step::Kind::reduce_last : Step::Kind::reduce, from, lane, into, with);
  ++next_;
  return {};
}

Token Recorder::receive_reduce_all(std::span<const Rank> from, Lane lane, Slice into, Arrival how) {
  for (const Rank& peer : from) {
    const bool last = how == Arrival::reduce_last && &peer == &from.back();
    note(last ? Step::Kind::reduce_last : Step::Kind::reduce, peer, lane, into, into);
  }
  ++next_;
  return {};
}

void Recorder::copy(Slice into, Slice from) {
  note(Step::Kind::copy, rank_, 0, into, from);
  ++next_;
}

void Recorder::resume_when_done(Token, std::coroutine_handle<>) {
  assert(!"on paper every token is done at once");
}

void record(const Algorithm& algorithm, const Layout& layout, Rank rank, const Call& call,
            const Recorder::Sink& sink) {
  assert(!algorithm.uses_packets());
  Recorder paper(layout, rank, sink);
  Task program = algorithm.program(paper, call);
  program.start();
  assert(program.finished());
}

std::vector<Step> record(const Algorithm& algorithm, const Layout& layout, Rank rank, const Call& call) {
  std::vector<Step> steps;
  record(algorithm, layout, rank, call, [&](const Step& step) { steps.push_back(step); });
  return steps;
}

}  // namespace ringtrue::collective
