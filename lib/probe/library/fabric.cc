// The answer of libibnetdisc: the InfiniBand fabric behind this machine's active ports, in ibnetdiscover's
// text.
#include "probe/library/fabric_walk.h"
#include "probe/library/library.h"

namespace ringtrue::probe {

Result<std::string> ask_fabric(const Asking& asking) {
  constexpr std::size_t max_text_bytes = 16u << 20;
  std::string text;
  const auto walked = walk::each_fabric(asking.root, [&](const walk::LocalPort& from, ibnd_fabric_t* fabric) {
    walk::write_fabric(from, fabric, max_text_bytes, text);
  });
  if (!walked) return tl::unexpected(walked.error());
  return text;
}

}  // namespace ringtrue::probe
