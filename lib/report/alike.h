// Nodes of which the same is to be told: it is told once.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ringtrue::report {

struct Alike {
  std::string text;
  std::vector<std::string> nodes;  // each once
};

// In the order in which each text came first.
class AlikeNodes {
 public:
  void add(const std::string& text, const std::string& node) {
    const auto [place, fresh] = places_.emplace(text, all_.size());
    if (fresh) all_.push_back({text, {}});
    std::vector<std::string>& nodes = all_[place->second].nodes;
    if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
  }
  const std::vector<Alike>& all() const { return all_; }

 private:
  std::vector<Alike> all_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace ringtrue::report
