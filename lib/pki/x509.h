// Certificates as text (PEM), and what is written in them. EC P-256 keys, X.509 v3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ringtrue::pki {

struct KeyPair {
  std::string certificate;  // PEM
  std::string key;          // PEM, PKCS #8, not encrypted
};

// What a certificate is to say.
struct Profile {
  std::string name;                // subject CN (its first 64 characters)
  std::string unit;                // subject OU, "role:run"; empty: none
  std::vector<std::string> hosts;  // subject alternative names: addresses become IP entries, others DNS
  bool authority = false;          // may sign certificates, but no further authorities
  bool server = false;
  bool client = false;
  std::int64_t not_before = 0;  // seconds since 1970, UTC
  std::int64_t not_after = 0;
};

// A new key and its certificate, signed by `issuer`, or by itself where that is null.
Result<KeyPair> make_certificate(const Profile& profile, const KeyPair* issuer);

struct CertificateFacts {
  std::string name;                // subject CN
  std::vector<std::string> units;  // subject OUs
  std::vector<std::string> hosts;  // subject alternative names, addresses as text
  std::string issuer;              // issuer CN
  std::string serial;              // in hexadecimal digits, capital letters
  bool authority = false;
  std::int64_t not_before = 0;
  std::int64_t not_after = 0;
};

// bad_input where the text holds no certificate.
Result<CertificateFacts> read_certificate(const std::string& pem);

// bad_input where a text does not hold what it should.
Result<bool> key_fits(const std::string& certificate_pem, const std::string& key_pem);
Result<bool> issued_by(const std::string& certificate_pem, const std::string& authority_pem);

bool is_address(const std::string& text);  // IPv4 or IPv6
std::string date_text(std::int64_t at);    // "2026-11-21 00:09 UTC"

}  // namespace ringtrue::pki
