// ibnetdiscover's output: any text is read or refused, and every cable ends at nodes that are there.
#include <set>

#include "formats/format.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue::formats;
  using namespace ringtrue::topology;
  const auto fabric = read_ibnetdiscover(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!fabric) {
    expect(!fabric.error().what.empty());
    return 0;
  }
  std::set<std::string> switches, all;
  for (const FabricSwitch& known : fabric->switches) expect(switches.insert(known.guid).second);
  all = switches;
  for (const FabricHost& host : fabric->hosts) expect(all.insert(host.guid).second);
  for (const FabricLink& link : fabric->links)
    expect(switches.contains(link.a.guid) && all.contains(link.b.guid));
  return 0;
}
