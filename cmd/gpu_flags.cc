#include "cmd/gpu_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/options.h"

namespace ringtrue::cmd {

Result<std::vector<int>> parse_gpus(std::string_view text) {
  constexpr long most = 1023;
  std::vector<int> gpus;
  while (true) {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const auto dash = part.find('-');
    const auto first = parse_whole(part.substr(0, dash), 0, most);
    const auto last = dash == part.npos ? first : parse_whole(part.substr(dash + 1), 0, most);
    for (const auto* end : {&first, &last})
      if (!*end) return tl::unexpected(end->error());
    if (*last < *first) return fail(Cause::bad_input, fmt::format("'{}' falls", part), {}, "use 0,2 or 4-7");
    for (long gpu = *first; gpu <= *last; ++gpu) {
      if (std::find(gpus.begin(), gpus.end(), int(gpu)) != gpus.end())
        return fail(Cause::bad_input, fmt::format("GPU {} is there twice", gpu), {}, "give each once");
      gpus.push_back(int(gpu));
    }
    if (comma == text.npos) return gpus;
    text.remove_prefix(comma + 1);
  }
}

void add_gpu_flags(Command app, ops::GpuRequest& flags) {
  const std::string group = "GPUs (--memory device)";
  add_parsed(app, "--gpus", flags.gpus, parse_gpus, "LIST",
             "of each node, dealt to its ranks: 0,2 or 4-7 (all)")
      .group(group);
  app.add_flag("--share-gpus", flags.share, "take GPUs that other processes use, too").group(group);
}

}  // namespace ringtrue::cmd
