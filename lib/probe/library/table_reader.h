// Reads the linear forwarding tables of many switches at once: a question each block of 64 LIDs, a bounded
// number of them on their way, each with a deadline and all with one. Knows no device: questions go through a
// BlockWire.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "formats/forwarding.h"

namespace ringtrue::probe::tables {

inline constexpr int lids_a_block = 64;
inline constexpr int max_lid = int(formats::ForwardingReader::max_lid);
inline constexpr std::uint8_t unknown_port = formats::ForwardingTable::unknown,
                              no_port = formats::ForwardingTable::none;

// The blocks that hold any of these LIDs, which ascend, up to and with the one that holds the table's top.
std::vector<int> blocks_of(const std::vector<int>& lids, int top);

struct BlockAnswer {
  std::uint32_t question = 0;
  int status = 0;       // of the MAD; 0: it has ports
  bool silent = false;  // the system gave up waiting for it
  std::array<std::uint8_t, lids_a_block> ports{};
};

class BlockWire {
 public:
  virtual ~BlockWire() = default;
  // The number that the answer will have.
  virtual Result<std::uint32_t> ask(int at, int block) = 0;
  // The next answer to anything, or none within this time.
  virtual Result<std::optional<BlockAnswer>> next(Seconds wait) = 0;
  virtual Seconds now() = 0;
};

struct Limits {
  int at_once = 32;
  int of_switch = 4;    // at once; one until it has answered first
  Seconds answer{1};    // for one question
  Seconds total{22};    // for all
  int most_silent = 2;  // in a row: then the switch is given up
};

// A switch to be read, and what came of it.
struct Table {
  std::vector<int> blocks;        // wanted
  int top = 0;                    // its LinearFDBTop: what lies above is discarded
  std::vector<std::uint8_t> out;  // by LID up to the last block; unknown_port where no answer came
  std::size_t missing = 0;        // blocks without an answer
  std::string why;                // ... the first reason: "no answer"
};

// Never fails as a whole: a switch that does not answer costs itself.
void read_tables(BlockWire& wire, std::vector<Table>& tables, const Limits& limits);

// Keeps of a table what is for these LIDs alone; above its top it has no way.
void keep_only(const std::vector<int>& lids, Table& table);

}  // namespace ringtrue::probe::tables
