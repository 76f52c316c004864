#include "base/result.h"

#include "base/text.h"

namespace ringtrue {

std::string Error::text() const {
  std::string line;
  if (!where.empty()) line = where.text() + ": ";
  line += what;
  if (!next.empty()) line += "; " + next;
  // An error is one line whatever a peer or a file put into it.
  return visible(line);
}

}  // namespace ringtrue
