// Faults by script: one grammar for the faulty transport and for the simulator.
//
//   KIND@HOP[:key=value[,key=value...]]        several faults: separated by ';'
//
// HOP   SOURCE>DESTINATION, each a rank or '*'
// KIND  delay          every message later by time=20ms
//       throttle       at most rate=50Mbit over the hop's bytes
//       cut            the connection breaks after=1M bytes (default 0)
//       drop           the nth=3 message (default 1) vanishes; the hop stays up and silent about it
//       corrupt-frame  the nth message's header is changed on its way
//       corrupt-value  one byte of the nth message's payload is changed on its way
//       stall          nothing moves any more after=1M bytes; the connection stays up
//
// and only where packets may be lost (udp, and the simulator's lossy runs), each with a share=5% (or 0.05) of
// the hop's messages that it strikes, and seed=N (default 1; simulate's --seed) that decides which:
//
//       loss           the message vanishes
//       duplicate      it arrives twice
//       reorder        it arrives after the next message or the next two
//       corrupt        it is changed on its way
//
// Examples: "throttle@3>4:rate=50Mbit"   "corrupt-value@*>0:nth=2;delay@1>*:time=2ms"   "loss@*>*:share=1%"
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/keys.h"
#include "base/result.h"
#include "base/units.h"
#include "collective/types.h"

namespace ringtrue::collective {

struct Fault {
  enum class Kind : std::uint8_t {
    delay,
    throttle,
    cut,
    drop,
    corrupt_frame,
    corrupt_value,
    stall,
    loss,
    duplicate,
    reorder,
    corrupt,
  };
  Kind kind = Kind::delay;
  std::optional<Rank> source;       // nullopt: any
  std::optional<Rank> destination;  // nullopt: any
  Seconds time;                     // delay
  BytesPerSecond rate;              // throttle
  Bytes after;                      // cut, stall
  std::uint64_t nth = 1;            // drop, corrupt-*: counted per hop from 1
  double share = 0;                 // loss, duplicate, reorder, corrupt: 0 to 1, whole billionths
  std::uint64_t seed = 1;           // the same
  bool seeded = false;              // the seed was said

  // Whether only a transport that may lose packets can be asked for it.
  bool unreliable() const { return kind >= Kind::loss; }
  // Of an unreliable kind: a number for the hop's nth message (from 1), the same in every process and world.
  // The fault strikes the message if strikes().
  std::uint64_t draw(Rank from, Rank to, std::uint64_t message) const;
  bool strikes(Rank from, Rank to, std::uint64_t message) const;

  bool concerns(Rank from, Rank to) const {
    return (!source || *source == from) && (!destination || *destination == to);
  }
};

Result<std::vector<Fault>> parse_faults(std::string_view text);  // "" gives none
std::string to_text(const Fault& fault);                         // reads back as the same fault
// Errors (bad_input): a fault of ranks beyond so many, which would strike nobody.
Result<void> check_ranks(const std::vector<Fault>& faults, int ranks);
// Gives the faults that strike by chance, and do not say another, this seed.
void seed(std::vector<Fault>& faults, std::uint64_t seed);

// For this grammar and the simulator's. "5%" or "0.05": 0 to 1, rounded to whole billionths so that the text
// form can be exact.
std::optional<double> parse_share(std::string_view text);
std::string share_text(double share);
std::string_view trimmed(std::string_view text);  // without white space around it
// `value` in the largest of some units, each a thousand times the one before, in which it is whole.
std::string in_units(double value, std::initializer_list<std::string_view> units);

// Several faults, separated by ';', each read by `parse`; "" gives none.
template <class F>
Result<std::vector<F>> parse_script(std::string_view text, Result<F> (*parse)(std::string_view)) {
  std::vector<F> faults;
  if (trimmed(text).empty()) return faults;
  for (;;) {
    const std::size_t end = text.find(';');
    Result<F> fault = parse(trimmed(text.substr(0, end)));
    if (!fault) return tl::unexpected(fault.error());
    faults.push_back(*fault);
    if (end == text.npos) return faults;
    text = text.substr(end + 1);
  }
}

}  // namespace ringtrue::collective

namespace ringtrue {

template <>
inline constexpr const char* keys_of<collective::Fault::Kind>[] = {
    "delay", "throttle", "cut",       "drop",    "corrupt-frame", "corrupt-value",
    "stall", "loss",     "duplicate", "reorder", "corrupt"};

}  // namespace ringtrue
