#include "formats/hwloc_nvlink.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "formats/text.h"
#include "formats/xml.h"
#include "topology/links.h"

namespace ringtrue::formats {
namespace {

using namespace topology;

constexpr std::size_t max_objects = 2048;  // of a matrix

struct Matrix {
  std::vector<HwlocPeer> peers;
  std::vector<std::uint64_t> MBps;  // row by row
  std::uint64_t between(std::size_t a, std::size_t b) const { return MBps[a * peers.size() + b]; }
};

// The words of all children of that name.
std::vector<std::string_view> words(const pugi::xml_node& node, const char* name) {
  std::vector<std::string_view> result;
  for (const auto& child : node.children(name))
    for (std::string_view line : split(child.child_value(), '\n'))
      for (const std::string_view word : split(line, ' '))
        if (!trim(word).empty()) result.push_back(trim(word));
  return result;
}

Result<Matrix> read(const pugi::xml_node& node, const HwlocPeers& known) {
  const auto size = decimal(attribute(node, "nbobjs"));
  if (!size || *size == 0 || *size > max_objects)
    return fail(Cause::bad_input, "NVLinkBandwidth of no or too many objects");
  Matrix matrix;
  for (std::string_view word : words(node, "indexes")) {
    if (const std::size_t colon = word.find(':'); colon != std::string_view::npos)
      word.remove_prefix(colon + 1);
    const auto index = decimal(word);
    const auto peer = index ? known.find(*index) : known.end();
    matrix.peers.push_back(peer == known.end() ? HwlocPeer{} : peer->second);
  }
  for (const std::string_view word : words(node, "u64values")) {
    const auto value = decimal(word);
    if (!value) return fail(Cause::bad_input, fmt::format("NVLinkBandwidth of {:?}", clean(word)));
    matrix.MBps.push_back(*value);
  }
  if (matrix.peers.size() != *size || matrix.MBps.size() != *size * *size)
    return fail(Cause::bad_input, "NVLinkBandwidth without all of its values");
  return matrix;
}

// hwloc adds up a fixed figure a link: 20000 for version 1, 25000 for 2; later ones appear with one way's
// figure or with both ways'. Which, is told by what no board could have.
std::map<int, double> figures(const Matrix& matrix, const std::vector<int>& versions) {
  std::map<int, double> most;  // MB/s of one GPU
  for (std::size_t i = 0; i < matrix.peers.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < matrix.peers.size(); ++j)
      sum += i == j ? 0 : static_cast<double>(matrix.between(i, j));
    if (matrix.peers[i].kind == Remote::gpu) most[versions[i]] = std::max(most[versions[i]], sum);
  }
  for (auto& [version, sum] : most) {
    const double one_way = nvlink_rate(version).value_or(BytesPerSecond(25e9)).value / 1e6;
    sum = version > 2 && sum / one_way > max_nvlinks(version) ? 2 * one_way : one_way;
  }
  return most;
}

Result<void> apply(const Matrix& matrix, Node& node) {
  const std::size_t size = matrix.peers.size();
  std::vector<Gpu*> gpus(size, nullptr);
  std::vector<int> versions(size, 0);
  for (std::size_t i = 0; i < size; ++i) {
    if (matrix.peers[i].kind != Remote::gpu) continue;
    for (Gpu& gpu : node.gpus)
      if (gpu.address == matrix.peers[i].address) gpus[i] = &gpu;
    if (!gpus[i]) continue;
    versions[i] = nvlink_version(*gpus[i], node.find_pci(gpus[i]->address)).value_or(0);
  }
  const auto figure = figures(matrix, versions);
  for (std::size_t i = 0; i < size; ++i) {
    if (!gpus[i] || gpus[i]->nvlinks) continue;
    auto& links = gpus[i]->nvlinks.emplace();
    const int version = versions[i];
    for (std::size_t j = 0; j < size; ++j) {
      if (i == j) continue;
      const double count = std::round(static_cast<double>(matrix.between(i, j)) / figure.at(version));
      if (static_cast<double>(links.size()) + count > 64)
        return fail(Cause::bad_input, fmt::format("more than 64 NVLinks of one GPU"));
      for (int k = 0; k < static_cast<int>(count); ++k) {
        NvLink link;
        link.index = static_cast<int>(links.size());
        link.up = {true, origin::hwloc};  // hwloc counts no others
        if (version > 0) link.version = {version, origin::derived};
        if (const auto rate = nvlink_rate(version)) link.rate = {*rate, origin::derived};
        link.remote = matrix.peers[j].kind;
        link.remote_address = matrix.peers[j].address;
        links.push_back(std::move(link));
      }
    }
  }
  return {};
}

}  // namespace

int max_nvlinks(int version) {
  constexpr int links[] = {0, 4, 6, 12, 18, 18, 36};
  return version >= 1 && version <= 6 ? links[version] : 36;
}

std::optional<int> nvlink_version(int compute_capability) {
  const int sm = compute_capability;
  if (sm == 60) return 1;
  if (sm >= 70 && sm <= 75) return 2;
  if (sm >= 80 && sm <= 89) return 3;
  if (sm >= 90 && sm <= 99) return 4;
  if (sm >= 100 && sm <= 103) return 5;
  if (sm == 107) return 6;
  return std::nullopt;
}

std::optional<int> nvlink_version(const Gpu& gpu, const PciDevice* pci) {
  constexpr std::pair<const char*, int> models[] = {
      {"P100", 1}, {"V100", 2}, {"A100", 3}, {"A800", 3}, {"A30", 3},  {"H100", 4},
      {"H200", 4}, {"H800", 4}, {"H20", 4},  {"B100", 5}, {"B200", 5}, {"B300", 5},
  };
  const std::string model = gpu.model.value_or("");
  for (const auto& [word, version] : models)
    if (model.find(word) != std::string::npos) return version;
  if (!pci || !pci->vendor.is(0x10de)) return std::nullopt;
  const std::uint32_t device = pci->device.value_or(0);
  if (device >= 0x15f7 && device <= 0x15f9) return 1;  // GP100
  if (device >= 0x1db0 && device <= 0x1df6) return 2;  // GV100
  if (device >= 0x20b0 && device <= 0x20ff) return 3;  // GA100
  if (device >= 0x2300 && device <= 0x23ff) return 4;  // GH100
  if (device >= 0x2900 && device <= 0x29ff) return 5;  // GB100
  return std::nullopt;
}

Result<void> read_nvlinks(const pugi::xml_node& root, const HwlocPeers& peers, Node& node) {
  for (const char* name : {"distances2", "distances2hetero"}) {
    for (const auto& distances : root.children(name)) {
      if (attribute(distances, "name") != "NVLinkBandwidth") continue;
      const auto matrix = read(distances, peers);
      if (!matrix) return tl::unexpected(matrix.error());
      if (const auto done = apply(*matrix, node); !done) return done;
    }
  }
  return {};
}

}  // namespace ringtrue::formats
