#include "report/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace ringtrue::report {
namespace {

using testing::HasSubstr;
using testing::Not;

ops::MetricsDocument fleet_of(int nodes) {
  ops::MetricsDocument d;
  d.fleet = "lab";
  d.version = "0.1.0";
  d.protocol = 9;
  d.verdict = "faulty";
  d.run_us = 1'790'000'000'500'000;
  d.last_verdict_us = d.run_us;
  d.interval_s = 3600;
  d.seconds = 12.5;
  d.bytes = 1e9;
  d.runs = 7;
  d.checks = {{"degraded", 0}, {"faulty", 2}, {"healthy", 40}, {"unknown", 1}};
  d.busbw = 60e6;
  d.busbw_expected = 62.5e6;
  d.expected = 60e6;
  for (int i = 0; i < nodes; ++i) d.sides.push_back({"node" + std::to_string(i), 59e6, 58e6, 59.5e6, 58.5e6});
  d.findings = {{"critical", 1}, {"info", 0}, {"warning", 0}};
  d.infos = {{"critical", "slow-sender", "sender", "node1", "", ""}};
  d.suspected = 0;
  d.confirmed = 1;
  d.measured = nodes;
  d.history_bytes = 4096;
  d.history_oldest_us = 1'780'000'000'000'000;
  return d;
}

long series_of(const std::string& page) {
  long series = 0;
  for (std::size_t at = 0; at < page.size(); at = page.find('\n', at) + 1) series += page[at] != '#';
  return series;
}

TEST(Metrics, TellTheVerdictAsOneOfFour) {
  const std::string page = metrics(fleet_of(2));
  EXPECT_THAT(page, HasSubstr("ringtrue_check_verdict{fleet=\"lab\",verdict=\"faulty\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("ringtrue_check_verdict{fleet=\"lab\",verdict=\"healthy\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("ringtrue_check_last_run_timestamp_seconds{fleet=\"lab\"} 1790000000.5\n"));
  EXPECT_THAT(page, HasSubstr("\nringtrue_build_info{version=\"0.1.0\","));
  EXPECT_THAT(page, HasSubstr(",protocol=\"9\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("# TYPE ringtrue_checks_total counter\n"));
  EXPECT_THAT(page,
              HasSubstr("ringtrue_side_rate_bytes_per_second{fleet=\"lab\",node=\"node1\",side=\"send\"} "
                        "59000000\n"));
  EXPECT_THAT(page,
              HasSubstr("ringtrue_finding_info{fleet=\"lab\",severity=\"critical\",kind=\"slow-sender\","
                        "scope=\"sender\",node=\"node1\",peer=\"\",device=\"\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("ringtrue_regressions{fleet=\"lab\",state=\"confirmed\"} 1\n"));
}

TEST(Metrics, WhatIsUnknownHasNoSeries) {
  ops::MetricsDocument d = fleet_of(2);
  d.sides[1].receives.reset();
  d.sides[0].sends_baseline.reset();
  const std::string page = metrics(d);
  EXPECT_THAT(page, Not(HasSubstr("rate_bytes_per_second{fleet=\"lab\",node=\"node1\",side=\"receive\"}")));
  EXPECT_THAT(page,
              Not(HasSubstr("expected_bytes_per_second{fleet=\"lab\",node=\"node1\",side=\"receive\"}")));
  EXPECT_THAT(page, Not(HasSubstr("baseline_bytes_per_second{fleet=\"lab\",node=\"node0\",side=\"send\"}")));

  ops::MetricsDocument failed;
  failed.fleet = "lab";
  failed.run_us = 1'790'000'000'000'000;
  const std::string unknown = metrics(failed);
  EXPECT_THAT(unknown, HasSubstr("verdict=\"unknown\"} 1\n"));
  for (const char* absent : {"busbw", "side_", "findings", "not_checked", "duration", "interval",
                             "checks_total", "last_verdict", "regressions", "history"})
    EXPECT_THAT(unknown, Not(HasSubstr(absent)));
}

TEST(Metrics, OfRailsNameTheirPorts) {
  ops::MetricsDocument d = fleet_of(2);
  EXPECT_THAT(metrics(d), Not(HasSubstr("ringtrue_rail_rate")));
  d.rails = {{"node1", "mlx5_0/1", 25e9, std::nullopt}};
  const std::string page = metrics(d);
  EXPECT_THAT(page,
              HasSubstr("ringtrue_rail_rate_bytes_per_second{fleet=\"lab\",node=\"node1\",side=\"send\","
                        "device=\"mlx5_0/1\"} 25000000000\n"));
  EXPECT_THAT(page, Not(HasSubstr("side=\"receive\",device=")));
}

TEST(Metrics, AreBounded) {
  ops::MetricsDocument d = fleet_of(1024);
  d.infos.clear();
  for (int i = 0; i < 200; ++i)
    d.infos.push_back({"critical", "slow-sender", "sender", "node" + std::to_string(i), "", ""});
  d.infos_dropped = 50;
  const std::string page = metrics(d);
  EXPECT_LE(series_of(page), 6 * 1024 + 240);
  EXPECT_GE(series_of(page), 6 * 1024 + 200);
  EXPECT_LT(page.size(), 1u << 20);
}

}  // namespace
}  // namespace ringtrue::report
