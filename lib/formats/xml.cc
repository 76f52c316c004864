#include "formats/xml.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/text.h"

namespace ringtrue::topology::format {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Walks over the markup and counts, before anything is built from it.
class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  Result<void> run() {
    while (at_ < text_.size()) {
      if (text_[at_] != '<') {
        const std::size_t end = std::min(text_.find('<', at_), text_.size());
        if (depth_ == 0 && !trim(text_.substr(at_, end - at_)).empty())
          return error(roots_ == 0 ? "text before the root element" : "text after the root element");
        at_ = end;
        continue;
      }
      if (const auto done = markup(); !done) return done;
    }
    if (depth_ > 0) return error("ends in the middle of an element");
    if (roots_ == 0) return error("no element");
    return {};
  }

 private:
  tl::unexpected<Error> error(std::string_view what) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + std::min(at_, text_.size()), '\n');
    return fail(Cause::bad_input, fmt::format("line {}: {}", line, what));
  }

  bool is(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  Result<void> skip(std::string_view end, std::string_view what) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) return error(fmt::format("{} without an end", what));
    at_ = found + end.size();
    return {};
  }

  Result<void> markup() {
    if (is("<!--")) {
      at_ += 4;
      return skip("-->", "a comment");
    }
    if (is("<?")) return skip("?>", "an instruction");
    if (is("<![CDATA[")) {
      if (depth_ == 0) return error("text outside of the root element");
      return skip("]]>", "a text");
    }
    if (is("<!DOCTYPE")) return document_type();
    if (is("<!")) return error("a declaration (entities and the like are refused)");
    if (is("</")) {
      if (depth_ == 0) return error("an end without a beginning");
      --depth_;
      return skip(">", "a tag");
    }
    return element();
  }

  Result<void> document_type() {
    if (roots_ > 0) return error("a document type after the root element");
    for (char quote = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '[') {
        return error("a document type of its own (declarations of entities are refused)");
      } else if (c == '>') {
        ++at_;
        return {};
      }
    }
    return error("a document type without an end");
  }

  Result<void> element() {
    if (at_ + 1 >= text_.size() || !begins_name(text_[at_ + 1])) return error("a stray '<'");
    if (depth_ == 0 && ++roots_ > 1) return error("a second root element");
    if (++elements_ > max_xml_elements) return error(fmt::format("more than {} elements", max_xml_elements));
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        if (++attributes_ > max_xml_attributes)
          return error(fmt::format("more than {} attributes", max_xml_attributes));
        at_ = text_.find(c, at_ + 1);
        if (at_ == std::string_view::npos) return error("a value without an end");
      } else if (c == '<') {
        return error("a tag without an end");
      } else if (c == '>') {
        if (text_[at_++ - 1] == '/') return {};
        if (++depth_ > max_xml_depth) return error(fmt::format("nests deeper than {}", max_xml_depth));
        return {};
      }
    }
    return error("a tag without an end");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int roots_ = 0;
  std::size_t elements_ = 0, attributes_ = 0;
};

}  // namespace

Result<void> load_xml(std::string_view text, pugi::xml_document& document) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  if (const auto checked = check_text(text); !checked) return checked;
  if (const auto scanned = Scan(text).run(); !scanned) return scanned;
  constexpr unsigned flags =
      pugi::parse_cdata | pugi::parse_escapes | pugi::parse_wconv_attribute | pugi::parse_eol;
  const auto parsed = document.load_buffer(text.data(), text.size(), flags, pugi::encoding_utf8);
  if (!parsed) {
    const auto end = text.begin() + std::clamp<std::ptrdiff_t>(parsed.offset, 0, std::ssize(text));
    return fail(Cause::bad_input, fmt::format("line {}: {}", 1 + std::count(text.begin(), end, '\n'),
                                              lower(parsed.description())));
  }
  return {};
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

}  // namespace ringtrue::topology::format
