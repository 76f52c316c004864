#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "base/file.h"
#include "base/hostlist.h"
#include "operator/facts.h"
#include "tui/model/board.h"
#include "tui/model/document.h"
#include "tui/model/inventory.h"
#include "tui/model/model.h"
#include "tui/model/past.h"

namespace ringtrue::tui {
namespace {

constexpr std::size_t longest_document = std::size_t(256) << 20;

double written(const std::string& file) {
  struct stat about {};
  return stat(file.c_str(), &about) == 0 ? double(about.st_mtim.tv_sec) + double(about.st_mtim.tv_nsec) * 1e-9
                                         : wall_clock();
}

class Files final : public Model {
 public:
  Files(std::string source, std::optional<double> at)
      : at_(at), board_(std::move(source), [at] { return at.value_or(wall_clock()); }) {
    board_.set(Offer{false, "files are shown, no nodes", "", ""});
  }

  Result<void> read(const std::vector<std::string>& names, const std::optional<std::string>& history) {
    std::vector<std::string> facts;
    Moments moments;
    for (const std::string& name : names) {
      auto text = read_file(name, longest_document);
      // Folders are bundles, which --from of topo reads, too.
      if (!text && text.error().code != EISDIR) return fail(Cause::bad_input, text.error().what, name);
      const std::string schema = text ? schema_of(*text) : "";
      if (schema.empty() || schema == "topo") {
        facts.push_back(name);
        continue;
      }
      auto document = read_document(*text, written(name), name);
      if (!document) return tl::unexpected(std::move(document.error()));
      if (document->moment) moments.push_back(document->moment);
      if (document->run) board_.set(*document->run);
    }
    if (!facts.empty()) {
      ops::Setup setup;
      ops::FactRequest request;
      request.from = facts;
      ops::Stop stop;
      const auto topo = ops::topo(setup, request, false, ops::Control(stop));
      if (!topo) {
        Error error = topo.error().error;
        if (!error.next.empty()) error.next += ", or a document of check, sweep, run or simulate --json";
        return tl::unexpected(std::move(error));
      }
      board_.set(topology_of(*topo));
      if (moments.empty()) moments.push_back(moment_of(*topo, written(facts[0])));
    }
    if (history) {
      auto past = read_past(*history);
      if (!past) return tl::unexpected(std::move(past.error()));
      moments.insert(moments.end(), past->moments.begin(), past->moments.end());
      board_.mark(std::move(past->marks));
    }
    board_.add(moments);
    if (at_) board_.show_at(*at_);
    return {};
  }

  SnapshotPtr whole(Seconds) override { return board_.snapshot(); }
  void start(Queue& queue) override {
    board_.set_queue(&queue);
    board_.publish();
  }
  void show(int session) override {
    board_.show(session);
    board_.publish();
  }
  void refresh() override { board_.publish(); }
  void acknowledge(const std::string& key) override {
    board_.acknowledge(key, "here");
    board_.publish();
  }

 private:
  std::optional<double> at_;
  Board board_;
};

}  // namespace

Result<std::unique_ptr<Model>> open_files(const FilesRequest& request) {
  const std::string first = request.from.empty() ? request.history.value_or("") : request.from[0];
  const std::string name = first.substr(first.rfind('/') == std::string::npos ? 0 : first.rfind('/') + 1);
  auto files = std::make_unique<Files>(name.empty() ? "history"
                                       : request.from.size() <= 1
                                           ? name
                                           : fmt::format("{} and {} more", name, request.from.size() - 1),
                                       request.at);
  if (auto read = files->read(request.from, request.history); !read)
    return tl::unexpected(std::move(read.error()));
  return files;
}

}  // namespace ringtrue::tui
