#include "ideal/omnireduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ringtrue::ideal {
namespace {

Result<void> validate(const OmniInputs& in) {
  if (in.workers < 1 || in.aggregators < 1)
    return fail(Cause::bad_input,
                fmt::format("{} workers with {} aggregators reduce nothing", in.workers, in.aggregators), {},
                "give at least one of each");
  const auto share = [](double x) { return x >= 0 && x <= 1; };
  if (!share(in.density) || !share(in.density_union) || !share(in.first))
    return fail(Cause::bad_input,
                fmt::format("densities of {} and {}, and {} of first blocks, are not shares", in.density,
                            in.density_union, in.first),
                {}, "give densities from 0 to 1");
  if (in.density_union < in.density)
    return fail(Cause::bad_input,
                fmt::format("a union density of {} is below a worker's {}", in.density_union, in.density), {},
                "the union of all workers holds every worker's blocks");
  if (!(std::isfinite(in.rate.value) && in.rate.value > 0))
    return fail(Cause::bad_input, fmt::format("{} bytes per second is not a rate", in.rate.value), {},
                "rates are above zero");
  if (!(in.payload > 0 && in.payload <= 1))
    return fail(Cause::bad_input, fmt::format("a payload share of {} is not possible", in.payload), {},
                "give a share above 0 and at most 1");
  if (!(in.latency.value >= 0 && std::isfinite(in.latency.value)))
    return fail(Cause::bad_input, fmt::format("a latency of {} s is not possible", in.latency.value));
  return {};
}

// "S/B" with numbers, and the payload share where there is one.
std::string seconds_of_all(const OmniInputs& in) {
  return in.payload < 1
             ? fmt::format("{:.6g} / ({:.6g} x {:.4g})", double(in.bytes.value), in.rate.value, in.payload)
             : fmt::format("{:.6g} / {:.6g}", double(in.bytes.value), in.rate.value);
}

OmniTime made(Seconds time, Seconds ring, std::string formula, std::string numbers) {
  OmniTime out;
  out.time = time;
  if (time.value > 0 && ring.value > 0) out.speedup = ring / time;
  out.arithmetic = fmt::format("{} = {} = {}", formula, numbers, to_text(time));
  return out;
}

struct PortLoad {
  double load = 0;  // of S
  int aggregators = 0;
  bool sending = true;
};

// The busiest direction of any port, colocated.
PortLoad busiest(const OmniInputs& in) {
  const double n = in.workers, a = in.aggregators, d = in.density, du = in.density_union;
  PortLoad most{-1, 0, true};
  const int least = in.aggregators / in.workers, odd = in.aggregators % in.workers != 0;
  for (int k = least; k <= least + odd; ++k) {
    const double sent = d * (1 - k / a) + du * k * (n - 1) / a;
    const double received = du * (1 - k / a) + d * k * (n - 1) / a;
    if (sent > most.load) most = {sent, k, true};
    if (received > most.load) most = {received, k, false};
  }
  return most;
}

}  // namespace

Result<OmniModel> omnireduce_model(const OmniInputs& in) {
  if (const auto valid = validate(in); !valid) return tl::unexpected(valid.error());
  const double n = in.workers, a = in.aggregators, s = double(in.bytes.value);
  const double all = s / (in.rate.value * in.payload);  // seconds for all blocks through one port
  const std::string latency = fmt::format("{:.4g}", in.latency.value), sb = seconds_of_all(in);
  OmniModel model;

  const Seconds ring(2 * (n - 1) * (in.latency.value + s / (n * in.rate.value)));
  model.ring =
      made(ring, ring, "2(N-1) (a + S / (N B))",
           fmt::format("{} x ({} + {:.6g} / ({} x {:.6g}))", 2 * (n - 1), latency, s, n, in.rate.value));

  const double through = std::max(in.density, in.density_union), incast = std::max(1.0, n / a);
  model.dedicated = made(in.latency + Seconds(through * incast * all), ring, "a + max(D, Du) max(1, N/A) S/B",
                         fmt::format("{} + max({:.4g}, {:.4g}) x max(1, {}/{}) x {}", latency, in.density,
                                     in.density_union, in.workers, in.aggregators, sb));

  const PortLoad port = busiest(in);
  const double with = port.sending ? in.density_union : in.density;
  const double without = port.sending ? in.density : in.density_union;
  const bool alone = in.workers == 1;  // nothing crosses a wire
  model.colocated =
      made(alone ? Seconds(0) : in.latency + Seconds(port.load * all), ring,
           port.sending ? "a + (D (1 - k/A) + Du k (N-1)/A) S/B" : "a + (Du (1 - k/A) + D k (N-1)/A) S/B",
           alone ? std::string("one worker: nothing moves")
                 : fmt::format("{} + ({:.4g} x (1 - {}/{}) + {:.4g} x {} x {}/{}) x {}", latency, without,
                               port.aggregators, in.aggregators, with, port.aggregators, in.workers - 1,
                               in.aggregators, sb));

  model.all_gather = made(
      Seconds((n - 1) * (in.latency.value + 2 * in.density * s / in.rate.value)), ring, "(N-1) (a + 2 D S/B)",
      fmt::format("{} x ({} + 2 x {:.4g} x {:.6g} / {:.6g})", n - 1, latency, in.density, s, in.rate.value));
  return model;
}

Result<Seconds> omnireduce_on_the_wire(const OmniInputs& in, bool colocated) {
  OmniInputs sent = in;
  sent.density += (1 - in.density) * in.first;
  sent.density_union += (1 - in.density_union) * in.first;
  const auto model = omnireduce_model(sent);
  if (!model) return tl::unexpected(model.error());
  const Seconds base = colocated ? model->colocated.time : model->dedicated.time;
  if (base.value <= 0) return base;
  return base + in.latency + Seconds((2 * in.workers - 1) * double(in.packet.value) / in.rate.value);
}

double payload_share(std::uint64_t block_bytes, std::uint32_t fusion, std::uint64_t around_packet) {
  const double values = double(block_bytes) * fusion;
  return values / (values + 16 + 4.0 * fusion + double(around_packet));
}

double union_of_random(double density, int workers) {
  return 1 - std::pow(1 - density, workers);
}

}  // namespace ringtrue::ideal
