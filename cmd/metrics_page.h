// watch --metrics: the last check's results as a page that Prometheus scrapes.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "scrape/page.h"

namespace ringtrue::cmd {

class MetricsPage {
 public:
  // On loopback plain HTTP; elsewhere by TLS with the node's certificate in the folder `pki`, which is read
  // again once a minute at most, when somebody connects. Cause::bad_input where that is missing.
  static Result<std::unique_ptr<MetricsPage>> start(const std::string& address,
                                                    const std::optional<std::string>& pki);
  ~MetricsPage();
  // In the place of what was shown. From any thread.
  void show(std::string metrics);

 private:
  class Certificates;
  MetricsPage();
  std::string text();

  std::mutex mutex_;
  std::string shown_;
  std::unique_ptr<Certificates> certificates_;
  std::unique_ptr<scrape::Page> page_;
};

}  // namespace ringtrue::cmd
