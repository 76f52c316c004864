// What carries the data between nodes, and what a program can reach of its rate.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/measurer.h"
#include "ideal/rates.h"
#include "run/report.h"

namespace ringtrue::ops {

struct Carrier {
  run::Transport transport = run::Transport::tcp;                 // or verbs
  std::map<std::string, std::vector<diagnosis::RdmaPort>> rails;  // of RDMA, by node
  std::map<std::string, std::string> gids;                        // of the first rail on Ethernet, by node
  int path_mtu = 0;                                               // bytes, of RDMA, the smallest; 0: unknown
  std::vector<std::string> notes;                                 // why it is not RDMA, a line each

  void pass(int mtu);
  void add(const std::vector<run::RdmaUse>& uses);
};

// RDMA where all went over it, else TCP for all.
Carrier carrier_of(const run::RunReport& report,
                   std::map<std::string, std::vector<diagnosis::RdmaPort>> rails);

// The share of a link's rate that payload can have. An unknown MTU is taken for the smaller of the usual
// ones.
ideal::Efficiency efficiency(const Carrier& carrier);
// In this run; nullopt where nothing crossed a link.
std::optional<ideal::Efficiency> efficiency_of(const run::RunReport& run);

}  // namespace ringtrue::ops
