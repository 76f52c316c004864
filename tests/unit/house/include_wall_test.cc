// Holds every #include line of the program to the table of who may include whom.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "paths.h"

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string_view>;

// A folder may include itself and what is listed: beginnings of include paths. The longest folder that fits a
// file speaks for it.
struct Room {
  std::string_view folder;
  Names may;
};

const std::vector<Room> house = {
    {"lib/base", {}},
    {"lib/config", {"run/", "base/"}},
    {"lib/collective", {"base/"}},
    {"lib/run", {"collective/", "base/"}},
    {"lib/topology", {"run/", "base/"}},
    {"lib/formats", {"topology/", "base/"}},
    {"lib/probe", {"formats/", "topology/", "run/", "base/"}},
    {"lib/ideal", {"topology/", "collective/", "base/"}},
    {"lib/transport", {"run/", "collective/", "base/"}},
    {"lib/engine", {"transport/", "run/", "collective/", "base/"}},
    {"lib/sim", {"run/", "collective/", "base/"}},
    {"lib/diagnosis", {"ideal/", "topology/", "run/", "collective/", "base/"}},
    {"lib/campaign", {"history/", "sim/", "diagnosis/", "ideal/", "topology/", "base/"}},
    {"lib/wire", {"run/", "base/"}},
    {"lib/worker", {"wire/", "engine/session/", "run/", "base/"}},
    {"lib/history", {"base/"}},
    {"lib/metrics", {"base/"}},
    {"lib/scrape", {"base/"}},
    {"lib/pki", {"base/"}},
    {"lib/fleet", {"wire/", "pki/", "probe/", "topology/", "run/", "base/"}},
    {"lib/operator/documents",
     {"fleet/", "history/", "pki/", "config/", "diagnosis/", "ideal/", "topology/", "run/", "collective/",
      "base/"}},
    {"lib/report",
     {"operator/documents/", "metrics/", "history/", "diagnosis/", "topology/", "run/", "base/"}},
    {"lib/operator",
     {"fleet/", "history/", "worker/", "engine/session/", "sim/", "campaign/", "diagnosis/", "ideal/",
      "probe/", "pki/", "formats/", "topology/", "config/", "run/", "collective/", "base/"}},
    {"daemon",
     {"worker/", "engine/session/", "wire/", "scrape/", "metrics/", "pki/", "probe/", "diagnosis/inspect/",
      "diagnosis/findings/", "config/", "run/", "collective/", "base/"}},
    {"cmd",
     {"operator/", "scrape/", "metrics/", "history/", "pki/", "report/", "campaign/", "sim/", "config/",
      "formats/", "ideal/", "run/", "collective/", "base/"}},
    {"tui/model/snapshot", {"base/"}},
    {"tui/frame", {"tui/model/snapshot/", "base/"}},
    {"tui/model",
     {"operator/", "report/", "campaign/", "diagnosis/", "history/", "formats/", "fleet/", "pki/", "sim/",
      "ideal/", "base/"}},
    {"tui/terminal", {"tui/frame/", "base/"}},
    {"tui", {"config/", "base/"}},
};

// One transport knows no other, but that verbs greets its peer over a connection of tcp's; `faulty` decorates
// any of them through what they share.
const std::vector<std::pair<std::string_view, Names>> strangers = {
    {"lib/transport/shm", {"transport/tcp/", "transport/udp/", "transport/verbs/", "transport/cuda/"}},
    {"lib/transport/tcp", {"transport/shm/", "transport/udp/", "transport/verbs/", "transport/cuda/"}},
    {"lib/transport/udp", {"transport/shm/", "transport/tcp/", "transport/verbs/", "transport/cuda/"}},
    {"lib/transport/verbs", {"transport/shm/", "transport/udp/", "transport/cuda/"}},
    {"lib/transport/cuda", {"transport/shm/", "transport/tcp/", "transport/udp/", "transport/verbs/"}},
    {"lib/transport/faulty",
     {"transport/shm/", "transport/tcp/", "transport/udp/", "transport/verbs/", "transport/cuda/"}},
};

// Where a library that is not ours may be seen: folders or files, by beginnings.
struct Guest {
  Names headers;
  Names rooms;
};

const std::vector<Guest> guests = {
    {{"grpc/", "grpcpp/", "google/protobuf/", "wire/node.pb.h", "wire/node.grpc.pb.h"},
     {"lib/wire/", "lib/worker/", "lib/fleet/", "daemon/"}},
    {{"openssl/"}, {"lib/pki/", "lib/transport/", "lib/probe/"}},
    {{"toml++/"}, {"lib/config/"}},
    {{"CLI/"}, {"cmd/command_line.cc", "daemon/options.cc"}},
    {{"nlohmann/", "base/fields_json.h"},
     {"lib/base/fields_json", "lib/run/json.cc", "lib/report/", "lib/topology/", "lib/probe/",
      "lib/operator/", "tui/model/document.cc", "tui/model/recording.cc"}},
    {{"curses.h", "ncurses", "term.h"}, {"tui/terminal/terminal.cc"}},
    {{"hwloc"}, {"lib/probe/library/"}},
    {{"infiniband/", "rdma/"}, {"lib/transport/verbs/library", "lib/probe/library/"}},
    {{"netlink/"}, {"lib/probe/library/"}},
    {{"cuda", "nvml"}, {"lib/transport/cuda/", "lib/probe/library/"}},
    {{"pugixml.hpp", "zlib.h"}, {"lib/formats/"}},
    {{"sqlite3"}, {"lib/history/sqlite.cc"}},
    {{"microhttpd", "gnutls/"}, {"lib/scrape/http.cc"}},
    {{"hwy/"}, {"lib/engine/kernels/simd.cc"}},
};

// Algorithms, models and the diagnosis do no I/O, hold no threads and read no clock.
const Names pure = {"lib/collective/", "lib/run/",       "lib/topology/", "lib/formats/",       "lib/ideal/",
                    "lib/sim/",        "lib/diagnosis/", "tui/frame/",    "tui/model/snapshot/"};
const Names impure = {
    "sys/",   "net/",    "netinet/", "arpa/",   "linux/",   "unistd.h",   "fcntl.h",
    "poll.h", "netdb.h", "time.h",   "ctime",   "thread",   "mutex",      "condition_variable",
    "future", "atomic",  "chrono",   "fstream", "iostream", "filesystem",
};
const Names impure_of_ours = {"base/fd.h", "base/file.h", "base/process.h", "base/program.h"};

bool begins_with_any(std::string_view text, const Names& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](auto start) { return text.starts_with(start); });
}

const Room* room_of(std::string_view file) {
  const Room* best = nullptr;
  for (const Room& room : house) {
    const bool inside = file.starts_with(room.folder) && file.substr(room.folder.size()).starts_with('/');
    if (inside && (!best || best->folder.size() < room.folder.size())) best = &room;
  }
  return best;
}

// What is wrong with `file` (relative to the root) including `header`; "" where nothing is.
std::string complaint(std::string_view file, std::string_view header, bool quoted) {
  for (const Guest& guest : guests) {
    if (begins_with_any(header, guest.headers) && !begins_with_any(file, guest.rooms))
      return "a library kept elsewhere";
  }
  if (!quoted) {
    if (begins_with_any(file, pure) && begins_with_any(header, impure)) return "this folder does no I/O";
    return "";
  }
  if (begins_with_any(file, pure) && begins_with_any(header, impure_of_ours))
    return "this folder does no I/O";
  const Room* room = room_of(file);
  if (!room) return "a folder that the table does not know";
  for (const auto& [folder, unknown] : strangers) {
    if (file.starts_with(folder) && begins_with_any(header, unknown)) return "one transport knows no other";
  }
  std::string own(room->folder.starts_with("lib/") ? room->folder.substr(4) : room->folder);
  own += '/';
  if (header.starts_with(own) || begins_with_any(header, room->may)) return "";
  return "not among what " + std::string(room->folder) + " may include";
}

struct Include {
  std::string file, header;
  int line = 0;
  bool quoted = false;
};

std::vector<Include> all_includes() {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  const fs::path root = RINGTRUE_SOURCE_DIR;
  std::vector<Include> found;
  for (const char* top : {"lib", "cmd", "daemon", "tui"}) {
    if (!fs::exists(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const auto extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc" && extension != ".cu" && extension != ".cuh") continue;
      std::ifstream in(entry.path());
      std::string line;
      for (int number = 1; std::getline(in, line); ++number) {
        std::smatch match;
        if (line.find('#') == std::string::npos || !std::regex_search(line, match, pattern)) continue;
        found.push_back({fs::relative(entry.path(), root).string(), match[2], number, match[1] == "\""});
      }
    }
  }
  return found;
}

TEST(IncludeWall, EveryIncludeIsOneThatTheTableAllows) {
  const auto includes = all_includes();
  ASSERT_GT(includes.size(), 100u) << "the sources were not found under " RINGTRUE_SOURCE_DIR;
  for (const Include& include : includes) {
    const std::string why = complaint(include.file, include.header, include.quoted);
    EXPECT_EQ(why, "") << include.file << ':' << include.line << " includes " << include.header;
  }
}

TEST(IncludeWall, OursAreNamedFromTheRootsAndExist) {
  const fs::path root = RINGTRUE_SOURCE_DIR;
  for (const Include& include : all_includes()) {
    if (!include.quoted || include.header.ends_with(".pb.h")) continue;  // made by protoc
    EXPECT_TRUE(fs::exists(root / "lib" / include.header) || fs::exists(root / include.header))
        << include.file << ':' << include.line << " includes " << include.header;
  }
}

// Nothing is allowed that nobody needs.
TEST(IncludeWall, EveryArrowOfTheTableIsUsed) {
  const auto includes = all_includes();
  for (const Room& room : house) {
    for (const std::string_view may : room.may) {
      const bool used = std::any_of(includes.begin(), includes.end(), [&](const Include& include) {
        return room_of(include.file) == &room && include.header.starts_with(may);
      });
      EXPECT_TRUE(used) << room.folder << " includes nothing of " << may;
    }
  }
}

// "ROOM -> ROOM, ROOM" of docs/ARCHITECTURE.md, continued on lines that begin with more blanks.
std::map<std::string, std::set<std::string>> drawn_arrows() {
  std::ifstream in(RINGTRUE_SOURCE_DIR "/docs/ARCHITECTURE.md");
  std::map<std::string, std::set<std::string>> arrows;
  static const std::regex arrow(R"(^    ([a-z/]+) +-> (.*)$)"), more(R"(^ {10,}([a-z].*)$)"),
      name(R"([a-z/]+)");
  std::smatch match;
  std::string line, room, names;
  while (std::getline(in, line) && line != "### Who includes whom") {
  }
  while (std::getline(in, line) && !line.starts_with("##")) {
    if (std::regex_match(line, match, arrow)) {
      room = match[1];
      names = match[2];
    } else if (!room.empty() && std::regex_match(line, match, more)) {
      names = match[1];
    } else {
      room.clear();
      continue;
    }
    arrows[room];
    for (std::sregex_iterator i(names.begin(), names.end(), name), end; i != end; ++i)
      arrows[room].insert(i->str());
  }
  return arrows;
}

TEST(IncludeWall, TheArchitecturesPageDrawsTheTable) {
  std::map<std::string, std::set<std::string>> table;
  for (const Room& room : house) {
    if (room.folder == "lib/base") continue;
    auto& arrows = table[std::string(room.folder.substr(room.folder.starts_with("lib/") ? 4 : 0))];
    for (const std::string_view may : room.may)
      if (may != "base/") arrows.emplace(may.substr(0, may.size() - 1));
  }
  EXPECT_EQ(drawn_arrows(), table);
}

TEST(IncludeWall, TheTableSaysNo) {
  EXPECT_NE(complaint("lib/base/units.cc", "config/config.h", true), "");
  EXPECT_NE(complaint("lib/diagnosis/infer/inference.cc", "engine/session/session.h", true), "");
  EXPECT_NE(complaint("lib/collective/ring.cc", "transport/tcp/frame.h", true), "");
  EXPECT_NE(complaint("lib/transport/tcp/channel.cc", "transport/shm/layout.h", true), "");
  EXPECT_NE(complaint("lib/report/text/text.h", "engine/kernels/reduce.h", true), "");
  EXPECT_NE(complaint("lib/engine/kernels/reduce.h", "grpcpp/grpcpp.h", false), "");
  EXPECT_NE(complaint("lib/report/json/json.cc", "wire/node.pb.h", true), "");
  EXPECT_NE(complaint("cmd/run.cc", "CLI/CLI.hpp", false), "");
  EXPECT_NE(complaint("cmd/flags.h", "CLI/App.hpp", false), "");
  EXPECT_NE(complaint("lib/collective/ring.cc", "sys/socket.h", false), "");
  EXPECT_NE(complaint("lib/collective/ring.cc", "base/file.h", true), "");
  EXPECT_NE(complaint("lib/baseball/x.cc", "base/result.h", true), "");
  EXPECT_NE(complaint("lib/base/units.cc", "units.h", true), "");  // not named from the root

  EXPECT_EQ(complaint("lib/base/units.cc", "base/units.h", true), "");
  EXPECT_EQ(complaint("lib/engine/session/endpoint.cc", "transport/transport.h", true), "");
  EXPECT_EQ(complaint("daemon/service.cc", "daemon/service.h", true), "");
  EXPECT_EQ(complaint("lib/wire/convert.cc", "wire/node.pb.h", true), "");
  EXPECT_EQ(complaint("cmd/command_line.cc", "CLI/CLI.hpp", false), "");
}

}  // namespace
