#include "base/subject.h"

#include "base/phase.h"

namespace ringtrue {

std::string Subject::text() const {
  std::string out = node;
  for (const std::string& part :
       {rank < 0 ? "" : "rank " + std::to_string(rank), device, std::string(key_of(phase))})
    if (!part.empty()) out += (out.empty() ? "" : " ") + part;
  return out;
}

}  // namespace ringtrue
