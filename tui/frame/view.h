// What is looked at, and how: changed by keys alone.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/keys.h"
#include "tui/frame/grid.h"
#include "tui/model/snapshot/snapshot.h"

namespace ringtrue::tui {

enum class Screen : std::uint8_t { fleet, findings, matrix, topology, history, counters, run };
inline constexpr int screens = 7;

// What the next keys mean: what was asked is answered by one key.
enum class Mode : std::uint8_t { browse, filter, plan, ask_start, ask_export };

// Of one screen.
struct Spot {
  int row = 0, column = 0;
  std::string key{};  // of the row; followed when rows change their order
  bool open = false;  // gone in with Enter
  std::string filter{};
  int sort = -1;  // column; -1: problems first
  bool descending = false;
};

struct View {
  Screen screen = Screen::fleet;
  std::array<Spot, screens> places{};
  bool faults_only = false, frozen = false, help = false;
  bool map = true;        // of more than 64 nodes
  bool baseline = false;  // the matrix in shares of it
  int layer = 0;
  Mode mode = Mode::browse;
  std::string input{};
  std::string message{};
  bool complaint = false;
  std::string command{};               // shown to be copied
  Task plan{};                         // what is about to be started, as it is typed
  int line = 0;                        // of it, which is changed
  Price price{};                       // what is asked for
  std::optional<int> asked_session{};  // that the next snapshots will be of
  Letters letters{};
  bool read_only = false;

  Spot& here() { return places[std::size_t(screen)]; }
  const Spot& here() const { return places[std::size_t(screen)]; }
};

}  // namespace ringtrue::tui

namespace ringtrue {

template <>
inline constexpr const char* keys_of<tui::Screen>[] = {"fleet",   "findings", "matrix", "topology",
                                                       "history", "counters", "run"};

}  // namespace ringtrue
