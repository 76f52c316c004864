#include "transport/udp/datagram.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdlib>
#include <cstring>

#include "collective/packets.h"

namespace ringtrue::transport::udp {

namespace {

constexpr std::uint32_t magic = 0x31645452;  // "RTd1"

template <class N>
void put(std::byte* at, N value) {
  for (std::size_t i = 0; i < sizeof value; ++i) at[i] = std::byte(value >> (8 * i));
}

template <class N>
N get(const std::byte* at) {
  N value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) value = N(value | N(N(at[i]) << (8 * i)));
  return value;
}

}  // namespace

std::array<std::byte, head_bytes> encode(const Head& head) {
  std::array<std::byte, head_bytes> bytes{};
  put(&bytes[0], magic);
  put(&bytes[4], head.epoch);
  put(&bytes[8], std::uint32_t(head.from));
  put(&bytes[12], std::uint32_t(head.to));
  put(&bytes[16], head.sequence);
  put(&bytes[20], head.header);
  put(&bytes[22], head.payload);
  return bytes;
}

std::optional<Head> decode(std::span<const std::byte> datagram) {
  if (datagram.size() < framing_bytes || get<std::uint32_t>(&datagram[0]) != magic) return std::nullopt;
  Head head;
  head.epoch = get<std::uint32_t>(&datagram[4]);
  head.from = collective::Rank(get<std::uint32_t>(&datagram[8]));
  head.to = collective::Rank(get<std::uint32_t>(&datagram[12]));
  head.sequence = get<std::uint32_t>(&datagram[16]);
  head.header = get<std::uint16_t>(&datagram[20]);
  head.payload = get<std::uint16_t>(&datagram[22]);
  if (head.from < 0 || head.to < 0 || head.header > collective::max_header_bytes ||
      head.datagram_bytes() != datagram.size())
    return std::nullopt;
  return head;
}

struct Tagger::Context {
  EVP_MAC_CTX* mac = nullptr;

  ~Context() { EVP_MAC_CTX_free(mac); }
};

Tagger::Tagger(const std::string& secret) : context_(std::make_unique<Context>()) {
  // Proofs of connections use the secret itself; a key of its own keeps the two apart.
  constexpr char label[] = "ringtrue datagram 1";
  unsigned char key[32];
  unsigned length = 0;
  HMAC(EVP_sha256(), secret.data(), int(secret.size()), reinterpret_cast<const unsigned char*>(label),
       sizeof label - 1, key, &length);
  EVP_MAC* mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  context_->mac = mac ? EVP_MAC_CTX_new(mac) : nullptr;
  EVP_MAC_free(mac);  // the context holds it
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
  // Without SHA-256 the daemon's TLS would not have brought us here.
  if (!context_->mac || EVP_MAC_init(context_->mac, key, sizeof key, parameters) != 1) std::abort();
  OPENSSL_cleanse(key, sizeof key);
}

Tagger::~Tagger() = default;
Tagger::Tagger(Tagger&&) noexcept = default;
Tagger& Tagger::operator=(Tagger&&) noexcept = default;

Tag Tagger::tag(std::span<const std::byte> all_before) {
  EVP_MAC_CTX* mac = context_->mac;
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
