#include "transport/tcp/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace ringtrue::transport::tcp {

namespace {

constexpr char magic[8] = {'R', 'T', 'd', 'a', 't', 'a', '0', '1'};

Mac prove(std::string_view label, const std::string& secret, const Hello& hello, const Nonce& nonce) {
  const auto said = encode(hello);
  std::vector<unsigned char> text;
  text.insert(text.end(), label.begin(), label.end());
  const auto* bytes = reinterpret_cast<const unsigned char*>(said.data());
  text.insert(text.end(), bytes, bytes + said.size());
  bytes = reinterpret_cast<const unsigned char*>(nonce.data());
  text.insert(text.end(), bytes, bytes + nonce.size());
  Mac mac{};
  unsigned length = 0;
  HMAC(EVP_sha256(), secret.data(), int(secret.size()), text.data(), text.size(),
       reinterpret_cast<unsigned char*>(mac.data()), &length);
  return mac;
}

}  // namespace

std::array<std::byte, hello_bytes> encode(const Hello& hello) {
  std::array<std::byte, hello_bytes> bytes{};
  std::memcpy(&bytes[0], magic, 8);
  std::memcpy(&bytes[8], &hello.from.node, 4);
  std::memcpy(&bytes[12], &hello.from.local, 4);
  std::memcpy(&bytes[16], &hello.to.node, 4);
  std::memcpy(&bytes[20], &hello.to.local, 4);
  std::memcpy(&bytes[24], &hello.lane, 2);
  std::memcpy(&bytes[28], hello.nonce.data(), 16);
  return bytes;
}

std::optional<Hello> decode_hello(std::span<const std::byte, hello_bytes> bytes) {
  if (std::memcmp(&bytes[0], magic, 8) != 0 || bytes[26] != std::byte{0} || bytes[27] != std::byte{0})
    return std::nullopt;
  Hello hello;
  std::memcpy(&hello.from.node, &bytes[8], 4);
  std::memcpy(&hello.from.local, &bytes[12], 4);
  std::memcpy(&hello.to.node, &bytes[16], 4);
  std::memcpy(&hello.to.local, &bytes[20], 4);
  std::memcpy(&hello.lane, &bytes[24], 2);
  std::memcpy(hello.nonce.data(), &bytes[28], 16);
  return hello;
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
