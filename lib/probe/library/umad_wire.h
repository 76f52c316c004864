// SubnGet(LinearForwardingTable) through a umad port, by directed routes: reads, never writes.
#pragma once

#include <infiniband/mad.h>

#include <vector>

#include "probe/library/table_reader.h"

namespace ringtrue::probe::tables {

class UmadWire : public BlockWire {
 public:
  // `paths`: the switches', as the walk found them. Errors: unavailable.
  static Result<UmadWire> open(const std::string& device, int port, std::vector<ib_portid_t> paths);
  UmadWire(UmadWire&& other) noexcept;
  UmadWire& operator=(UmadWire&&) = delete;
  ~UmadWire() override;

  Result<std::uint32_t> ask(int at, int block) override;
  Result<std::optional<BlockAnswer>> next(Seconds wait) override;
  Seconds now() override;

 private:
  UmadWire(int port, int agent, std::vector<ib_portid_t> paths);

  int port_, agent_;
  std::vector<ib_portid_t> paths_;
};

}  // namespace ringtrue::probe::tables
