#include "operator/routes.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/fd.h"
#include "base/file.h"
#include "formats/format.h"
#include "formats/forwarding.h"
#include "formats/gzip.h"

namespace ringtrue::ops {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;
constexpr const char* files_wanted =
    "give a file of ibnetdiscover, and tables of dump_fts, ibroute or OpenSM";

class Files {
 public:
  Result<void> add(const std::string& file) {
    const OwnedFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!fd) return bad(file, std::strerror(errno), files_wanted);
    auto piece = read_up_to(fd.get(), piece_bytes);
    if (!piece) return bad(file, piece.error().what, files_wanted);
    if (formats::is_gzip(*piece)) {
      auto packed = read_file(file, formats::max_file_bytes);
      if (!packed) return bad(file, packed.error().what, "unpack it first");
      auto text = formats::gunzip(*packed);
      if (!text) return bad(file, text.error().what, "unpack it first");
      return formats::ForwardingReader::knows(*text) ? tables(file, *text, -1) : cables(file, *text);
    }
    if (formats::ForwardingReader::knows(*piece)) return tables(file, std::move(*piece), fd.get());
    auto rest = read_up_to(fd.get(), formats::max_file_bytes);
    if (!rest) return bad(file, rest.error().what, files_wanted);
    const std::string text = *piece + *rest;
    return text.find(formats::live_tables) == text.npos ? cables(file, text) : live(file, text);
  }

  // Cables and tables in one.
  Result<void> live(const std::string& file, const std::string& text) {
    const auto mark = text.find(formats::live_tables);
    if (mark == text.npos) return bad(file, "no forwarding table in it");
    if (auto done = cables(file, text.substr(0, mark + 1)); !done) return done;
    return tables(file, text.substr(mark + 1), -1);
  }

  Result<KnownRoutes> join() {
    if (!any_table_)
      return fail(Cause::bad_input, "no forwarding table in it", {},
                  "give what ibroute, dump_fts, OpenSM, ibdiagnet or ibtracert write");
    const formats::Forwarding forwarding = reader_.take();
    return formats::routes_of(fabric_.value_or(topology::Fabric()), forwarding)
        .map([&](topology::Routes&& routes) {
          return KnownRoutes{std::move(routes), forwarding.notes};
        });
  }

 private:
  static tl::unexpected<Error> bad(const std::string& file, const std::string& what, std::string next = {}) {
    return fail(Cause::bad_input, fmt::format("{}: {}", file, what), "--routes", std::move(next));
  }

  // `fd`: where the rest is; -1: this is all.
  Result<void> tables(const std::string& file, std::string piece, int fd) {
    any_table_ = true;
    for (;;) {
      if (auto done = reader_.read(piece); !done) return bad(file, done.error().what);
      if (fd < 0 || piece.empty()) break;
      auto next = read_up_to(fd, piece_bytes);
      if (!next) return bad(file, next.error().what, files_wanted);
      piece = std::move(*next);
    }
    if (auto done = reader_.end_of_file(); !done) return bad(file, done.error().what);
    return {};
  }

  Result<void> cables(const std::string& file, const std::string& text) {
    auto fabric = formats::read_ibnetdiscover(text);
    if (!fabric)
      return bad(file, "neither a forwarding table nor " + fabric.error().what.substr(std::strlen("not ")),
                 "give what ibroute, dump_fts, OpenSM, ibdiagnet, ibtracert or ibnetdiscover write");
    if (fabric_) return bad(file, "the second output of ibnetdiscover", "give one");
    fabric_ = std::move(*fabric);
    return {};
  }

  formats::ForwardingReader reader_;
  std::optional<topology::Fabric> fabric_;
  bool any_table_ = false;
};

}  // namespace

Result<KnownRoutes> read_routes(const std::vector<std::string>& files) {
  Files all;
  for (const std::string& file : files)
    if (auto done = all.add(file); !done) return tl::unexpected(done.error());
  return all.join();
}

Result<KnownRoutes> read_live_routes(const std::string& text) {
  Files all;
  if (auto done = all.live("what ringtrue-probe read", text); !done) return tl::unexpected(done.error());
  return all.join();
}

Outcome<RoutesDocument> routes_document(KnownRoutes known, const std::vector<std::string>& between) {
  RoutesDocument out{std::move(known.routes), {}, {}, std::move(known.notes)};
  std::vector<std::vector<int>> ports;
  for (const std::string& node : between) {
    ports.push_back(out.routes.ports_of(node));
    if (ports.back().empty())
      return trouble({Cause::bad_input, "no port of it is in the fabric", node, "look at its description"});
  }
  if (ports.size() == 2)
    for (const auto& [from, to] : {std::pair(ports[0], ports[1]), std::pair(ports[1], ports[0])})
      for (const int a : from)
        for (const int b : to) out.between.emplace_back(a, b);
  out.use = topology::use_of(out.routes);
  return out;
}

}  // namespace ringtrue::ops
