// What happens when, in the simulator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringtrue::sim {

struct Event {
  enum class Kind : std::uint8_t {
    wake,
    arrive,
    enter,
    leave,
    deliver,
    received,
    sent,
    timer,
    mail,
    release,
    flap
  };

  double time = 0;
  std::uint64_t order = 0;
  Kind kind = Kind::wake;
  std::uint32_t index = 0;  // of a link (wake, flap), a timer (timer), a rank (mail) or a message
  std::uint32_t row = 0;

  bool operator>(const Event& o) const { return time != o.time ? time > o.time : order > o.order; }
};

// Events by time; those of one time in the order in which they were told. Events of a row - of one port, say
// - come nearly always in the order of their times, so that only the first of a row needs a place in the
// heap. A std::priority_queue of all takes a sixth longer over packets.
class Agenda {
 public:
  static constexpr std::uint32_t no_row = ~0u;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  double next_time() const { return heap_.front().time; }

  void push(double time, Event::Kind kind, std::uint32_t index, std::uint32_t row = no_row) {
    Event event{time, order_++, kind, index, row};
    ++size_;
    if (row != no_row) {
      if (row >= rows_.size()) rows_.resize(std::size_t(row) + 1);
      Row& waiting = rows_[row];
      const bool alone = waiting.empty();
      if (alone || time >= waiting.events.back().time) {
        waiting.events.push_back(event);
        if (!alone) return;
      } else {
        event.row = no_row;
      }
    }
    heap_.push_back(event);
    std::size_t at = heap_.size() - 1;
    for (; at > 0 && heap_[parent(at)] > event; at = parent(at)) heap_[at] = heap_[parent(at)];
    heap_[at] = event;
  }

  Event pop() {
    const Event event = heap_.front();
    --size_;
    if (event.row != no_row) {
      Row& waiting = rows_[event.row];
      waiting.drop();
      if (!waiting.empty()) {
        sink(waiting.events[waiting.first]);
        return event;
      }
    }
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return event;
  }

 private:
  struct Row {
    std::vector<Event> events;
    std::size_t first = 0;

    bool empty() const { return first == events.size(); }
    void drop() {
      ++first;
      if (first == events.size() || (first >= 64 && 2 * first >= events.size())) {
        events.erase(events.begin(), events.begin() + std::ptrdiff_t(first));
        first = 0;
      }
    }
  };

  // A heap of four: flatter, and the four lie side by side.
  static std::size_t parent(std::size_t at) { return (at - 1) / 4; }

  // `event` takes the place of the first.
  void sink(const Event& event) {
    const std::size_t size = heap_.size();
    std::size_t at = 0;
    for (std::size_t child = 1; child < size; child = 4 * at + 1) {
      const std::size_t end = std::min(child + 4, size);
      std::size_t least = child;
      for (std::size_t other = child + 1; other < end; ++other) {
        if (heap_[least] > heap_[other]) least = other;
      }
      if (!(event > heap_[least])) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = event;
  }

  std::vector<Event> heap_;
  std::vector<Row> rows_;
  std::size_t size_ = 0;
  std::uint64_t order_ = 0;
};

}  // namespace ringtrue::sim
