#include "run/trace.h"

#include <algorithm>

#include "run/fields.h"

namespace ringtrue::run {
namespace {

// Adds what a further lane measured, as the tables of fields say.
struct JoinLane {
  template <class T>
  void operator()(const char*, const About& about, T& total, const T& lane) const {
    if constexpr (is_vector<T>) {
      for (const auto& rail : lane) {
        const auto same =
            std::find_if(total.begin(), total.end(), [&](auto& r) { return r.port == rail.port; });
        same == total.end() ? total.push_back(rail) : fields(*this, *same, rail);
      }
    } else if constexpr (!std::same_as<T, RdmaPort>) {
      switch (about.join) {
        case About::Join::largest:
          total = std::max(total, lane);
          break;
        case About::Join::least:
          total = std::min(total, lane);
          break;
        case About::Join::sum:
          total = T(total + lane);
      }
    }
  }
};

template <class T>
void join(std::optional<T>& total, const T& lane) {
  total ? fields(JoinLane(), *total, lane) : void(total = lane);
}

}  // namespace

void join_lane(std::optional<TcpHop>& total, const TcpHop& lane) {
  join(total, lane);
}

void join_lane(std::optional<RdmaHop>& total, const RdmaHop& lane) {
  join(total, lane);
}

}  // namespace ringtrue::run
