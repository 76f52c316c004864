// A fuzzer's corpus without the fuzzer: each file of the folders given, every beginning of it, and each byte
// of it changed in a few ways. For compilers that have no libFuzzer, and quick enough for every test run.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

// A copy of the exact size, so that a sanitizer sees a read past its end.
void play(const Input& input) {
  const Input exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t longest = 300;  // changed byte by byte up to here
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream in(entry.path(), std::ios::binary);
      const Input input{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
      ++files;
      play(input);
      const std::size_t length = input.size() < longest ? input.size() : longest;
      for (std::size_t at = 0; at < length; ++at) {
        play(Input(input.begin(), input.begin() + std::ptrdiff_t(at)));
        for (const int change : {0x01, 0x10, 0x80, 0xff}) {
          Input other = input;
          other[at] ^= std::uint8_t(change);
          play(other);
        }
      }
    }
  }
  std::printf("%d inputs\n", files);
  return files == 0;
}
