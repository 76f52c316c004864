// A value and where it came from. Unknown is a value of its own: never 0, never a pass.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace ringtrue::topology {

// Which source said so. Facts that nobody told are `unknown`.
namespace origin {
inline constexpr const char* unknown = "unknown";
inline constexpr const char* sysfs = "sysfs";  // /sys and /proc
inline constexpr const char* hwloc = "hwloc";
inline constexpr const char* verbs = "verbs";
inline constexpr const char* nvml = "nvml";
inline constexpr const char* ethtool = "ethtool";
inline constexpr const char* fabric = "fabric";      // libibnetdisc, ibnetdiscover
inline constexpr const char* nccl_xml = "nccl-xml";  // a file that NCCL wrote or reads
inline constexpr const char* system = "system";      // system calls: uname, getrlimit
inline constexpr const char* derived = "derived";    // worked out from other facts; say from what in `note`
}  // namespace origin

template <class T>
struct Fact {
  std::optional<T> value;
  std::string origin = origin::unknown;

  Fact() = default;
  Fact(T v, std::string from) : value(std::move(v)), origin(std::move(from)) {}

  bool known() const { return value.has_value(); }
  const T& operator*() const { return *value; }
  const T* operator->() const { return &*value; }
  T value_or(T other) const { return value ? *value : std::move(other); }
  bool is(const T& v) const { return value && *value == v; }
  bool operator==(const Fact&) const = default;

  // The first to say something is believed: sources are asked in the order of their trustworthiness.
  void offer(std::optional<T> v, const char* from) {
    if (!value && v) *this = Fact(std::move(*v), from);
  }
};

}  // namespace ringtrue::topology
