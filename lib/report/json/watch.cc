#include "history/time.h"
#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {
namespace {

Json left_out_value(const ops::WatchRound::LeftOut& left) {
  return {{"node", left.node}, {"why", left.why}, {"absent", left.absent}};
}

Json transition_value(const ops::WatchTransition& t) {
  return {{"of", key_of(t.of)},
          {"subject", text_or_null(t.subject)},
          {"node", text_or_null(t.node)},
          {"before", maybe(t.before)},
          {"after", t.after},
          {"ratio", maybe(t.ratio)}};
}

}  // namespace

std::string json(const ops::WatchRound& round, const std::string& check) {
  const Json parsed = check.empty() ? Json() : Json::parse(check, nullptr, false);
  const Json out = {{"schema", "ringtrue.watch/1"},
                    {"fleet", round.fleet},
                    {"round", round.number},
                    {"started", history::rfc3339(round.started_us)},
                    {"skipped", text_or_null(round.skipped)},
                    {"verdict", maybe(round.verdict)},
                    {"findings", round.findings},
                    {"nodes", round.nodes},
                    {"left_out", array(round.left_out, left_out_value)},
                    {"seconds", round.seconds},
                    {"confirmed_again", round.confirmed_again},
                    {"transitions", array(round.transitions, transition_value)},
                    {"troubles", round.troubles},
                    {"next_seconds", maybe(round.next_s)},
                    {"check", parsed.is_discarded() ? Json(nullptr) : parsed},
                    {"error", maybe_error(round.error())}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ringtrue::report
