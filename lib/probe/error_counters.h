// This machine's counters of errors and its links' states, read again and again at little cost: files alone,
// only those that tell of errors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "probe/source.h"
#include "run/counter_window.h"

namespace ringtrue::probe {

class ErrorCounters {
 public:
  // Of this machine; without its netdevs where /sys is that of another network namespace.
  ErrorCounters();
  explicit ErrorCounters(std::unique_ptr<Source> source);
  ~ErrorCounters();

  // Looks which devices there are; now and then, since they come and go.
  void find();
  // Beside the kernel's counters "port_down" of RDMA ports: how often one was seen to leave the state
  // "active" since this object has watched it, of devices whose counters do not tell.
  std::vector<run::CounterSet> read();

 private:
  struct File {
    std::string path, counter;  // an empty counter: the three totals of AER are in the file's lines
  };
  struct Device {
    std::string name;
    std::vector<File> files;
    std::map<std::string, std::uint64_t> widths;
    std::string state;  // the file of a port's state; empty: none
  };

  void find_ports();
  void find_netdevs();
  void find_functions();

  std::unique_ptr<Source> source_;
  bool netdevs_ = true;
  std::vector<Device> devices_;
  struct PortState {
    bool active = false;
    std::uint64_t went_down = 0;
  };
  std::map<std::string, PortState> ports_;
};

// What rose between two readings, or was reset; not what stands at its end and has not risen.
std::vector<run::CounterChange> rises(const std::vector<run::CounterSet>& before,
                                      const std::vector<run::CounterSet>& now);

}  // namespace ringtrue::probe
