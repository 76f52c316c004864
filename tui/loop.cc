#include "tui/loop.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/fd.h"
#include "tui/frame/act.h"
#include "tui/frame/draw.h"

namespace ringtrue::tui {
namespace {

constexpr int keys_at_once = 64;  // before it is drawn again

sigset_t held() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH})
    sigaddset(&set, signal);
  return set;
}

// A new file beside where we are: nothing is overwritten, no link is followed.
std::string save(const std::string& text, const View& view, Export format) {
  static constexpr const char* endings[] = {"txt", "csv", "json"};
  for (int number = 1; number < 100; ++number) {
    const std::string name = fmt::format("ringtrue-{}{}.{}", key_of(view.screen),
                                         number > 1 ? fmt::format("-{}", number) : "", endings[int(format)]);
    const OwnedFd file(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file && errno == EEXIST) continue;
    if (!file) return fmt::format("{} cannot be written: {}", name, strerror(errno));
    for (std::string_view rest = text; !rest.empty();) {
      const ssize_t wrote = write(file.get(), rest.data(), rest.size());
      if (wrote <= 0) return fmt::format("{} is not complete: {}", name, strerror(errno));
      rest.remove_prefix(std::size_t(wrote));
    }
    return "written to " + name;
  }
  return "there are a hundred exports here already";
}

class Loop {
 public:
  Loop(std::unique_ptr<Terminal> terminal, std::unique_ptr<Model> model, View view, const KeyMap& keys)
      : terminal_(std::move(terminal)), view_(std::move(view)), keys_(keys), model_(std::move(model)) {}

  int run() {
    const sigset_t set = held();
    const OwnedFd signals(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    model_->start(queue_);
    model_->look(int(view_.screen));
    while (!ended_) {
      draw_now();
      pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {queue_.fd(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
      if (poll(waits, 3, -1) < 0 && errno != EINTR) break;
      signalfd_siginfo about{};
      while (!ended_ && read(signals.get(), &about, sizeof about) == sizeof about) take(int(about.ssi_signo));
      if (auto next = queue_.take()) snapshot_ = std::move(next);
      // A terminal that went away is always readable, and never has anything.
      if (waits[0].revents & (POLLHUP | POLLERR | POLLNVAL)) leave(SIGHUP);
      if ((waits[0].revents & POLLIN) && !ended_) take_keys();
    }
    terminal_.reset();  // first of all: what the model still holds may take a moment
    return signal_;
  }

 private:
  void leave(int signal) {
    ended_ = true;
    signal_ = signal;
  }

  void draw_now() { terminal_->put(draw(*snapshot_, view_, keys_, terminal_->size())); }

  void take(int signal) {
    switch (signal) {
      case SIGWINCH:
        terminal_->resized();
        return;
      case SIGTSTP:
        terminal_->suspend();
        raise(SIGSTOP);
        [[fallthrough]];
      case SIGCONT:
        terminal_->resume();
        return;
      default:
        leave(signal);
    }
  }

  void take_keys() {
    int waiting = 0;
    if (ioctl(STDIN_FILENO, FIONREAD, &waiting) != 0 || waiting == 0) return leave(SIGHUP);
    for (int taken = 0; taken < keys_at_once && !ended_; ++taken) {
      const auto key = terminal_->key();
      if (!key) return;
      if (key->starts_with("Click "))
        click(*key);
      else if (!key->empty())
        take_key(*key);
    }
  }

  // On the last row: a screen; elsewhere: a row of what is there.
  void click(const std::string& where) {
    int x = 0, y = 0;
    if (std::sscanf(where.c_str(), "Click %d %d", &x, &y) != 2) return;
    const Size size = terminal_->size();
    const Grid grid = draw(*snapshot_, view_, keys_, size);
    if (x < 0 || y < 0 || x >= grid.size().width || y >= grid.size().height) return;
    if (y == size.height - 1) {
      while (x > 1 &&
             !(grid.at(x - 1, y).text == " " && grid.at(x, y).text >= "1" && grid.at(x, y).text <= "7"))
        --x;
      if (x == 1) x = 0;
      return take_key(grid.at(x, y).text);
    }
    for (int row = 1; row < size.height - 2; ++row)
      if (grid.at(0, row).reversed) {
        for (int i = 0; i < std::abs(y - row); ++i) take_key(y > row ? "Down" : "Up");
        return;
      }
  }

  void take_key(const std::string& key) {
    const bool frozen = view_.frozen;
    const Screen screen = view_.screen;
    Step step = press(std::move(view_), key, keys_, *snapshot_, terminal_->size());
    view_ = std::move(step.view);
    if (view_.frozen != frozen) model_->freeze(view_.frozen);
    if (view_.screen != screen) model_->look(int(view_.screen));
    const Effect& effect = step.effect;
    switch (effect.kind) {
      case Effect::Kind::none:
        return;
      case Effect::Kind::quit:
        return leave(0);
      case Effect::Kind::refresh:
        terminal_->resume();
        return model_->refresh();
      case Effect::Kind::start:
        return model_->launch(effect.task);
      case Effect::Kind::price:
        view_ = priced(std::move(view_), model_->price(effect.task));
        return;
      case Effect::Kind::cancel:
        return model_->cancel();
      case Effect::Kind::save:
        view_.message = save(exported(shown_rows(*snapshot_, view_), Export(effect.format)), view_,
                             Export(effect.format));
        return;
      case Effect::Kind::copy:
        return terminal_->copy(shown(effect.text, Letters{}));
      case Effect::Kind::acknowledge:
        return model_->acknowledge(effect.text);
      case Effect::Kind::speed:
        return model_->speed(effect.session > 0 ? 2 : 0.5);
      case Effect::Kind::session:
        return model_->show(effect.session);
    }
  }

  std::unique_ptr<Terminal> terminal_;
  View view_;
  const KeyMap& keys_;
  Queue queue_;
  std::unique_ptr<Model> model_;  // which goes before its queue
  SnapshotPtr snapshot_ = std::make_shared<Snapshot>();
  bool ended_ = false;
  int signal_ = 0;
};

}  // namespace

void hold_signals() {
  const sigset_t set = held();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

int run_loop(std::unique_ptr<Terminal> terminal, std::unique_ptr<Model> model, View view,
             const KeyMap& keys) {
  return Loop(std::move(terminal), std::move(model), std::move(view), keys).run();
}

}  // namespace ringtrue::tui
