// The scan for any processor, a word at a time.
#include "engine/kernels/nonzero_loop.h"

namespace ringtrue::engine::kernels {
namespace {

struct Words {
  struct Reg {
    std::uint64_t word[4];
  };
  static constexpr std::uint64_t bytes = 32;
  static Reg load(const char* from) {
    Reg r;
    __builtin_memcpy(&r, from, sizeof r);
    return r;
  }
  static Reg both(const Reg& a, const Reg& b) {
    return {{a.word[0] | b.word[0], a.word[1] | b.word[1], a.word[2] | b.word[2], a.word[3] | b.word[3]}};
  }
  static bool any(const Reg& r, std::uint64_t mask) {
    return ((r.word[0] | r.word[1] | r.word[2] | r.word[3]) & mask) != 0;
  }
};

}  // namespace

const NonZero& non_zero_portable() {
  static constexpr NonZero kernel = non_zero<Words>("portable");
  return kernel;
}

}  // namespace ringtrue::engine::kernels
