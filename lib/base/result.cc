#include "base/result.h"

namespace ringtrue {

std::string Error::text() const {
  std::string line;
  if (!where.empty()) line = where.text() + ": ";
  line += what;
  if (!next.empty()) line += "; " + next;
  // An error is one line whatever a peer or a file put into it.
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

}  // namespace ringtrue
