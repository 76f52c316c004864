// XML from anybody, as a tree: bounded, and without anything that XML could fetch or expand.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ringtrue::formats {

inline constexpr int max_xml_depth = 256;
inline constexpr std::size_t max_xml_elements = 1'000'000;
inline constexpr std::size_t max_xml_attributes = 4'000'000;

// Refuses what is not UTF-8, declares entities, nests deeper or holds more than the above, or is not one root
// element. A document type is passed over: nothing that it names is ever opened.
Result<void> load_xml(std::string_view text, pugi::xml_document& document);
// The same of a whole file whose root element is to be `root`.
Result<pugi::xml_node> load_xml(std::string_view text, const char* root, pugi::xml_document& document);
// The name of the root element, without parsing further; empty: this is no XML.
std::string xml_root(std::string_view text);

// An attribute's value; empty: it is not there.
std::string_view attribute(const pugi::xml_node& node, const char* name);

}  // namespace ringtrue::formats
