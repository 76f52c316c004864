#include "formats/xml.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/format.h"
#include "formats/text.h"

namespace ringtrue::formats {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
         static_cast<unsigned char>(c) >= 0x80;
}

tl::unexpected<Error> bad(std::string_view text, std::ptrdiff_t at, const std::string& what) {
  const auto end = text.begin() + std::clamp<std::ptrdiff_t>(at, 0, std::ssize(text));
  return fail(Cause::bad_input, fmt::format("line {}: {}", 1 + std::count(text.begin(), end, '\n'), what));
}

// Counts elements, and ends where they nest too deep.
struct Walk : pugi::xml_tree_walker {
  std::size_t elements = 0;
  bool too_deep = false;
  bool for_each(pugi::xml_node& node) override {
    elements += node.type() == pugi::node_element;
    too_deep = depth() >= max_xml_depth;
    return !too_deep;
  }
};

// A document has one element and no text beside it.
const char* wrong_at_root(const pugi::xml_document& document) {
  int elements = 0;
  for (const pugi::xml_node& node : document) {
    if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata)
      return "text outside of the root element";
    if (node.type() == pugi::node_element && ++elements > 1) return "a second root element";
  }
  return elements == 0 ? "no element" : nullptr;
}

}  // namespace

Result<void> load_xml(std::string_view text, pugi::xml_document& document) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  if (const auto checked = check_text(text); !checked) return checked;
  // Nothing is ever expanded; who declares entities means something else.
  if (const auto at = text.find("<!ENTITY"); at != text.npos)
    return bad(text, std::ptrdiff_t(at), "declarations of entities are refused");
  // What bounds the memory: an element has two tags at most.
  const auto tags = std::size_t(std::count(text.begin(), text.end(), '<'));
  const auto attributes = std::size_t(std::count(text.begin(), text.end(), '='));
  if (attributes > max_xml_attributes)
    return fail(Cause::bad_input, fmt::format("more than {} attributes", max_xml_attributes));
  Walk walk;
  if (tags <= 2 * max_xml_elements + 2) {
    constexpr unsigned flags = pugi::parse_cdata | pugi::parse_escapes | pugi::parse_wconv_attribute |
                               pugi::parse_eol | pugi::parse_fragment;
    const auto parsed = document.load_buffer(text.data(), text.size(), flags, pugi::encoding_utf8);
    if (!parsed) return bad(text, parsed.offset, lower(parsed.description()));
    document.traverse(walk);
  }
  if (tags > 2 * max_xml_elements + 2 || walk.elements > max_xml_elements)
    return fail(Cause::bad_input, fmt::format("more than {} elements", max_xml_elements));
  if (walk.too_deep) return fail(Cause::bad_input, fmt::format("nests deeper than {}", max_xml_depth));
  if (const char* wrong = wrong_at_root(document)) return fail(Cause::bad_input, wrong);
  return {};
}

Result<pugi::xml_node> load_xml(std::string_view text, const char* root, pugi::xml_document& document) {
  if (text.size() > max_file_bytes)
    return fail(Cause::bad_input, fmt::format("larger than {} MiB", max_file_bytes >> 20));
  if (const auto loaded = load_xml(text, document); !loaded) return tl::unexpected(loaded.error());
  if (const pugi::xml_node found = document.child(root)) return found;
  return fail(Cause::bad_input, fmt::format("the root element is <{}>, not <{}>",
                                            clean(document.document_element().name()), root));
}

std::string xml_root(std::string_view text) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  for (text = trim(text); text.starts_with("<?") || text.starts_with("<!"); text = trim(text)) {
    const std::string_view end = text.starts_with("<!--") ? "-->" : ">";
    const std::size_t found = text.find(end);
    if (found == std::string_view::npos) return {};
    text.remove_prefix(found + end.size());
  }
  if (text.size() < 2 || text[0] != '<' || !begins_name(text[1])) return {};
  return clean(text.substr(1, std::min<std::size_t>(text.find_first_of(" \t\r\n/>", 1) - 1, 64)));
}

std::string_view attribute(const pugi::xml_node& node, const char* name) {
  return node.attribute(name).value();
}

}  // namespace ringtrue::formats
