#include "operator/rdma_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringtrue::ops {
namespace {

using testing::HasSubstr;

Setup setup_of(run::Transport transport) {
  Setup setup;
  setup.command = "check";
  setup.config.transport.value = transport;
  return setup;
}

TEST(RdmaSettings, WhatIsGivenGoesOverTheConfigurationOverTheDefaults) {
  auto setup = setup_of(run::Transport::verbs);
  EXPECT_EQ(rdma_settings(setup, short_timeouts())->timeout, 16);
  setup.config.verbs["ib_timeout"] = {"20", "ringtrue.toml line 3"};
  setup.config.verbs["queue_pairs"] = {"4", "ringtrue.toml line 4"};
  setup.rdma["queue_pairs"] = "2";
  const auto settings = rdma_settings(setup, short_timeouts());
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->timeout, 20);
  EXPECT_EQ(settings->queue_pairs, 2);
}

TEST(RdmaSettings, ErrorsNameWhereTheValueIsFrom) {
  auto setup = setup_of(run::Transport::verbs);
  setup.config.verbs["ib_timeout"] = {"40", "ringtrue.toml line 3"};
  EXPECT_THAT(rdma_settings(setup).error().text(), HasSubstr("ringtrue.toml line 3"));
  setup.rdma["ib_timeout"] = "50";
  EXPECT_THAT(rdma_settings(setup).error().text(), HasSubstr("--ib-timeout"));
}

TEST(RdmaSettings, AreRefusedWhereTheTransportCannotBeRdma) {
  auto setup = setup_of(run::Transport::tcp);
  EXPECT_TRUE(rdma_settings(setup));
  setup.rdma["gid_index"] = "3";
  EXPECT_THAT(rdma_settings(setup).error().text(), HasSubstr("--gid-index does nothing in check over tcp"));
  setup = setup_of(run::Transport::automatic);
  setup.rdma["gid_index"] = "3";
  EXPECT_TRUE(rdma_settings(setup));
  EXPECT_EQ(unused_rdma(setup), "--gid-index did nothing: no hop used RDMA");
  setup.local = 4;
  EXPECT_THAT(rdma_settings(setup).error().text(), HasSubstr("--gid-index does nothing in check --local"));
}

}  // namespace
}  // namespace ringtrue::ops
