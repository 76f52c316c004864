#include "collective/omnireduce/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/plural.h"
#include "collective/omnireduce/omnireduce.h"
#include "collective/omnireduce/pairs.h"

namespace ringtrue::collective {

namespace {

constexpr std::uint64_t packet_bytes = 16 * 1024;  // aimed at on streams
constexpr std::uint32_t usual_block = 256;
constexpr std::uint64_t header_bytes = 16, header_bytes_a_block = 4;
constexpr std::uint64_t around_datagram = 48;  // Ethernet, IP, UDP and our frame, about
constexpr BytesPerSecond assumed_rate{1.25e9};
constexpr Seconds max_queue{20e-3};

Result<void> validate(const Tuning& in) {
  if (in.workers < 1 || in.aggregators < 0)
    return fail(Cause::bad_input,
                fmt::format("{} with {} reduce nothing", plural(in.workers, "worker"),
                            plural(in.aggregators, "aggregator")),
                {}, "give at least one of each");
  const auto within = [](const char* flag, std::optional<std::uint32_t> value,
                         std::uint32_t most) -> Result<void> {
    if (!value || (*value >= 1 && *value <= most)) return {};
    return fail(Cause::bad_input, fmt::format("--{} {} is not possible", flag, *value), {},
                fmt::format("give 1 to {}", most));
  };
  if (auto r = within("block", in.block, 1u << 30); !r) return r;
  if (auto r = within("streams", in.streams, max_streams); !r) return r;
  if (auto r = within("fusion", in.fusion, max_fusion); !r) return r;
  if (in.rate && !(in.rate->value > 0))
    return fail(Cause::bad_input, fmt::format("{} bytes per second is not a rate", in.rate->value), {},
                "rates are above zero");
  return {};
}

struct Shape {
  std::uint32_t block, fusion;
};

// Bytes left for each of `fusion` blocks in a datagram.
std::uint64_t room_for_block(std::uint64_t datagram, std::uint32_t fusion) {
  if (datagram < header_bytes) return 0;
  const std::uint64_t each = (datagram - header_bytes) / fusion;
  return each > header_bytes_a_block ? each - header_bytes_a_block : 0;
}

// Whole vectors of 16 bytes where there is room for one.
std::uint32_t block_in(std::uint64_t room, std::uint64_t size) {
  const std::uint64_t bytes = room >= 16 ? room / 16 * 16 : room;
  return std::uint32_t(std::min<std::uint64_t>(bytes / size, usual_block));
}

Shape fit_datagram(const Tuning& in, std::vector<std::string>& reasons) {
  const std::uint64_t size = size_of(in.type);
  const auto tell = [&](Shape shape, const std::string& why_block, const std::string& why_fusion) {
    reasons.push_back(fmt::format("block {}: {}", shape.block, why_block));
    reasons.push_back(fmt::format("fusion {}: {}", shape.fusion, why_fusion));
    return shape;
  };
  const std::string given = "as given";
  if (in.block && in.fusion) return tell({*in.block, *in.fusion}, given, given);
  if (in.block) {
    const std::uint64_t each = *in.block * size + header_bytes_a_block;
    const std::uint64_t room = in.datagram > header_bytes ? in.datagram - header_bytes : 0;
    const auto fusion = std::uint32_t(std::clamp<std::uint64_t>(room / each, 1, max_fusion));
    return tell({*in.block, fusion}, given, fmt::format("as many blocks as fit {} bytes", in.datagram));
  }
  if (in.fusion)
    return tell({block_in(room_for_block(in.datagram, *in.fusion), size), *in.fusion},
                fmt::format("the longest of which {} fit {} bytes", *in.fusion, in.datagram), given);
  // Of equal payloads the shorter block, which leaves less zeros in a block.
  Shape best{0, 1};
  for (std::uint32_t fusion = 1; fusion <= 16; ++fusion) {
    const std::uint32_t block = block_in(room_for_block(in.datagram, fusion), size);
    if (block > 0 && std::uint64_t(block) * fusion >= std::uint64_t(best.block) * best.fusion)
      best = {block, fusion};
  }
  return tell(best,
              fmt::format("with fusion {}, {} of {} bytes of a datagram are values", best.fusion,
                          best.block * size * best.fusion, in.datagram),
              "fills the datagram");
}

std::uint64_t packet_of(const Tuning& in, const Shape& shape) {
  return header_bytes + shape.fusion * (header_bytes_a_block + shape.block * size_of(in.type));
}

std::uint64_t up_to_multiple(std::uint64_t value, std::uint64_t of) {
  return (value + of - 1) / of * of;
}

// Streams and, where it may still change, fusion.
class Flow {
 public:
  Flow(const Tuning& in, const Omni& omni)
      : in_(in),
        workers_(std::uint64_t(omni.workers)),
        aggregators_(std::uint64_t(omni.aggregators)),
        shape_{omni.block, omni.fusion},
        blocks_((in.elements + omni.block - 1) / omni.block) {
    const double share = std::min(1.0, double(aggregators_) / double(workers_));
    const double rate = in.rate.value_or(assumed_rate).value;
    in_flight_ = 2 * rate * share * (in.round_trip.value + in.allowance.value);
  }

  void choose(Omni& omni, std::vector<std::string>& reasons) {
    if (in_.streams) {
      omni.streams = *in_.streams;
      why_ = "as given";
      if (fusion_is_free()) {
        shape_.fusion =
            std::uint32_t(std::clamp<std::uint64_t>(max_columns() / omni.streams, 1, shape_.fusion));
        relieve_port(omni.streams);
      }
    } else {
      streams();
      omni.streams = std::uint32_t(streams_);
    }
    if (fusion_is_free()) {
      if (fusion_why_.empty())
        fusion_why_ = fmt::format("packets of {}", to_text(Bytes(shape_.fusion * block_bytes())));
      reasons.push_back(fmt::format("fusion {}: {}", shape_.fusion, fusion_why_));
    }
    omni.fusion = shape_.fusion;
    reasons.push_back(fmt::format("streams {}: {}", omni.streams, why_));
  }

 private:
  bool fusion_is_free() const { return in_.datagram == 0 && !in_.fusion; }
  std::uint64_t block_bytes() const { return shape_.block * size_of(in_.type); }
  std::uint64_t on_wire() const { return packet_of(in_, shape_) + (in_.datagram > 0 ? around_datagram : 0); }

  // Columns beyond which first rows cost more than they hide.
  std::uint64_t max_columns() const {
    const auto blocks = double(blocks_);
    const double density = in_.density.value_or(0);
    double most = blocks / 16;
    if (density >= 0.5) {
      most = blocks;
    } else if (density > 0) {
      most = std::min(most, std::max(blocks * density / 16, in_flight_ / double(block_bytes())));
    }
    // One column an aggregator at least, as long as there is a block for it.
    const std::uint64_t least = std::min(aggregators_, blocks_);
    return std::max<std::uint64_t>({std::uint64_t(most), least, 1});
  }

  // Streams of one aggregator whose packets, from all workers at once, its port takes within max_queue.
  std::uint64_t max_per_aggregator() const {
    if (!in_.rate) return max_streams;
    const double bytes = in_.rate->value * max_queue.value / double(workers_);
    return std::uint64_t(std::max(1.0, bytes / double(on_wire())));
  }

  std::string port_drains() const {
    return fmt::format("{} packets into one port drain in {}", plural(workers_, "worker's", "workers'"),
                       to_text(max_queue));
  }
  std::string few_blocks() const {
    if (in_.key_bytes > 0) return fmt::format("all values make {}", plural(blocks_, "packet"));
    return fmt::format("{} no more than {} worth", plural(blocks_, "block makes", "blocks make"),
                       plural(max_columns(), "column"));
  }

  void relieve_port(std::uint64_t streams) {
    const std::uint64_t each = (streams + aggregators_ - 1) / aggregators_;
    while (shape_.fusion > 1 && max_per_aggregator() < each) {
      --shape_.fusion;
      fusion_why_ = port_drains();
    }
  }

  void streams() {
    streams_ = 2 * aggregators_;
    why_ = fmt::format("two for each of {}", plural(aggregators_, "aggregator"));
    if (fusion_is_free()) {
      relieve_port(streams_);
      // Small calls: rather more streams than longer packets.
      const std::uint64_t fit = std::max<std::uint64_t>(max_columns() / streams_, 1);
      if (fit < shape_.fusion) {
        shape_.fusion = std::uint32_t(fit);
        fusion_why_ = few_blocks();
      }
    }
    const std::uint64_t needed =
        up_to_multiple(std::uint64_t(std::ceil(in_flight_ / double(on_wire()))), aggregators_);
    if (needed > streams_) {
      streams_ = needed;
      why_ = fmt::format("{} in flight, twice {}{} times {}", to_text(Bytes(std::uint64_t(in_flight_))),
                         aggregators_ < workers_ ? "the aggregators' share of " : "",
                         in_.rate ? to_text(*in_.rate) : to_text(assumed_rate) + " (assumed)",
                         to_text(in_.round_trip + in_.allowance));
    }
    limit(max_per_aggregator() * aggregators_, port_drains());
    limit(std::max(max_columns() / shape_.fusion, std::uint64_t(1)), few_blocks());
    limit(max_streams, "as many as there can be");
  }

  void limit(std::uint64_t most, std::string why) {
    if (streams_ <= most) return;
    streams_ = most >= aggregators_ ? most / aggregators_ * aggregators_ : aggregators_;
    why_ = std::move(why);
    if (streams_ > most) why_ = fmt::format("one for each of {}", plural(aggregators_, "aggregator"));
  }

  const Tuning& in_;
  std::uint64_t workers_, aggregators_;
  Shape shape_;
  std::uint64_t blocks_;
  double in_flight_ = 0;  // bytes
  std::uint64_t streams_ = 1;
  std::string why_, fusion_why_;
};

// Of pairs: packets as long as those of blocks, and the streams that such blocks would have.
Result<void> tune_pairs(const Tuning& in, Tuned& out) {
  Omni& omni = out.omni;
  const std::uint64_t pair = in.key_bytes + size_of(in.type), before = pair_header_bytes(in.key_bytes, 0);
  const std::uint64_t room = in.datagram > 0 ? in.datagram : packet_bytes;
  if (room < before + pair)
    return fail(Cause::bad_input, fmt::format("no pair fits a datagram of {} bytes", in.datagram), {},
                "use a larger --mtu");
  omni.pairs = std::uint32_t(std::min<std::uint64_t>((room - before) / pair, max_pairs));
  omni.key_bytes = in.key_bytes;
  omni.fusion = 1;
  omni.block = in.block.value_or(usual_block);
  out.reasons.push_back(fmt::format("pairs {}: packets of {}", omni.pairs, to_text(Bytes(room))));
  Tuning flow = in;
  flow.fusion = 1;
  flow.density = 1;
  Omni packets = omni;
  packets.block = std::uint32_t(std::max<std::uint64_t>(omni.pairs * pair / size_of(in.type), 1));
  Flow(flow, packets).choose(packets, out.reasons);
  omni.streams = packets.streams;
  return {};
}

}  // namespace

Result<Tuned> tune(const Tuning& in) {
  if (const auto valid = validate(in); !valid) return tl::unexpected(valid.error());
  Tuned out;
  Omni& omni = out.omni;
  omni.workers = in.workers;
  omni.acked = in.acked;
  omni.aggregators = in.aggregators > 0 ? in.aggregators : in.workers;
  if (std::uint32_t(omni.aggregators) > max_streams)
    return fail(Cause::bad_input, fmt::format("{} aggregators are too many", omni.aggregators), {},
                fmt::format("use --aggregators up to {}", max_streams));
  out.reasons.push_back(in.aggregators > 0 ? fmt::format("aggregators {}: as given", omni.aggregators)
                                           : fmt::format("aggregators {}: one a worker", omni.aggregators));
  if (in.key_bytes > 0) {
    if (auto done = tune_pairs(in, out); !done) return tl::unexpected(done.error());
    return out;
  }
  if (in.datagram > 0) {
    const Shape shape = fit_datagram(in, out.reasons);
    omni.block = shape.block;
    omni.fusion = shape.fusion;
    if (omni.block == 0 || packet_of(in, shape) > in.datagram)
      return fail(Cause::bad_input,
                  fmt::format("{} blocks of {} {} do not fit a datagram of {} bytes", omni.fusion,
                              std::max(omni.block, 1u), key_of(in.type), in.datagram),
                  {}, "use a smaller --block or --fusion");
  } else {
    omni.block = in.block.value_or(usual_block);
    out.reasons.push_back(in.block ? fmt::format("block {}: as given", omni.block)
                                   : fmt::format("block {}: the usual length", omni.block));
    const std::uint64_t aimed = packet_bytes / (omni.block * size_of(in.type));
    omni.fusion = in.fusion.value_or(std::uint32_t(std::clamp<std::uint64_t>(aimed, 1, max_fusion)));
    if (in.fusion) out.reasons.push_back(fmt::format("fusion {}: as given", omni.fusion));
  }
  Flow(in, omni).choose(omni, out.reasons);
  return out;
}

}  // namespace ringtrue::collective
