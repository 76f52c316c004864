// Lists of hosts: any text is read or refused, and what was read folds to a text that reads back the same.
#include "base/hostlist.h"

#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find('^') != text.npos) return 0;  // names files of this machine
  const ringtrue::HostGroups groups{{"rack1", "node[01-08]"}, {"all", "@rack1,@all"}};
  const auto hosts = ringtrue::expand_hostlist(text, &groups);
  if (!hosts) {
    expect(!hosts.error().what.empty());
    return 0;
  }
  expect(!hosts->empty() && hosts->size() <= ringtrue::max_hosts);
  const std::string folded = ringtrue::fold_hostlist(*hosts);
  const auto again = ringtrue::expand_hostlist(folded);
  expect(again && *again == *hosts);
  return 0;
}
