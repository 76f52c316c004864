#include "tui/options.h"

#include <fmt/format.h>

#include <functional>

#include "base/number.h"
#include "base/suggest.h"

namespace ringtrue::tui {
namespace {

constexpr int largest = 1000;

struct Known {
  const char* name;
  bool* on;                                              // without a value
  std::function<Result<void>(const std::string&)> take;  // with one
};

auto into(std::string& target) {
  return [&target](const std::string& value) -> Result<void> {
    target = value;
    return {};
  };
}

std::vector<Known> table(Options& o) {
  return {
      {"--demo", &o.demo, {}},
      {"--ascii", &o.ascii, {}},
      {"--mono", &o.mono, {}},
      {"--mouse", &o.mouse, {}},
      {"--light", &o.light, {}},
      {"--read-only", &o.read_only, {}},
      {"--insecure", &o.insecure, {}},
      {"--help", &o.help, {}},
      {"--version", &o.version, {}},
      {"--at", nullptr, into(o.at)},
      {"--history", nullptr, into(o.history)},
      {"--record", nullptr, into(o.record)},
      {"--replay", nullptr, into(o.replay)},
      {"--config", nullptr, into(o.config_file)},
      {"--from", nullptr,
       [&](const std::string& value) -> Result<void> {
         o.from.push_back(value);
         return {};
       }},
      {"--print", nullptr,
       [&](const std::string& value) -> Result<void> {
         const auto screen = parse_one_of<Screen>(value, "screen");
         if (!screen) return tl::unexpected(screen.error());
         o.print = *screen;
         return {};
       }},
      {"--size", nullptr, [&](const std::string& value) { return assign(o.size, parse_screen_size(value)); }},
      {"--color", nullptr,
       [&](const std::string& value) -> Result<void> {
         if (value != "auto" && value != "always" && value != "never")
           return fail(Cause::bad_input, fmt::format("'{}' is not auto, always or never", value));
         o.colours = value == "auto"     ? Colours::automatic
                     : value == "always" ? Colours::always
                                         : Colours::never;
         return {};
       }},
      // As `ringtrue tui` has read them of its own flags: --setting hosts=node[1-4]
      {"--setting", nullptr,
       [&](const std::string& value) -> Result<void> {
         const std::size_t cut = value.find('=');
         if (cut == std::string::npos) return fail(Cause::bad_input, "give KEY=VALUE");
         const std::string key = value.substr(0, cut);
         // "--pki pki=DIR": the flag by which it was said.
         const std::size_t blank = key.starts_with("--") ? key.find(' ') : std::string::npos;
         const std::string flag = blank == std::string::npos ? "" : key.substr(0, blank);
         o.settings.push_back({key.substr(flag.empty() ? 0 : blank + 1), value.substr(cut + 1),
                               flag.empty() ? "--setting " + key : flag, false, config::Layer::flag});
         return {};
       }},
  };
}

}  // namespace

Result<Size> parse_screen_size(std::string_view text) {
  const std::size_t cut = text.find('x');
  if (cut != std::string_view::npos) {
    const auto width = parse_number<int>(text.substr(0, cut)),
               height = parse_number<int>(text.substr(cut + 1));
    if (width && height && *width >= 1 && *height >= 1 && *width <= largest && *height <= largest)
      return Size{*width, *height};
  }
  return fail(Cause::bad_input, fmt::format("'{}' is no size", text.substr(0, 40)), {},
              fmt::format("give columns and rows, such as 80x24, up to {}x{}", largest, largest));
}

Result<Options> read_options(const std::vector<std::string>& words) {
  Options out;
  const auto known = table(out);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const Known* flag = nullptr;
    for (const Known& k : known)
      if (name == k.name) flag = &k;
    if (flag == nullptr) {
      std::vector<std::string> names;
      for (const Known& k : known) names.emplace_back(k.name);
      const auto near = closest(name, names);
      return fail(Cause::bad_input, fmt::format("unknown flag '{}'", name), {},
                  near ? fmt::format("did you mean {}?", *near) : "see ringtrue tui --help");
    }
    if (flag->on != nullptr) {
      if (equals != std::string::npos) return fail(Cause::bad_input, "takes no value", name);
      *flag->on = true;
      continue;
    }
    if (equals == std::string::npos && i + 1 == words.size())
      return fail(Cause::bad_input, "a value is missing", name);
    const std::string value = equals == std::string::npos ? words[++i] : words[i].substr(equals + 1);
    if (auto taken = flag->take(value); !taken) {
      Error error = std::move(taken.error());
      if (error.where.empty()) error.where = name;
      return tl::unexpected(std::move(error));
    }
  }
  const int sources = int(out.demo) + int(!out.from.empty()) + int(!out.replay.empty());
  if (sources > 1)
    return fail(Cause::bad_input, "--demo, --from and --replay exclude each other", {}, "give one of them");
  if (out.size && !out.print)
    return fail(Cause::bad_input, "a terminal has its own size", "--size", "add --print SCREEN");
  return out;
}

}  // namespace ringtrue::tui
