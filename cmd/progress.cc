#include "cmd/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "cmd/interrupt.h"
#include "report/style.h"

namespace ringtrue::cmd {
namespace {

std::mutex mutex;
bool allowed = false;
bool shown = false;

void put(const std::string& text) {
  // A line of progress that is lost costs nothing.
  [[maybe_unused]] const ssize_t wrote = write(STDERR_FILENO, text.data(), text.size());
}

Result<Pause> parse_pause(std::string_view text) {
  const std::size_t equals = text.find('=');
  const auto phase = parse_key<Phase>(text.substr(0, equals));
  const auto stage = parse_key<diagnosis::Stage>(text.substr(0, equals));
  const bool known = stage || (phase && *phase >= Phase::lease && *phase <= Phase::collect);
  if (equals == std::string_view::npos || !known)
    return fail(
        Cause::bad_input, fmt::format("bad pause '{}'", text), {},
        "give PHASE=TIME with one of lease, prepare, connect, barrier, run, collect, or a check's stage");
  auto time = parse_duration(text.substr(equals + 1));
  if (!time) return tl::unexpected(time.error());
  return Pause{stage ? Phase::none : *phase, stage, *time};
}

// Holds up a phase, once.
class Holdup {
 public:
  explicit Holdup(std::optional<Pause> pause) : pause_(std::move(pause)) {}

  void operator()(const ops::progress::Phase& phase) {
    std::optional<Pause> now;
    {
      const std::lock_guard lock(mutex_);
      if (!pause_) return;
      const bool leasing = phase.phase == Phase::lease && pause_->phase == Phase::lease;
      const bool next = phase.answered >= phase.nodes && int(phase.phase) + 1 == int(pause_->phase);
      if (leasing || next) now = std::exchange(pause_, std::nullopt);
    }
    if (now) wait(*now);
  }
  // ... or the first experiment of a stage.
  void operator()(const ops::progress::Experiment& experiment) {
    std::optional<Pause> now;
    {
      const std::lock_guard lock(mutex_);
      if (!pause_ || pause_->stage != experiment.stage) return;
      now = std::exchange(pause_, std::nullopt);
    }
    wait(*now);
  }

 private:
  static void wait(const Pause& pause) {
    clear_progress();
    put(fmt::format("ringtrue: pause of {} before the {} {}\n", to_text(pause.time),
                    pause.stage ? "stage" : "phase",
                    pause.stage ? key_of(*pause.stage) : key_of(pause.phase)));
    const Deadline until = Deadline::in(pause.time);
    while (!until.passed() && !stop().requested()) usleep(10'000);
  }

  std::mutex mutex_;
  std::optional<Pause> pause_;
};

// "; suspect: node3's sending side (87 %) and 1 more"
std::string phrase(const std::vector<diagnosis::Candidate>& suspects) {
  if (suspects.empty()) return "";
  const std::string more = suspects.size() > 1 ? fmt::format(" and {} more", suspects.size() - 1) : "";
  return fmt::format("; suspect: {} ({:.0f} %){}", suspects[0].scope.text(), suspects[0].confidence * 100,
                     more);
}

// The line for each event; empty: none. Suspects stand behind the experiments that follow.
struct Line {
  std::string operator()(const ops::progress::Phase& e) const {
    return fmt::format("{}: {} of {} nodes", key_of(e.phase), e.answered, e.nodes);
  }
  std::string operator()(const ops::progress::Step& e) const { return e.what; }
  std::string operator()(const ops::progress::Part& e) const {
    return fmt::format("{} {} of {}", e.what, e.number, e.of);
  }
  std::string operator()(const ops::progress::Call& e) const {
    return fmt::format("{}{}{}", key_of(e.algorithm),
                       e.beside ? " on the same data" : fmt::format(" of {} bytes", e.bytes),
                       e.of > 0 ? fmt::format(" ({} of {} sizes)", e.number, e.of) : "");
  }
  std::string operator()(const ops::progress::Experiment& e) const {
    return fmt::format("{}: {} ({:.0f} %{}){}", key_of(e.stage), e.what, e.budget_used * 100, of_budget,
                       suspects);
  }
  std::string operator()(const ops::progress::Budget& e) {
    of_budget = fmt::format(" of {:.0f} s", e.budget.value);
    if (!e.reading) return fmt::format("at most {:.0f} s now, as suspects are still open", e.budget.value);
    return fmt::format("at most {:.0f} s, as a reading takes up to {}", e.budget.value, to_text(*e.reading));
  }
  std::string operator()(const ops::progress::Reading&) const { return {}; }
  std::string operator()(const ops::progress::Suspects& e) {
    suspects = phrase(e.suspects);
    return {};
  }

  std::string suspects, of_budget;
};

}  // namespace

void allow_progress(bool on) {
  const std::lock_guard lock(mutex);
  allowed = on && report::rewrites_lines(STDERR_FILENO);
}

void show_progress(std::string_view text) {
  const std::lock_guard lock(mutex);
  if (!allowed) return;
  winsize size{};
  std::size_t width = 79;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) width = size.ws_col - 1u;
  put("\r\x1b[K" + std::string(text.substr(0, width)));
  shown = true;
}

void clear_progress() {
  const std::lock_guard lock(mutex);
  if (!shown) return;
  put("\r\x1b[K");
  shown = false;
}

Flag pause_flag(std::optional<Pause>& pause) {
  return hidden(parsed("--pause", pause, parse_pause, "PHASE=TIME", "wait before a phase (for tests)"));
}

ops::Control control(const std::optional<Pause>& pause) {
  const auto hold = std::make_shared<Holdup>(pause);
  const auto lines = std::make_shared<Line>();
  return {stop(), [hold, lines](const ops::progress::Event& event) {
            if (const std::string line = std::visit(*lines, event); !line.empty()) show_progress(line);
            if (const auto* phase = std::get_if<ops::progress::Phase>(&event)) (*hold)(*phase);
            if (const auto* experiment = std::get_if<ops::progress::Experiment>(&event)) (*hold)(*experiment);
          }};
}

}  // namespace ringtrue::cmd
