// Records as the releases before wrote them, packed, are read as what they were: a fleet is upgraded node by
// node. tests/fixtures/wire/NAME.packed.json is what went over the wire, NAME.json the same with its keys.
//
//   RINGTRUE_ACCEPT=protocol-10 build/release/bin/test_run --gtest_filter='EarlierRecords.*'
//
// adds those of this program; those of a release are never changed again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "paths.h"
#include "run/json.h"
#include "tests/unit/run/any_record.h"

namespace ringtrue::run {
namespace {

using nlohmann::json;

std::filesystem::path fixtures() {
  return std::filesystem::path(RINGTRUE_SOURCE_DIR) / "tests/fixtures/wire";
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The path of the first thing in `part` that `whole` has not, or has otherwise; "" if there is none.
std::string missing_of(const json& part, const json& whole, const std::string& at = "") {
  if (part.is_object() && whole.is_object()) {
    for (const auto& [key, value] : part.items()) {
      const auto it = whole.find(key);
      if (it == whole.end()) return at + "/" + key;
      if (std::string wrong = missing_of(value, *it, at + "/" + key); !wrong.empty()) return wrong;
    }
    return "";
  }
  if (part.is_array() && whole.is_array() && part.size() == whole.size()) {
    for (std::size_t i = 0; i < part.size(); ++i)
      if (std::string wrong = missing_of(part[i], whole[i], at + "/" + std::to_string(i)); !wrong.empty())
        return wrong;
    return "";
  }
  return part == whole ? "" : at;
}

template <class T>
void expect_read(const std::string& kind) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(fixtures())) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with("." + kind + ".packed.json")) continue;
    ++found;
    const auto record = from_json<T>(text_of(entry.path()));
    ASSERT_TRUE(record) << name << ": " << record.error().text();
    const std::string keyed = name.substr(0, name.size() - std::string_view(".packed.json").size()) + ".json";
    EXPECT_EQ(missing_of(json::parse(text_of(fixtures() / keyed)), json::parse(to_json(*record))), "")
        << name;
  }
  EXPECT_GT(found, 0) << "no records in " << fixtures();
}

TEST(EarlierRecords, AreReadAsWhatTheyWere) {
  if (const char* name = std::getenv("RINGTRUE_ACCEPT")) {
    for (const unsigned seed : {3u, 4u}) {
      const auto put = [&](const std::string& kind, const std::string& text) {
        std::ofstream(fixtures() / fmt::format("{}-{}.{}.json", name, seed, kind)) << text << "\n";
      };
      put("job.packed", to_packed_json(test::any_job(seed)));
      put("job", to_json(test::any_job(seed)));
      put("report.packed", to_packed_json(test::any_report(seed)));
      put("report", to_json(test::any_report(seed)));
    }
  }
  expect_read<Job>("job");
  expect_read<RunReport>("report");
}

// What a later release puts at the ends of its records is passed over, what an earlier one has not is as
// built in.
TEST(EarlierRecords, MayBeLongerAndShorter) {
  const Job job = test::any_job(3);
  json packed = json::parse(to_packed_json(job));
  packed.push_back({1, 2});
  packed.push_back("more");
  const auto longer = from_json<Job>(packed.dump());
  ASSERT_TRUE(longer) << longer.error().text();
  EXPECT_EQ(*longer, job);

  RunReport report = test::any_report(3);
  json shorter = json::parse(to_packed_json(report));
  shorter.erase(shorter.size() - 1);
  const auto back = from_json<RunReport>(shorter.dump());
  ASSERT_TRUE(back) << back.error().text();
  json whole = json::parse(to_json(report)), less = json::parse(to_json(*back));
  std::size_t differ = 0;
  for (const auto& [key, value] : whole.items()) differ += value != less[key];
  EXPECT_LE(differ, 1u);
}

}  // namespace
}  // namespace ringtrue::run
