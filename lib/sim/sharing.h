// Flows that share links, each at its max-min fair rate: no flow can get more without taking it from one that
// has no more (Bertsekas, Gallager, Data Networks, 6.5.2). When a flow comes or goes, only those are rated
// anew whose rate can depend on it.
//
// A link may be shaped by a bucket of tokens, as tbf does: what it carried less than its rate, up to the
// bucket, passes later at ten times the rate. The bucket is empty at first, as it is in one of many calls.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <vector>

namespace ringtrue::sim {

class Sharing {
 public:
  static constexpr std::size_t max_links = 15;  // that a flow crosses
  static constexpr double never = std::numeric_limits<double>::infinity();

  std::uint32_t add_link(double rate, double bucket = 0);  // bytes per second, bytes
  void set_rate(std::uint32_t link, double rate);

  // A flow of `bytes` (above 0; `never` for one without end) that begins now. `tag` comes back at its end.
  void start(std::span<const std::uint32_t> links, double bytes, std::uint32_t tag, double now);

  bool unsettled() const { return !dirty_.empty(); }
  // Shares out anew, once all that begins or ends now has been told.
  void settle(double now);
  // When the next flow ends; `never` where none does.
  double next();
  // Takes out the flows that end now, and gives their tags. `now` is what next() said.
  void finish(double now, std::vector<std::uint32_t>& tags);
  // What each of the flows gets, by tag below `tags`; 0 where there is none.
  std::vector<double> rates(std::size_t tags) const;

 private:
  struct Flow {
    std::array<std::uint32_t, max_links> links{}, position{};  // position in each link's list
    std::uint32_t count = 0;
    std::uint32_t bottleneck = 0;
    std::uint32_t tag = 0;
    bool chosen = false, fixed = false;
    double left = 0, since = 0, began = 0;  // bytes left at `since`
    double rate = 0, fresh = 0;

    double end() const { return left == never || rate <= 0 ? never : since + left / rate; }
  };
  struct Crossing {
    std::uint32_t flow = 0, leg = 0;  // leg: which of the flow's links
  };
  struct Link {
    double rate = 0, bucket = 0;
    double tokens = 0, since = 0;  // bytes at `since`, from when on ...
    double filled = 0, used = 0;   // ... so much comes in and goes out
    double capacity = 0;           // with what is in the bucket
    std::vector<Crossing> flows;
    std::uint32_t version = 0;
    bool dirty = false, chosen = false;
    double room = 0;          // for the flows that are not fixed
    std::uint32_t loose = 0;  // how many
  };
  struct Ending {
    double time = 0;
    std::uint32_t link = 0, version = 0;
    bool operator>(const Ending& o) const { return time != o.time ? time > o.time : link > o.link; }
  };
  using Endings = std::priority_queue<Ending, std::vector<Ending>, std::greater<>>;

  void soil(std::uint32_t link);
  void choose(std::uint32_t flow);
  void choose_link(std::uint32_t link, double now);
  void choose_links(double now);
  void fill();
  bool widen();
  void commit(double now);
  double first(Endings& endings) const;
  void remove(std::uint32_t flow);

  std::vector<Flow> flows_;
  std::vector<std::uint32_t> unused_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> dirty_, chosen_, chosen_links_;
  std::vector<std::pair<double, std::uint32_t>> heap_;
  Endings endings_, empty_;  // of flows, and of what is in buckets
};

}  // namespace ringtrue::sim
