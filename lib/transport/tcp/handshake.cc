#include "transport/tcp/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstdlib>
#include <string_view>

#include "transport/fields.h"

namespace ringtrue::transport::tcp {

namespace {

constexpr std::uint64_t magic = 0x3130617461645452;  // "RTdata01"

struct HelloBytes {
  std::array<std::byte, 8> magic;
  SeatId from, to;
  std::uint16_t lane;
  std::uint16_t zero;
  Nonce nonce;
};
static_assert(sizeof(HelloBytes) == hello_bytes);

Mac prove(std::string_view label, const std::string& secret, const Hello& hello, const Nonce& nonce) {
  const auto said = encode(hello);
  std::string text(label);
  text.append(reinterpret_cast<const char*>(said.data()), said.size());
  text.append(reinterpret_cast<const char*>(nonce.data()), nonce.size());
  Mac mac{};
  unsigned length = 0;
  HMAC(EVP_sha256(), secret.data(), int(secret.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), reinterpret_cast<unsigned char*>(mac.data()), &length);
  return mac;
}

}  // namespace

std::array<std::byte, hello_bytes> encode(const Hello& hello) {
  return to_bytes(HelloBytes{to_bytes(magic), hello.from, hello.to, hello.lane, 0, hello.nonce});
}

std::optional<Hello> decode_hello(std::span<const std::byte, hello_bytes> bytes) {
  const auto hello = from_bytes<HelloBytes>(bytes);
  if (hello.magic != to_bytes(magic) || hello.zero != 0) return std::nullopt;
  return Hello{hello.from, hello.to, hello.lane, hello.nonce};
}

Nonce make_nonce() {
  Nonce nonce;
  // Without random numbers nothing here proves anything.
  if (RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), int(nonce.size())) != 1) std::abort();
  return nonce;
}

Mac acceptor_proof(const std::string& secret, const Hello& hello, const Nonce& nonce) {
  return prove("acceptor", secret, hello, nonce);
}

Mac connector_proof(const std::string& secret, const Hello& hello, const Nonce& nonce) {
  return prove("connector", secret, hello, nonce);
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace ringtrue::transport::tcp
