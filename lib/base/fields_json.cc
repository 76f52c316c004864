#include "base/fields_json.h"

namespace ringtrue {
namespace {

// Brackets outside of texts: the parser itself goes as deep as it is led.
bool too_deep(std::string_view text, int max_depth) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > max_depth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, std::size_t max_bytes, int max_depth,
                                  std::string_view what) {
  if (text.size() > max_bytes)
    return fail(Cause::bad_input, fmt::format("{} longer than {} MiB", what, max_bytes >> 20));
  if (too_deep(text, max_depth))
    return fail(Cause::bad_input, fmt::format("{} that nests deeper than {}", what, max_depth));
  nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_discarded()) return fail(Cause::bad_input, fmt::format("{} that is not JSON", what));
  return document;
}

}  // namespace ringtrue
