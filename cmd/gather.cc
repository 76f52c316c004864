#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "cmd/command.h"
#include "cmd/facts.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/unheeded.h"
#include "fleet/inspect.h"
#include "fleet/safe_file.h"
#include "report/json.h"
#include "report/text.h"
#include "topology/format/format.h"

namespace ringtrue::cmd {
namespace {

struct Flags {
  FactFlags facts;
  std::string output, salt;
  bool redact = false;
};

struct Bundle {
  std::string node;  // as it was asked for
  Result<topology::Recording> recording;
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

Result<std::vector<Bundle>> bundles_of(const Context& context, const FactFlags& flags) {
  std::vector<Bundle> bundles;
  if (auto heeded = check_facts(context, flags, context.common.hosts.has_value()); !heeded)
    return tl::unexpected(heeded.error());
  if (!context.common.hosts) {
    auto recording = record_here(context, flags);
    if (!recording) return tl::unexpected(recording.error());
    bundles.push_back({recording->node, std::move(recording)});
    return bundles;
  }
  auto targets = targets_of(context);
  if (!targets) return tl::unexpected(targets.error());
  fleet::InspectOptions what;
  what.window = flags.window.value_or(Seconds(0));
  what.wake_gpus = flags.wake_gpus;
  what.recording = true;
  what.deadline = long_patience(flags);
  for (fleet::NodeInspection& node : fleet::inspect(*targets, fleet_options(context, {}, {}), what)) {
    if (!node.facts) {
      bundles.push_back({node.node, tl::unexpected(node.facts.error())});
    } else {
      bundles.push_back({node.node, topology::read_recording(node.recording)});
      if (bundles.back().recording) bundles.back().recording->node = node.node;
    }
  }
  clear_progress();
  return bundles;
}

Result<report::BundleRow> store(topology::Recording recording, const Flags& flags, const std::string& salt,
                                bool folder) {
  if (flags.redact) topology::redact(recording, salt);
  const std::string bytes = topology::write_recording(recording);
  std::string path = flags.output;
  if (path.empty() || folder)
    path += fmt::format("{}{}", path.empty() || path.back() == '/' ? "" : "/", file_name(recording.node));
  if (fleet::exists(path))
    return fail(Cause::bad_input, path + " is already there", "", "remove it, or give another --output");
  if (auto written = fleet::write_file(path, bytes, 0644, fleet::Existing::keep); !written)
    return tl::unexpected(written.error());
  report::BundleRow row{recording.node,         path,        bytes.size(),
                        recording.files.size(), {},          recording.errors.size(),
                        recording.window_s,     flags.redact};
  for (const auto& [library, answer] : recording.answers) row.answers.push_back(library);
  return row;
}

int run(Context& context, const Flags& flags) {
  auto heeded = refuse("gather", {{context.common.link_rate.has_value(), "--link-rate"},
                                  {!flags.redact && !flags.salt.empty(), "--salt", "add --redact"}});
  if (!heeded) return failed(context, heeded.error());
  std::string salt = flags.salt;
  if (flags.redact && salt.empty()) {
    salt.resize(16);
    if (::getrandom(salt.data(), salt.size(), 0) != ssize_t(salt.size()))
      return failed(context, Error{Cause::internal, "no random bytes from the system", "", "give --salt"});
  }
  auto bundles = bundles_of(context, flags.facts);
  if (!bundles) return failed(context, bundles.error());
  const bool folder =
      !flags.output.empty() && (bundles->size() > 1 || flags.output.back() == '/' || is_folder(flags.output));
  if (folder) {
    if (auto made = fleet::make_folder(flags.output); !made) return failed(context, made.error());
  }
  report::GatherDocument document;
  Facts facts;
  for (Bundle& bundle : *bundles) {
    auto row = bundle.recording ? store(std::move(*bundle.recording), flags, salt, folder)
                                : Result<report::BundleRow>(tl::unexpected(bundle.recording.error()));
    if (row)
      document.bundles.push_back(std::move(*row));
    else
      facts.failures.push_back({bundle.node, "gather", row.error(), true});
  }
  document.error = trouble_of(facts);
  if (document.error) complain(document.error->error);
  return print(context.common.json ? report::json(document) : report::text(document, context.style),
               document.error ? Exit::unknown : Exit::healthy);
}

}  // namespace

void add_gather(Commands& commands) {
  const Command app =
      commands.add("gather", "Everything that the probes read, as a file a node, for reports and --from");
  static Flags flags;
  flags.facts.window = Seconds(1);
  add_fact_flags(app, flags.facts, false);
  add_text(app, "-o,--output", flags.output, "PATH",
           "the file, or the folder where there are several nodes; ringtrue-NODE.rec.gz if not given");
  app.add_flag("--redact", flags.redact, "stand-ins for names, addresses and serial numbers");
  add_text(app, "--salt", flags.salt, "TEXT",
           "of the stand-ins: the same for the same salt; drawn at random if not given");
  app.footer(
      "Without --hosts: this machine. Nothing is overwritten.\n"
      "Exit code 0 when all nodes were gathered, otherwise 3.\n"
      "Example: ringtrue gather --hosts node[01-16] --redact -o bundles/");
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
