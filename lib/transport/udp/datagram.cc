#include "transport/udp/datagram.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdlib>

#include "collective/packets.h"
#include "transport/fields.h"

namespace ringtrue::transport::udp {

namespace {

constexpr std::uint32_t magic = 0x31645452;  // "RTd1"

struct HeadBytes {
  std::uint32_t magic;
  std::uint32_t epoch;
  collective::Rank from, to;
  std::uint32_t sequence;
  std::uint16_t header, payload;
};
static_assert(sizeof(HeadBytes) == head_bytes);

}  // namespace

std::array<std::byte, head_bytes> encode(const Head& head) {
  return to_bytes(HeadBytes{magic, head.epoch, head.from, head.to, head.sequence, head.header, head.payload});
}

std::optional<Head> decode(std::span<const std::byte> datagram) {
  if (datagram.size() < framing_bytes) return std::nullopt;
  const auto got = from_bytes<HeadBytes>(datagram);
  const Head head{got.epoch, got.from, got.to, got.sequence, got.header, got.payload};
  const bool fits = got.magic == magic && head.from >= 0 && head.to >= 0 &&
                    head.header <= collective::max_header_bytes && head.datagram_bytes() == datagram.size();
  return fits ? std::optional(head) : std::nullopt;
}

void Tagger::Free::operator()(evp_mac_ctx_st* context) const {
  EVP_MAC_CTX_free(context);
}

Tagger::Tagger(const std::string& secret, std::uint64_t run) {
  // Proofs of connections use the secret itself; a key of its own keeps the two apart.
  // So does the number with runs.
  const std::string label = "ringtrue datagram 2, run " + std::to_string(run);
  unsigned char key[32];
  unsigned length = 0;
  HMAC(EVP_sha256(), secret.data(), int(secret.size()), reinterpret_cast<const unsigned char*>(label.data()),
       label.size(), key, &length);
  EVP_MAC* mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  context_.reset(mac ? EVP_MAC_CTX_new(mac) : nullptr);
  EVP_MAC_free(mac);  // the context holds it
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
  // Without SHA-256 the daemon's TLS would not have brought us here.
  if (!context_ || EVP_MAC_init(context_.get(), key, sizeof key, parameters) != 1) std::abort();
  OPENSSL_cleanse(key, sizeof key);
}

Tag Tagger::tag(std::span<const std::byte> all_before) {
  EVP_MAC_CTX* const mac = context_.get();
  unsigned char full[32];
  std::size_t length = 0;
  // Begins anew with the same key.
  const bool made = EVP_MAC_init(mac, nullptr, 0, nullptr) == 1 &&
                    EVP_MAC_update(mac, reinterpret_cast<const unsigned char*>(all_before.data()),
                                   all_before.size()) == 1 &&
                    EVP_MAC_final(mac, full, &length, sizeof full) == 1;
  if (!made) std::abort();
  Tag tag;
  std::memcpy(tag.data(), full, tag.size());
  return tag;
}

bool Tagger::proves(std::span<const std::byte> datagram) {
  const Tag due = tag(datagram.first(datagram.size() - tag_bytes));
  return CRYPTO_memcmp(due.data(), datagram.last(tag_bytes).data(), tag_bytes) == 0;
}

}  // namespace ringtrue::transport::udp
