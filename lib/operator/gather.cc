#include "operator/gather.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/phase.h"
#include "fleet/inspect.h"
#include "pki/safe_file.h"
#include "probe/recording.h"

namespace ringtrue::ops {
namespace {

struct Bundle {
  std::string node;  // as it was asked for
  Result<probe::Recording> recording;
};

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// A node's name may be an address or a path.
std::string file_name(const std::string& node) {
  std::string name = "ringtrue-";
  for (const char c : node.substr(0, 128))
    name += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' ? c : '_';
  return name + ".rec.gz";
}

Result<std::vector<Bundle>> bundles_of(const GatherRequest& request, const Control& control) {
  const Setup& setup = request.setup;
  const FactRequest& facts = request.facts;
  std::vector<Bundle> bundles;
  if (!request.hosts) {
    auto recording = record_here(setup, facts);
    if (!recording) return tl::unexpected(recording.error());
    bundles.push_back({recording->node, std::move(recording)});
    return bundles;
  }
  auto targets = targets_of(setup);
  if (!targets) return tl::unexpected(targets.error());
  for (fleet::NodeInspection& node : fleet::inspect(*targets, fleet_options(setup, {}, {}, control),
                                                    facts.reading(), long_patience(facts))) {
    if (!node.facts) {
      bundles.push_back({node.node, tl::unexpected(node.facts.error())});
    } else {
      bundles.push_back({node.node, probe::read_recording(node.recording)});
      if (bundles.back().recording) bundles.back().recording->node = node.node;
    }
  }
  return bundles;
}

Result<BundleRow> store(probe::Recording recording, const GatherRequest& request, const std::string& salt,
                        bool folder) {
  if (request.redact) probe::redact(recording, salt);
  const std::string bytes = probe::write_recording(recording);
  std::string path = request.output;
  if (path.empty() || folder)
    path += fmt::format("{}{}", path.empty() || path.back() == '/' ? "" : "/", file_name(recording.node));
  if (pki::exists(path))
    return fail(Cause::bad_input, path + " is already there", "", "remove it, or give another --output");
  if (auto written = pki::write_file(path, bytes, 0644, pki::Existing::keep); !written)
    return tl::unexpected(written.error());
  BundleRow row{
      recording.node,     path,          bytes.size(), recording.files.size(), {}, recording.errors.size(),
      recording.window_s, request.redact};
  for (const auto& [library, answer] : recording.answers) row.answers.push_back(library);
  return row;
}

}  // namespace

Outcome<GatherDocument> gather(const GatherRequest& request, const Control& control) {
  std::string salt = request.salt;
  if (request.redact && salt.empty()) {
    salt.resize(16);
    if (::getrandom(salt.data(), salt.size(), 0) != ssize_t(salt.size()))
      return trouble({Cause::internal, "no random bytes from the system", "", "give --salt"});
  }
  auto bundles = bundles_of(request, control);
  if (!bundles) return trouble(bundles.error());
  const bool folder = !request.output.empty() &&
                      (bundles->size() > 1 || request.output.back() == '/' || is_folder(request.output));
  if (folder) {
    if (auto made = pki::make_folder(request.output); !made) return trouble(made.error());
  }
  GatherDocument document;
  Facts facts;
  for (Bundle& bundle : *bundles) {
    auto row = bundle.recording ? store(std::move(*bundle.recording), request, salt, folder)
                                : Result<BundleRow>(tl::unexpected(bundle.recording.error()));
    if (row)
      document.bundles.push_back(std::move(*row));
    else
      facts.failures.push_back({bundle.node, Phase::inspect, row.error(), true});
  }
  document.error = trouble_of(facts.failures);
  return document;
}

}  // namespace ringtrue::ops
