// Files by what is in them, not by what they are called.
#include <fmt/format.h>

#include <array>
#include <cerrno>

#include "base/file.h"
#include "formats/format.h"
#include "formats/gzip.h"
#include "formats/text.h"
#include "formats/xml.h"
#include "probe/probe.h"
#include "probe/recording.h"
#include "topology/json.h"
#include "topology/merge.h"

namespace ringtrue::probe {
namespace {

using namespace formats;
using namespace topology;

constexpr const char* what_is_read =
    "give hwloc XML, NCCL's topology XML, ibnetdiscover's output, a bundle of `ringtrue gather` or "
    "`ringtrue topo --json`";

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// "/a/node3.xml.gz" -> "node3"
std::string stem(const std::string& path) {
  std::string name = file_name(path);
  for (const char* end : {".gz", ".xml", ".json", ".txt", ".topo", ".recording"})
    if (name.size() > std::strlen(end) && name.ends_with(end)) name.resize(name.size() - std::strlen(end));
  return clean(name).empty() ? "node" : clean(name);
}

// What else it is, by its first bytes; nullptr: no idea.
const char* kind_of_bytes(std::string_view bytes) {
  constexpr std::array<std::pair<std::string_view, const char*>, 8> known = {{
      {"PK\x03\x04", "a zip archive"},
      {"\177ELF", "a program"},
      {"BZh", "packed by bzip2"},
      {"\3757zXZ", "packed by xz"},
      {"\x28\xb5\x2f\xfd", "packed by zstd"},
      {"SQLite format 3", "a database"},
      {"%PDF-", "a PDF"},
      {"#!", "a script"},
  }};
  for (const auto& [magic, what] : known)
    if (bytes.starts_with(magic)) return what;
  if (bytes.size() >= 262 && bytes.substr(257, 5) == "ustar") return "a tar archive";
  if (bytes.substr(0, 4096).find('\0') != std::string_view::npos) return "binary data";
  return nullptr;
}

// The "schema" of a JSON document, without parsing it: within texts its quotes would be escaped.
std::string schema_of(std::string_view text) {
  constexpr std::string_view key = "\"schema\"";
  const auto at = text.find(key);
  if (at == text.npos) return {};
  text = trim(text.substr(at + key.size()));
  if (!text.starts_with(':')) return {};
  text = trim(text.substr(1));
  return text.starts_with('"') ? clean(text.substr(1, text.find('"', 1) - 1)) : std::string();
}

std::string recorded_in(const std::string& path, const char* kind) {
  return fmt::format("{} ({})", clean(file_name(path)), kind);
}

Result<Cluster> read_json(std::string_view text, const std::string& path) {
  const std::string schema = schema_of(text);
  if (schema.starts_with("ringtrue.recording/")) {
    auto recording = read_recording(text);
    if (!recording) return tl::unexpected(recording.error());
    Cluster cluster = probe_cluster(*recording);
    Node& node = cluster.nodes.front();
    if (node.name.empty()) node.name = recording->node.empty() ? stem(path) : clean(recording->node);
    node.recorded = recorded_in(path, "recording");
    return cluster;
  }
  if (schema.starts_with("ringtrue.topo/")) return from_json(text);
  return fail(Cause::bad_input,
              schema.empty() ? "a JSON document without a schema, or a broken one"
                             : fmt::format("a JSON document of schema {:?}", schema),
              {}, what_is_read);
}

Result<Cluster> read_xml(std::string_view text, const std::string& path) {
  const std::string root = xml_root(text);
  Result<Node> node = fail(Cause::bad_input, fmt::format("an XML document of <{}>", root), {}, what_is_read);
  if (root == "topology") node = read_hwloc_xml(text, stem(path));
  if (root == "system") node = read_nccl_xml(text, stem(path));
  if (!node) return tl::unexpected(node.error());
  node->recorded = recorded_in(path, root == "topology" ? "hwloc XML" : "NCCL XML");
  return Cluster{{std::move(*node)}, {}};
}

Result<Cluster> read_text(std::string_view text, const std::string& path) {
  const char* kind = kind_of_bytes(text);
  if (!kind && trim(text).empty()) kind = "an empty file";
  if (kind) return fail(Cause::bad_input, kind, {}, what_is_read);
  if (!xml_root(text).empty()) return read_xml(text, path);
  const std::string_view trimmed = trim(text);
  if (trimmed.starts_with('<')) {  // XML, but for a root element
    pugi::xml_document document;
    const auto loaded = load_xml(text, document);
    return fail(Cause::bad_input, "damaged XML" + (loaded ? "" : ": " + loaded.error().what), {},
                what_is_read);
  }
  if (trimmed.starts_with("{")) return read_json(text, path);
  auto fabric = read_ibnetdiscover(text);
  if (!fabric) {
    if (fabric.error().next.empty()) fabric.error().next = what_is_read;
    return tl::unexpected(fabric.error());
  }
  return Cluster{{}, std::move(*fabric)};
}

Result<std::string> read_whole(const std::string& path) {
  auto bytes = read_file(path, max_file_bytes, FileKind::regular);
  if (bytes) return *std::move(bytes);
  const FileError& error = bytes.error();
  if (error.code == EISDIR) return fail(Cause::bad_input, "a folder; give the files in it", path);
  const bool theirs =
      error.code == ENOENT || error.code == ENOTDIR || error.code == EINVAL || error.code == EFBIG;
  return fail(theirs ? Cause::bad_input : Cause::unavailable, error.what, path);
}

}  // namespace

Result<Cluster> read_any(std::string_view bytes, const std::string& path) {
  Result<Cluster> cluster = Cluster();
  if (is_gzip(bytes)) {
    const auto text = gunzip(bytes);
    if (!text) return fail(text.error().cause, text.error().what, path);
    cluster = is_gzip(*text) ? fail(Cause::bad_input, "packed by gzip twice") : read_text(*text, path);
  } else {
    cluster = read_text(bytes, path);
  }
  if (!cluster && cluster.error().where.empty()) cluster.error().where = path;
  return cluster;
}

Result<Cluster> load(const std::string& path) {
  const auto bytes = read_whole(path);
  if (!bytes) return tl::unexpected(bytes.error());
  return read_any(*bytes, path);
}

Result<Cluster> load(const std::vector<std::string>& paths) {
  std::vector<Cluster> parts;
  for (const std::string& path : paths) {
    auto part = load(path);
    if (!part) return part;
    parts.push_back(std::move(*part));
  }
  return merge(std::move(parts));
}

}  // namespace ringtrue::probe
