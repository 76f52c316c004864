#include "collective/recorder.h"

#include <cassert>

namespace ringtrue::collective {

Token Recorder::post(Step::Kind kind, std::span<const Rank> peers, Lane lane, Slice slice, Slice with) {
  for (const Rank peer : peers) sink_(Step{rank_, next_, kind, peer, lane, slice, with});
  ++next_;
  return {};
}

Token Recorder::send_all(std::span<const Rank> to, Lane lane, Slice from) {
  return post(Step::Kind::send, to, lane, from);
}

Token Recorder::receive_reduce(Rank from, Lane lane, Slice into, Slice with, Arrival how) {
  constexpr Step::Kind kinds[] = {Step::Kind::receive, Step::Kind::reduce, Step::Kind::reduce_last};
  return post(kinds[std::size_t(how)], {&from, 1}, lane, into, with);
}

Token Recorder::receive_reduce_all(std::span<const Rank> from, Lane lane, Slice into, Arrival how) {
  for (const Rank& peer : from) {
    const bool last = how == Arrival::reduce_last && &peer == &from.back();
    sink_(Step{rank_, next_, last ? Step::Kind::reduce_last : Step::Kind::reduce, peer, lane, into, into});
  }
  ++next_;
  return {};
}

void Recorder::copy(Slice into, Slice from) {
  post(Step::Kind::copy, {&rank_, 1}, 0, into, from);
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
