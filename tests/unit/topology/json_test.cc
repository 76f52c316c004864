#include "topology/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "paths.h"
#include "run/counter_window.h"
#include "tests/support/draw.h"
#include "tests/support/machines.h"
#include "topology/fields.h"

namespace ringtrue::topology {
namespace {

using namespace ringtrue::test;
using nlohmann::json;
using testing::HasSubstr;

// Anything that the model can hold, facts known and unknown.
struct Draw : test::Draw<Draw> {
  using test::Draw<Draw>::Draw;
  template <class T>
  void draw_special(Fact<T>& fact, const About&) {
    static constexpr const char* origins[] = {"sysfs", "hwloc", "nccl-xml", "unknown", "a new one"};
    if (below(3) == 0) return;
    draw(fact.value.emplace());
    fact.origin = origins[below(5)];
  }
};

TEST(Json, KeepsWhateverTheModelHolds) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Cluster cluster;
    Draw(seed).draw(cluster);
    for (const int indent : {2, -1}) {
      const auto read = from_json(to_json(cluster, indent));
      ASSERT_TRUE(read) << read.error().text() << ", seed " << seed;
      ASSERT_EQ(*read, cluster) << "seed " << seed;
    }
  }
}

TEST(Json, KeepsMachines) {
  for (const Cluster& cluster :
       {cluster_of(2, hgx_h100), cluster_of(1, pcie_box), cluster_of(1, four_rails), Cluster()})
    EXPECT_EQ(*from_json(to_json(cluster)), cluster);
}

TEST(Json, AFactHasValueUnitAndOrigin) {
  Cluster cluster = cluster_of(1, four_rails);
  cluster.nodes[0].system.kernel = {};
  const json document = json::parse(to_json(cluster));
  EXPECT_EQ(document["schema"], "ringtrue.topo/1");
  const json& node = document["nodes"][0];
  EXPECT_EQ(node["gpus"][0]["memory"],
            json::parse(R"({"value": 85899345920, "unit": "bytes", "origin": "nvml"})"));
  EXPECT_EQ(node["nics"][0]["ports"][0]["rate"],
            json::parse(R"({"value": 25000000000, "unit": "B/s", "origin": "sysfs"})"));
  EXPECT_EQ(node["system"]["board"],
            json::parse(R"({"value": "Example Board", "unit": null, "origin": "sysfs"})"));
  EXPECT_TRUE(node["system"]["kernel"].is_null());
  EXPECT_EQ(node["system"]["memlock"]["value"], ~0ull);
  EXPECT_EQ(node["counts"]["gpus"], 4);
  EXPECT_EQ(node["links"].size(), 12u);
  EXPECT_EQ(document["counts"]["trunks"], 4);
  EXPECT_EQ(document["fabric"]["trunks"].size(), 4u);
  EXPECT_EQ(document["fabric"]["links"].size(), 8u);
}

TEST(Json, WhatIsWorkedOutIsNotRead) {
  const Cluster cluster = cluster_of(1, four_rails);
  json document = json::parse(to_json(cluster));
  document["nodes"][0]["links"] = 3;
  document["nodes"][0]["counts"]["gpus"] = 99;
  document["fabric"].erase("trunks");
  document["of a later version"] = {1, 2};
  EXPECT_EQ(*from_json(document.dump()), cluster);
}

TEST(Json, HostileTextIsStillJson) {
  Cluster cluster;
  cluster.nodes.resize(1);
  cluster.nodes[0].name = "a\xff\"\n";
  cluster.nodes[0].window = run::CounterWindow{std::numeric_limits<double>::quiet_NaN(), {}};
  const json document = json::parse(to_json(cluster), nullptr, false);
  ASSERT_FALSE(document.is_discarded());
  EXPECT_EQ(document["nodes"][0]["name"], "a\xef\xbf\xbd\"\n");
}

std::string with_node(const std::string& node) {
  return R"({"schema": "ringtrue.topo/1", "nodes": [{}, )" + node + "]}";
}

TEST(Json, SaysWhereADocumentIsWrong) {
  const std::pair<std::string, const char*> wrong[] = {
      {with_node("3"), "nodes/1: not an object"},
      {with_node(R"({"name": 3})"), "nodes/1/name: not a text"},
      {with_node(R"({"gpus": {}})"), "nodes/1/gpus: not an array"},
      {with_node(R"({"gpus": [{"nvlinks": [{"index": 3000000000}]}]})"),
       "nodes/1/gpus/0/nvlinks/0/index: not a whole"},
      {with_node(R"({"gpus": [{"nvlinks": [{"index": 1.5}]}]})"), "index: not a whole"},
      {with_node(R"({"gpus": [{"nvlinks": [{"errors": {"x": -1}}]}]})"), "errors: a count"},
      {with_node(R"({"gpus": [{"nvlinks": [{"remote": "moon"}]}]})"), "remote: a kind"},
      {with_node(R"({"gpus": [{"memory": 80}]})"), "memory: neither null nor"},
      {with_node(R"({"gpus": [{"memory": {"value": "80"}}]})"), "memory/value: not a whole number"},
      {with_node(R"({"gpus": [{"memory": {"value": 80, "unit": "GiB"}}]})"), "memory: not in bytes"},
      {with_node(R"({"gpus": [{"ecc": {"value": 1}}]})"), "ecc/value: neither true nor false"},
      {with_node(R"({"window": {"seconds": "1"}})"), "window/seconds: not a number"},
  };
  for (const auto& [text, complaint] : wrong) {
    const auto read = from_json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().cause, Cause::bad_input);
    EXPECT_THAT(read.error().what, HasSubstr(complaint));
    EXPECT_EQ(read.error().what.find('\n'), std::string::npos);
  }
}

// Of empty entries, 300 KiB would stand for gigabytes and views of paths for more.
TEST(Json, RefusesMoreEntriesThanThereCanBe) {
  const auto many = [](std::size_t count) {
    std::string list = "[{}";
    for (std::size_t i = 1; i < count; ++i) list += ",{}";
    return list + "]";
  };
  const std::pair<std::string, const char*> wrong[] = {
      {with_node(R"({"name": "node7", "gpus": )" + many(300) + "}"), "nodes/1 (node7)/gpus: 300 items"},
      {with_node(R"({"name": "node7", "nics": )" + many(1025) + "}"), "nodes/1 (node7)/nics: 1025 items"},
      {with_node(R"({"name": "a\u001b[2J", "pci": )" + many(16'385) + "}"), "nodes/1 (a?[2J)/pci"},
      {R"({"schema": "ringtrue.topo/1", "nodes": )" + many(98'000) + "}", "nodes: 98000 items"},
  };
  for (const auto& [text, complaint] : wrong) {
    const auto read = from_json(text);
    ASSERT_FALSE(read) << complaint;
    EXPECT_THAT(read.error().what, HasSubstr(complaint));
  }
  EXPECT_TRUE(from_json(with_node(R"({"name": "node7", "gpus": )" + many(256) + "}")));
}

TEST(Json, RefusesWhatIsNoTopoDocument) {
  for (const char* text :
       {"", "x", "[]", "{}", "null", R"({"schema": "ringtrue.run/1", "nodes": []})",
        R"({"schema": ["ringtrue.topo/1"], "nodes": []})", R"({"schema": "ringtrue.topo/1"})",
        R"({"schema": "ringtrue.topo/1", "nodes": []} x)"})
    EXPECT_FALSE(from_json(text)) << text;
  const auto deep =
      from_json(R"({"schema": "ringtrue.topo/1", "nodes": [], "x": )" + std::string(100000, '['));
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().what, HasSubstr("nests deeper"));
  const auto long_one = from_json(std::string((64u << 20) + 1, ' '));
  ASSERT_FALSE(long_one);
  EXPECT_THAT(long_one.error().what, HasSubstr("64 MiB"));
  EXPECT_TRUE(from_json(
      R"({"schema": "ringtrue.topo/1", "nodes": [{"name": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"["}]})"));
}

// ---- the schema

// As much of JSON Schema (2020-12) as the schema uses; an unknown word in it is an error.
class Schema {
 public:
  Schema() {
    std::ifstream file(RINGTRUE_SOURCE_DIR "/packaging/schema/topo.json");
    root_ = json::parse(file);
  }
  std::vector<std::string> errors(const json& value) const {
    std::vector<std::string> found;
    check(root_, value, "", found);
    return found;
  }

 private:
  static bool is(const json& value, const std::string& type) {
    return (type == "integer" && value.is_number_integer()) || (type == "number" && value.is_number()) ||
           type == value.type_name();
  }

  void check(const json& schema, const json& value, const std::string& at,
             std::vector<std::string>& found) const {
    const auto wrong = [&](const std::string& what) { found.push_back(at + ": " + what); };
    for (const auto& [word, rule] : schema.items()) {
      if (word == "$schema" || word == "$defs" || word == "title" || word == "description") continue;
      if (word == "$ref") {
        check(root_.at(json::json_pointer(rule.get<std::string>().substr(1))), value, at, found);
      } else if (word == "type") {
        const auto types =
            rule.is_array() ? rule.get<std::vector<std::string>>() : std::vector{rule.get<std::string>()};
        if (std::none_of(types.begin(), types.end(), [&](auto& type) { return is(value, type); }))
          wrong("not of type " + rule.dump());
      } else if (word == "const") {
        if (value != rule) wrong("not " + rule.dump());
      } else if (word == "enum") {
        if (std::find(rule.begin(), rule.end(), value) == rule.end()) wrong("none of " + rule.dump());
      } else if (word == "minimum") {
        if (value.is_number() && value < rule) wrong("below " + rule.dump());
      } else if (word == "items") {
        for (std::size_t i = 0; value.is_array() && i < value.size(); ++i)
          check(rule, value[i], at + "/" + std::to_string(i), found);
      } else if (word == "required") {
        for (const auto& key : rule)
          if (value.is_object() && !value.contains(key)) wrong("lacks " + key.dump());
      } else if (word == "properties") {
        for (const auto& [key, below] : rule.items())
          if (value.is_object() && value.contains(key)) check(below, value[key], at + "/" + key, found);
      } else if (word == "additionalProperties") {
        if (!value.is_object()) continue;
        for (const auto& [key, below] : value.items()) {
          if (schema.contains("properties") && schema["properties"].contains(key)) continue;
          if (rule == false)
            wrong("unknown key " + key);
          else
            check(rule, below, at + "/" + key, found);
        }
      } else if (word == "anyOf") {
        const bool fits = std::any_of(rule.begin(), rule.end(), [&](const json& choice) {
          std::vector<std::string> below;
          check(choice, value, at, below);
          return below.empty();
        });
        if (!fits) wrong("none of anyOf");
      } else {
        wrong("the schema uses '" + word + "'");
      }
    }
  }

  json root_;
};

// Some machine that has everything, so that no key is left out.
Cluster full() {
  Cluster cluster = cluster_of(1, hgx_h100);
  Node& node = cluster.nodes[0];
  node.window = run::CounterWindow{2.5, {{"mlx5_0/1", "symbol_error", 1, 65535, true, false}}};
  node.gaps = {{origin::fabric, "fabric", "permission denied"}};
  node.gpus[1].nvlinks.reset();
  return cluster;
}

TEST(JsonSchema, FitsWhatIsWritten) {
  const Schema schema;
  for (const Cluster& cluster : {full(), cluster_of(2, pcie_box), cluster_of(2, four_rails), Cluster()})
    EXPECT_THAT(schema.errors(json::parse(to_json(cluster))), testing::IsEmpty());
}

TEST(JsonSchema, SeesAMissingKeyAnUnknownOneAndAWrongUnit) {
  const Schema schema;
  const json good = json::parse(to_json(full()));
  for (const char* place :
       {"/counts/gpus", "/nodes/0/gpus", "/nodes/0/gpus/0/uuid", "/nodes/0/gpus/0/nvlinks/3/up",
        "/nodes/0/nics/0/ports/0/rate", "/nodes/0/pci/0/link", "/nodes/0/pci/0/link/max_width",
        "/nodes/0/window/seconds", "/nodes/0/links/0/rate", "/fabric/trunks", "/fabric/hosts/0/guid"}) {
    json bad = good;
    const json::json_pointer pointer(place);
    bad.at(pointer.parent_pointer()).erase(pointer.back());
    EXPECT_FALSE(schema.errors(bad).empty()) << place << " is gone";
    bad = good;
    bad.at(pointer.parent_pointer())["more"] = 1;
    EXPECT_EQ(schema.errors(bad).empty(), pointer.parent_pointer().empty()) << "more beside " << place;
  }
  json bad = good;
  bad["nodes"][0]["gpus"][0]["memory"]["unit"] = "GiB";
  EXPECT_FALSE(schema.errors(bad).empty());
  bad = good;
  bad["nodes"][0]["pci"][0]["kind"] = "moon";
  EXPECT_FALSE(schema.errors(bad).empty());
}

}  // namespace
}  // namespace ringtrue::topology
