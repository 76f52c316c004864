// What the daemon tells of itself to Prometheus. Nothing here waits for a lease, a run or a disk.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "daemon/credentials.h"
#include "daemon/passive_watch.h"
#include "daemon/self_inspection.h"
#include "daemon/tally.h"
#include "scrape/page.h"

namespace ringtrue::daemon {

struct Watched {
  const Tally& tally;
  const PassiveWatch& devices;
  const SelfInspection& inspection;
  std::shared_ptr<const Certificates> certificates;  // null: none
};
std::string metrics(const Watched& watched, const scrape::Counts& scrapes);

class MetricsPage {
 public:
  // On loopback plain HTTP, whoever may use this machine. Elsewhere TLS with our certificates, for clients of
  // role read or run; plain there, too, where there are none (--insecure).
  static Result<std::unique_ptr<MetricsPage>> start(const ListenAddress& address, Watched watched);

 private:
  explicit MetricsPage(Watched watched) : watched_(std::move(watched)) {}

  const Watched watched_;
  std::atomic<const scrape::Page*> counted_ = nullptr;  // page_, once it is there
  std::unique_ptr<scrape::Page> page_;
};

}  // namespace ringtrue::daemon
