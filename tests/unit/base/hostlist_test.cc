#include "base/hostlist.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace ringtrue {
namespace {

using Names = std::vector<std::string>;

Names expand(std::string_view text, const HostGroups* groups = nullptr) {
  auto r = expand_hostlist(text, groups);
  EXPECT_TRUE(r) << text << ": " << (r ? "" : r.error().text());
  return r ? *r : Names{};
}

std::string error_of(std::string_view text, const HostGroups* groups = nullptr) {
  auto r = expand_hostlist(text, groups);
  EXPECT_FALSE(r) << text;
  return r ? "" : r.error().text();
}

TEST(Hostlist, Expands) {
  EXPECT_EQ(expand("a"), (Names{"a"}));
  EXPECT_EQ(expand("a, b ,c"), (Names{"a", "b", "c"}));
  EXPECT_EQ(expand("node[1-3,7]"), (Names{"node1", "node2", "node3", "node7"}));
  EXPECT_EQ(expand("node[08-11]"), (Names{"node08", "node09", "node10", "node11"}));
  EXPECT_EQ(expand("node[8-11].example.com:7464").back(), "node11.example.com:7464");
  EXPECT_EQ(expand("r[1-2]n[01-02]"), (Names{"r1n01", "r1n02", "r2n01", "r2n02"}));
  EXPECT_EQ(expand("a[0-1],b,10.0.0.[1-2]:80"), (Names{"a0", "a1", "b", "10.0.0.1:80", "10.0.0.2:80"}));
  EXPECT_EQ(expand("[::1]:7464,[fe80::1%eth0]"), (Names{"[::1]:7464", "[fe80::1%eth0]"}));
  EXPECT_EQ(expand("unix:/run/x.sock"), (Names{"unix:/run/x.sock"}));
  EXPECT_EQ(expand("unix:/run/n[0-1]/x~1.sock"), (Names{"unix:/run/n0/x~1.sock", "unix:/run/n1/x~1.sock"}));
  EXPECT_EQ(expand("n[1-100000]").size(), 100000u);
}

TEST(Hostlist, TellsWhereItIsWrong) {
  EXPECT_NE(error_of("").find("no hosts"), std::string::npos);
  EXPECT_NE(error_of("a,,b").find("empty name at position 3"), std::string::npos);
  EXPECT_NE(error_of("a,b,").find("empty name at position 5"), std::string::npos);
  EXPECT_NE(error_of("node[1-3").find("'[' without ']' at position 5"), std::string::npos);
  EXPECT_NE(error_of("node1-3]").find("']' without '[' at position 8"), std::string::npos);
  EXPECT_NE(error_of("node[3-1]").find("backwards at position 6"), std::string::npos);
  EXPECT_NE(error_of("node[a-b]").find("a number was expected at position 6"), std::string::npos);
  EXPECT_NE(error_of("node[1-]").find("position 8"), std::string::npos);
  EXPECT_NE(error_of("node[]").find("position 6"), std::string::npos);
  EXPECT_NE(error_of("node[1-2]x[3-]").find("position 14"), std::string::npos);
  EXPECT_NE(error_of("a b").find("position 2"), std::string::npos);
  EXPECT_NE(error_of("a:70000").find("above 65535"), std::string::npos);
  EXPECT_NE(error_of("a:").find("no port"), std::string::npos);
  EXPECT_NE(error_of("a:http").find("not a number"), std::string::npos);
  EXPECT_NE(error_of("::1").find("empty name"), std::string::npos);
  EXPECT_NE(error_of("fe80::1").find("IPv6"), std::string::npos);
  EXPECT_NE(error_of("--json").find("starts with '-'"), std::string::npos);
  EXPECT_NE(error_of("n[0-100000]").find("more than 100000"), std::string::npos);
  EXPECT_NE(error_of("n[0-999][0-999]").find("more than 100000"), std::string::npos);
  EXPECT_NE(error_of("n[0-1][0-1][0-1][0-1][0-1]").find("four brackets"), std::string::npos);
  EXPECT_NE(error_of("n[0-9999999999]").find("number"), std::string::npos);
  EXPECT_NE(error_of(std::string(300, 'x')).find("255"), std::string::npos);
  EXPECT_NE(error_of("unix:").find("without a path"), std::string::npos);
  EXPECT_NE(error_of("^/nonexistent/hosts").find("No such file"), std::string::npos);
  EXPECT_NE(error_of("^/").find("directory"), std::string::npos);
  EXPECT_FALSE(expand_hostlist(std::string("a\0b", 3)));
}

TEST(Hostlist, KnowsGroups) {
  const HostGroups groups = {
      {"rack1", "node[1-2]"}, {"all", "@rack1,login"}, {"loop", "@loop"}, {"bad", "x["}};
  EXPECT_EQ(expand("@all,z", &groups), (Names{"node1", "node2", "login", "z"}));
  EXPECT_NE(error_of("@none", &groups).find("known groups: @all, @bad"), std::string::npos);
  EXPECT_NE(error_of("@none").find("[groups]"), std::string::npos);
  EXPECT_NE(error_of("@loop", &groups).find("contain each other"), std::string::npos);
  EXPECT_NE(error_of("@bad", &groups).find("in group @bad"), std::string::npos);
}

TEST(Hostlist, ReadsFiles) {
  char path[] = "/tmp/ringtrue-hosts-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  std::ofstream(path) << "# ours\nnode[1-2]\n\n  node7 # spare\r\na,b\n";
  EXPECT_EQ(expand(std::string("^") + path), (Names{"node1", "node2", "node7", "a", "b"}));
  std::ofstream(path) << "a\nb[\n";
  EXPECT_NE(error_of(std::string("^") + path).find("line 2"), std::string::npos);
  std::ofstream(path) << "^" << path << "\n";
  EXPECT_NE(error_of(std::string("^") + path).find("file inside a file"), std::string::npos);
  std::ofstream(path) << "# nobody\n";
  EXPECT_NE(error_of(std::string("^") + path).find("no hosts in"), std::string::npos);
  unlink(path);
}

TEST(Hostlist, Folds) {
  EXPECT_EQ(fold_hostlist({}), "");
  EXPECT_EQ(fold_hostlist({"node1", "node2", "node3"}), "node[1-3]");
  EXPECT_EQ(fold_hostlist({"node08", "node09", "node10", "node20"}), "node[08-10,20]");
  EXPECT_EQ(fold_hostlist({"node9", "node10"}), "node[9-10]");
  EXPECT_EQ(fold_hostlist({"a", "b"}), "a,b");
  EXPECT_EQ(fold_hostlist({"n1:7464", "n2:7464", "n3"}), "n[1-2]:7464,n3");
  EXPECT_EQ(fold_hostlist({"10.0.0.1", "10.0.0.2"}), "10.0.0.[1-2]");
  EXPECT_EQ(fold_hostlist({"n1.a2.org", "n2.a2.org"}), "n[1-2].a2.org");
  EXPECT_EQ(fold_hostlist({"n2", "n1"}), "n[2,1]");
}

TEST(Hostlist, FoldingIsUndoneByExpanding) {
  for (const char* text :
       {"node[1-16]", "r[1-3]n[01-12]", "n[1,01,001]", "n[098-102]", "n[2,1,0]", "[::1]:1,a[9-11]",
        "x,y[0-3].z:1,y4.z:2", "n[0-0],n[00-02]", "unix:/a[1-2]/s", "n1234567890,n1234567891"}) {
    const Names names = expand(text);
    EXPECT_EQ(expand(fold_hostlist(names)), names) << text << " folds to " << fold_hostlist(names);
  }
}

}  // namespace
}  // namespace ringtrue
