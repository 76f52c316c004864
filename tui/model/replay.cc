#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/file.h"
#include "tui/model/recording.h"

namespace ringtrue::tui {
namespace {

constexpr std::size_t longest_recording = std::size_t(1) << 30;

// Between a model and the one who draws: what changed goes to the file, too.
class Recorder final : public Model {
 public:
  Recorder(std::unique_ptr<Model> inner, OwnedFd file) : inner_(std::move(inner)), file_(std::move(file)) {}
  ~Recorder() override {
    stop_ = true;
    if (pump_.joinable()) pump_.join();
  }

  SnapshotPtr whole(Seconds patience) override {
    auto snapshot = inner_->whole(patience);
    keep(*snapshot);
    return snapshot;
  }
  void start(Queue& queue) override {
    inner_->start(between_);
    pump_ = std::thread([this, &queue] {
      while (!stop_) {
        if (!between_.wait(200)) continue;
        auto next = between_.take();
        if (!next) continue;
        if (next->revision != last_) keep(*next);
        queue.push(std::move(next));
      }
    });
  }
  void show(int session) override { inner_->show(session); }
  void look(int screen) override { inner_->look(screen); }
  void freeze(bool frozen) override { inner_->freeze(frozen); }
  void refresh() override { inner_->refresh(); }
  Result<Price> price(const Task& task) const override { return inner_->price(task); }
  void launch(const Task& task) override { inner_->launch(task); }
  void cancel() override { inner_->cancel(); }
  void acknowledge(const std::string& key) override { inner_->acknowledge(key); }

 private:
  void keep(const Snapshot& snapshot) {
    last_ = snapshot.revision;
    const std::string line = to_line(snapshot);
    for (std::string_view rest = line; !rest.empty() && file_;) {
      const ssize_t wrote = write(file_.get(), rest.data(), rest.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0)
        file_.reset();  // a full disk ends the recording, not the dashboard
      else
        rest.remove_prefix(std::size_t(wrote));
    }
  }

  Queue between_;
  std::unique_ptr<Model> inner_;
  OwnedFd file_;
  std::string last_;
  std::atomic<bool> stop_ = false;
  std::thread pump_;
};

class Replay final : public Model {
 public:
  explicit Replay(std::vector<SnapshotPtr> frames) : frames_(std::move(frames)), at_(frames_.front()->now) {}
  ~Replay() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    if (worker_.joinable()) worker_.join();
  }

  SnapshotPtr whole(Seconds) override { return shown(frames_.size() - 1, frames_.back()->now); }
  void start(Queue& queue) override {
    worker_ = std::thread([this, &queue] { play(queue); });
  }
  // Back to when that session had just ended; -1: to the recording's end.
  void show(int session) override {
    const std::lock_guard lock(mutex_);
    at_ = frames_.back()->now;
    const auto& history = frames_.back()->history;
    if (session >= 0 && history && std::size_t(session) < history->sessions.size())
      at_ = std::max(history->sessions[std::size_t(session)].when, frames_.front()->now);
    wake_.notify_all();
  }
  void freeze(bool frozen) override {
    const std::lock_guard lock(mutex_);
    frozen_ = frozen;
  }
  void speed(double factor) override {
    const std::lock_guard lock(mutex_);
    speed_ = std::clamp(speed_ * factor, 1.0 / 8, 1024.0);
    wake_.notify_all();
  }

 private:
  SnapshotPtr shown(std::size_t frame, double now) const {
    auto out = std::make_shared<Snapshot>(*frames_[frame]);
    out->now = std::max(now, out->now);
    out->utc_offset = utc_offset(out->now);
    out->offer = {false, "a recording is shown", "", ""};
    out->message = fmt::format("replay, {} of {}, {:g} times as fast{}", frame + 1, frames_.size(), speed_,
                               frame + 1 == frames_.size() ? ", at its end" : "");
    out->revision = fmt::format("{}", frame);
    return out;
  }

  void play(Queue& queue) {
    constexpr double tick = 0.25;
    std::unique_lock lock(mutex_);
    while (!stop_) {
      const auto next = std::upper_bound(frames_.begin(), frames_.end(), at_,
                                         [](double at, const SnapshotPtr& f) { return at < f->now; });
      queue.push(shown(std::size_t(std::max<std::ptrdiff_t>(next - frames_.begin() - 1, 0)), at_));
      wake_.wait_for(lock, std::chrono::duration<double>(tick));
      if (!frozen_) at_ = std::min(at_ + tick * speed_, frames_.back()->now);
    }
  }

  const std::vector<SnapshotPtr> frames_;
  std::mutex mutex_;
  std::condition_variable wake_;
  double at_, speed_ = 1;
  bool frozen_ = false, stop_ = false;
  std::thread worker_;
};

}  // namespace

Result<std::unique_ptr<Model>> record(std::unique_ptr<Model> model, const std::string& file) {
  OwnedFd out(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!out)
    return fail(Cause::bad_input, fmt::format("cannot be made: {}", strerror(errno)), file,
                "give a new name");
  return std::make_unique<Recorder>(std::move(model), std::move(out));
}

Result<std::unique_ptr<Model>> replay(const std::string& file) {
  const auto text = read_file(file, longest_recording);
  if (!text) return fail(Cause::bad_input, text.error().what, file);
  std::vector<SnapshotPtr> frames;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos && !frames.empty()) break;  // the end of one that was cut off
    auto read = read_line(rest.substr(0, end));
    if (!read) return fail(Cause::bad_input, read.error().what, file, "give what --record wrote");
    // In the order of time, whatever the clock did.
    if (!frames.empty()) read->now = std::max(read->now, frames.back()->now);
    frames.push_back(std::make_shared<Snapshot>(std::move(*read)));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (frames.empty()) return fail(Cause::bad_input, "nothing is in it", file, "give what --record wrote");
  return std::make_unique<Replay>(std::move(frames));
}

}  // namespace ringtrue::tui
