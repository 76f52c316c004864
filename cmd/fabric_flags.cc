#include "cmd/fabric_flags.h"

#include "sim/settings.h"

namespace ringtrue::cmd {

void add_fabric_flags(Commands& commands, Command app, ops::FabricRequest& flags) {
  for (const sim::Setting& setting : sim::settings()) {
    const std::string name(setting.name);
    const auto read = [&flags, name](std::string_view text) -> Result<void> {
      sim::Description scratch;
      if (auto fits = sim::set(scratch, name, std::string(text)); !fits) return tl::unexpected(fits.error());
      flags.given[name] = text;
      return {};
    };
    const Option option = app.add("--" + name, read, std::string(setting.type), std::string(setting.help));
    option.group("fabric");
    if (name == "inside") commands.choices(option, {"nvlink", "pcie"});
    if (name != "preset") continue;
    std::vector<std::string> words;
    for (const sim::Preset& preset : sim::presets()) words.emplace_back(preset.name);
    commands.choices(option, std::move(words));
  }
  add_text(app, "--fabric", flags.file, "FILE",
           "TOML, settings named as these flags: nodes = 128, nic = \"400Gbit\"")
      .group("fabric");
  app.add_texts("--topology", flags.topology, "FILE...",
                "recordings and other files as of topo --from: nodes, GPUs, rails and their rates; "
                "'probe': of --hosts, or of this machine")
      .group("fabric");
  add_whole(app, "--random-faults", flags.random_faults, 0, 100,
            "so many faults of the fabric, drawn from the seed; the output says which")
      .group("fabric");
}

}  // namespace ringtrue::cmd
