#include "cmd/metrics_page.h"

#include <time.h>

#include "base/clock.h"
#include "metrics/build.h"
#include "metrics/exposition.h"
#include "metrics/process.h"
#include "operator/metrics.h"
#include "pki/pki.h"

namespace ringtrue::cmd {

// Of the page's thread, but for the first load().
class MetricsPage::Certificates {
 public:
  explicit Certificates(std::string folder) : folder_(std::move(folder)) {}

  Result<void> load() {
    loaded_at_ = now_ns();
    auto pem = pki::load_node_credentials(folder_, "");
    if (!pem) return tl::unexpected(pem.error());
    auto revoked = pki::load_revoked(pem->folder);
    if (!revoked) return tl::unexpected(revoked.error());
    revoked_ = std::move(*revoked);
    if (pem->ca == now_.ca && pem->cert == now_.cert && pem->key == now_.key) return {};
    now_ = {std::move(pem->ca), std::move(pem->cert), std::move(pem->key), now_.generation + 1};
    return {};
  }
  scrape::Credentials current() {
    load_if_due();
    return now_;
  }
  Result<void> admit(const std::string& certificate) {
    load_if_due();  // a client may stay for days, and be revoked meanwhile
    const auto who = pki::identify(certificate, now_.ca, revoked_, ::time(nullptr));
    if (!who) return tl::unexpected(who.error());
    if (who->role == pki::Role::read || who->role == pki::Role::run) return {};
    return fail(Cause::refused, "its certificate may not read");
  }

 private:
  // What cannot be read now leaves the former ones as they are.
  void load_if_due() {
    if (seconds_since(loaded_at_) > Seconds(60)) (void)load();
  }

  const std::string folder_;
  std::int64_t loaded_at_ = 0;
  scrape::Credentials now_;
  pki::Serials revoked_;
};

MetricsPage::MetricsPage() {
  shown_ = metrics::exposition({metrics::build_info(RINGTRUE_VERSION, ops::protocol())});
}

MetricsPage::~MetricsPage() = default;

Result<std::unique_ptr<MetricsPage>> MetricsPage::start(const std::string& address,
                                                        const std::optional<std::string>& pki) {
  auto listen = parse_listen(address, scrape::default_port, "--metrics");
  if (!listen) return tl::unexpected(listen.error());
  std::unique_ptr<MetricsPage> page(new MetricsPage);
  scrape::Settings settings;
  settings.address = *listen;
  settings.page = [self = page.get()] { return self->text(); };
  if (!is_loopback(*listen)) {
    if (!pki)
      return fail(
          Cause::bad_input, "no certificates for a page that others reach", "--metrics",
          "give --metrics-pki DIR, a folder that `ringtrue pki issue` made for this host, or an address "
          "of loopback");
    page->certificates_ = std::make_unique<Certificates>(*pki);
    if (auto loaded = page->certificates_->load(); !loaded) {
      Error error = loaded.error();
      if (error.where.empty()) error.where = "--metrics-pki";
      return tl::unexpected(error);
    }
    settings.credentials = [certificates = page->certificates_.get()] { return certificates->current(); };
    settings.admit = [certificates = page->certificates_.get()](const std::string& shown) {
      return certificates->admit(shown);
    };
  }
  auto serving = scrape::Page::start(std::move(settings));
  if (!serving) return tl::unexpected(serving.error());
  page->page_ = std::move(*serving);
  return page;
}

void MetricsPage::show(std::string metrics) {
  const std::lock_guard lock(mutex_);
  shown_ = std::move(metrics);
}

std::string MetricsPage::text() {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    text = shown_;
  }
  return text + metrics::exposition(metrics::process_families());
}

}  // namespace ringtrue::cmd
