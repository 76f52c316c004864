#include "formats/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>

#include "formats/format.h"

namespace ringtrue::formats {
namespace {

constexpr int gzip_window = 15 + 16;  // the largest window, gzip's framing
constexpr std::size_t small = 1 << 20;

Bytef* input(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

Result<std::string> gunzip(std::string_view bytes) {
  const std::size_t most = std::min(max_file_bytes, std::max(small, bytes.size() * max_expansion));
  z_stream stream{};
  if (inflateInit2(&stream, gzip_window) != Z_OK) return fail(Cause::unavailable, "no memory to unpack");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, inflateEnd);
  stream.next_in = input(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string result, piece(64 << 10, '\0');
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    result.append(piece, 0, piece.size() - stream.avail_out);
    if (result.size() > most)
      return fail(Cause::bad_input,
                  most == max_file_bytes
                      ? fmt::format("unpacks to more than {} MiB", max_file_bytes >> 20)
                      : fmt::format("unpacks to more than {} times its size", max_expansion));
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0) return result;
      if (!is_gzip(std::string_view(reinterpret_cast<const char*>(stream.next_in), stream.avail_in)))
        return fail(Cause::bad_input, "something follows the gzip data");
      inflateReset(&stream);
    } else if (status == Z_BUF_ERROR || (status == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)) {
      return fail(Cause::bad_input, "gzip data that is cut off");
    } else if (status != Z_OK) {
      return fail(Cause::bad_input,
                  fmt::format("damaged gzip data: {}", stream.msg ? stream.msg : "unreadable"));
    }
  }
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  const std::unique_ptr<z_stream, decltype(&deflateEnd)> end(&stream, deflateEnd);
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = input(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  return result;
}

}  // namespace ringtrue::formats
