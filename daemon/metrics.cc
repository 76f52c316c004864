#include "daemon/metrics.h"

#include <string_view>
#include <vector>

#include "daemon/grpc_log.h"
#include "metrics/build.h"
#include "metrics/exposition.h"
#include "metrics/process.h"
#include "wire/versions.h"

namespace ringtrue::daemon {
namespace {

using metrics::Family;
using metrics::Kind;

class Families {
 public:
  Family& add(const char* name, const char* help, Kind kind = Kind::gauge) {
    list_.push_back({name, help, kind});
    return list_.back();
  }
  void one(const char* name, const char* help, Kind kind, double value) {
    add(name, help, kind).add({}, value);
  }
  void put(Family family) { list_.push_back(std::move(family)); }
  std::vector<Family> take() { return std::move(list_); }

 private:
  std::vector<Family> list_;
};

void add_leases(Families& families, const Tally& tally) {
  families.one("ringtrued_lease_held", "Whether an operator has this node.", Kind::gauge, tally.held ? 1 : 0);
  Family& leases =
      families.add("ringtrued_leases_total", "Leases that are over, by how they ended.", Kind::counter);
  for (std::size_t end = 0; end < tally.leases.size(); ++end)
    leases.add({{"end", keys_of<LeaseEnd>[end]}}, double(tally.leases[end]));
  families.one("ringtrued_runs_total", "Runs that were played to their end on this node.", Kind::counter,
               double(tally.runs));
  Family& workers =
      families.add("ringtrued_workers_total", "Worker processes that have ended, by how.", Kind::counter);
  for (std::size_t end = 0; end < tally.workers.size(); ++end)
    workers.add({{"end", keys_of<worker::End>[end]}}, double(tally.workers[end]));
  Family& sent =
      families.add("ringtrued_sent_bytes_total",
                   "Bytes that runs sent from this node, warm-up left out, by transport.", Kind::counter);
  for (std::size_t t = 0; t < tally.sent.size(); ++t)
    if (run::Transport(t) != run::Transport::automatic)
      sent.add({{"transport", keys_of<run::Transport>[t]}}, double(tally.sent[t]));
  Family& failures = families.add("ringtrued_phase_failures_total",
                                  "Phases of leases that failed on this node, by cause.", Kind::counter);
  for (std::size_t cause = 0; cause < tally.failures.size(); ++cause)
    if (Cause(cause) != Cause::cancelled)
      failures.add({{"cause", keys_of<Cause>[cause]}}, double(tally.failures[cause]));
}

void add_inspection(Families& families, const std::optional<SelfInspection::Found>& found) {
  if (!found) return;
  Family& findings = families.add("ringtrued_inspect_findings",
                                  "What the rules of inspection found in this node the last time.");
  for (std::size_t severity = 0; severity < found->findings.size(); ++severity)
    findings.add({{"severity", keys_of<diagnosis::Severity>[severity]}}, found->findings[severity]);
  families.one("ringtrued_inspect_timestamp_seconds", "When that was.", Kind::gauge,
               double(found->at_us) / 1e6);
}

void add_clients(Families& families, const Tally& tally, const scrape::Counts& scrapes) {
  families.one("ringtrued_handshakes_refused_total", "TLS handshakes of operators that failed.",
               Kind::counter, double(refused_handshakes()));
  families.one("ringtrued_strangers_total", "Data connections that workers dropped, of leases that are over.",
               Kind::counter, double(tally.strangers));
  Family& requests =
      families.add("ringtrued_metrics_requests_total",
                   "Requests for this page; cut: connections that took too long.", Kind::counter);
  requests.add({{"result", "answered"}}, double(scrapes.answered));
  requests.add({{"result", "refused"}}, double(scrapes.refused));
  requests.add({{"result", "cut"}}, double(scrapes.cut));
}

}  // namespace

std::string metrics(const Watched& watched, const scrape::Counts& scrapes) {
  Families families;
  families.put(metrics::build_info(RINGTRUE_VERSION, wire::this_program().protocol));
  add_leases(families, watched.tally);
  add_inspection(families, watched.inspection.last());
  add_clients(families, watched.tally, scrapes);
  if (watched.certificates) {
    const auto expiry = watched.certificates->expiry();
    Family& family =
        families.add("ringtrued_certificate_expiry_timestamp_seconds", "When a certificate in use expires.");
    family.add({{"which", "node"}}, double(expiry.node));
    family.add({{"which", "authority"}}, double(expiry.authority));
  }
  Family& events = families.add("ringtrued_device_events_total",
                                "How far counters of errors rose while the daemon watched.", Kind::counter);
  for (const auto& [of, count] : watched.devices.counts())
    events.add({{"device", of.first}, {"counter", of.second}}, double(count));
  auto list = families.take();
  for (Family& family : metrics::process_families()) list.push_back(std::move(family));
  return metrics::exposition(list);
}

Result<std::unique_ptr<MetricsPage>> MetricsPage::start(const ListenAddress& address, Watched watched) {
  std::unique_ptr<MetricsPage> page(new MetricsPage(std::move(watched)));
  scrape::Settings settings;
  settings.address = address;
  settings.page = [self = page.get()] {
    const scrape::Page* counted = self->counted_;
    return metrics(self->watched_, counted ? counted->counts() : scrape::Counts{});
  };
  if (page->watched_.certificates && !is_loopback(address)) {
    settings.credentials = [certificates = page->watched_.certificates] {
      auto [pem, generation] = certificates->current();
      return scrape::Credentials{std::move(pem.ca), std::move(pem.cert), std::move(pem.key), generation};
    };
    settings.admit = [certificates = page->watched_.certificates](const std::string& shown) -> Result<void> {
      const auto who = certificates->identify(shown);
      if (!who) return tl::unexpected(who.error());
      if (who->role == pki::Role::read || who->role == pki::Role::run) return {};
      return fail(Cause::refused, "its certificate may not read");
    };
  }
  auto started = scrape::Page::start(std::move(settings));
  if (!started) return tl::unexpected(started.error());
  page->page_ = std::move(*started);
  page->counted_ = page->page_.get();
  return page;
}

}  // namespace ringtrue::daemon
