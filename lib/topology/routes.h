// Which trunks data crosses on its way from one port to another, where switches forward by destination as
// InfiniBand's do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ringtrue::topology {

// A cable between two switches, one way.
struct Trunk {
  int from = 0, from_port = 0;  // switch, port; -1: which port is not known
  int to = 0, to_port = 0;
  int back = -1;  // the same cable the other way; -1: unknown
};

// A port of a host, which data is sent to.
struct RoutedPort {
  std::string node, device;  // "node3", "mlx5_0"; by the description that the fabric has of it
  int at = -1;               // the switch that it hangs on
  int number = 0;            // of that switch's ports
};

class Routes {
 public:
  enum class Way : std::uint8_t {
    known,
    unknown,  // a table or a row of one is missing
    none      // a switch on the way says that it has none, or they send in a circle
  };

  int add_switch(std::string name);
  int add_trunk(const Trunk& trunk);     // both switches are there; its ports are below `no_port`
  int add_port(RoutedPort port);         // its switch is there
  void send(int at, int port, int out);  // what `at` sends to `port` leaves by its port `out`
  void no_way(int at, int port);         // ... goes nowhere, by its own word

  int switches() const { return int(switches_.size()); }
  const std::string& name(int number) const { return switches_[std::size_t(number)].name; }
  const std::vector<Trunk>& trunks() const { return trunks_; }
  const std::vector<RoutedPort>& ports() const { return ports_; }
  // The ports of a node, by its name as it is or up to the first dot; in the order of their devices.
  std::vector<int> ports_of(const std::string& node) const;

  // The trunks from the switch of one port to that of another, in their order.
  Way way(int from, int to, std::vector<int>& trunks) const;
  // The next trunk from a switch towards a port; -1: it hangs there, or `at` is not what is known.
  Way next(int at, int port, int& trunk) const;

  std::string text(const Trunk& trunk) const;   // "spine06 port 31 -> leaf04 port 43"
  std::string cable(const Trunk& trunk) const;  // "spine06 port 31 <-> leaf04 port 43"

  static constexpr int no_port = 65534;  // from here on: what no switch has

 private:
  static constexpr std::uint16_t unknown_port = 65534, no_way_port = 65535;
  struct Switch {
    std::string name;
    std::vector<std::uint16_t> out{};  // by port of a host; shorter: unknown
    std::vector<int> trunk{};          // by its own port; -1: none
  };
  std::uint16_t& out_of(int at, int port);
  std::string end(int at, int port) const;  // "spine06 port 31"

  std::vector<Switch> switches_;
  std::vector<Trunk> trunks_;
  std::vector<RoutedPort> ports_;
};

// How a fabric's tables use it, over all ordered pairs of ports on different switches.
struct RouteUse {
  std::int64_t pairs = 0, known = 0, unknown = 0, none = 0;
  std::vector<std::int64_t> by_trunk;  // pairs that cross it
  std::vector<int> unused;             // trunks that none of them crosses, where all ways are known
  // Trunks with more than `crowded_share` times the upper median of their like, which join switches of the
  // same levels; a level is the distance to the nearest switch with hosts.
  std::vector<int> crowded;
  std::vector<double> usual;  // by trunk: that median
  // Pairs whose way back does not cross the same cables, and of these those whose way back is longer or
  // shorter; nullopt: there are too many pairs to look at each.
  std::optional<std::int64_t> asymmetric, unlike;
};
inline constexpr double crowded_share = 1.5;
inline constexpr std::int64_t max_pairs_looked_at = 20'000'000;
RouteUse use_of(const Routes& routes);

}  // namespace ringtrue::topology
