#include "pki/x509.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <time.h>

#include <memory>

namespace ringtrue::pki {
namespace {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;

tl::unexpected<Error> openssl_failure(const std::string& doing) {
  char text[160] = "no reason given";
  if (const unsigned long code = ERR_peek_last_error()) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return fail(Cause::internal, "openssl failed at " + doing + ": " + text);
}

// Without this, an encrypted key would ask for its passphrase on the terminal.
int no_passphrase(char*, int, int, void*) {
  return 0;
}

Bio reading(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), int(text.size())));
}

std::string contents(BIO* bio) {
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio, &data);
  return length > 0 ? std::string(data, std::size_t(length)) : std::string();
}

Certificate parse_certificate(const std::string& pem) {
  const Bio bio = reading(pem);
  Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  return certificate;
}

Key parse_key(const std::string& pem) {
  const Bio bio = reading(pem);
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  return key;
}

bool add_entry(X509_NAME* name, const char* field, const std::string& value) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(value.data()), int(value.size()),
                                    -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_nconf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Built entry by entry: a name never passes through OpenSSL's configuration language.
bool add_hosts(X509* certificate, const std::vector<std::string>& hosts) {
  const Names names(GENERAL_NAMES_new());
  for (const std::string& host : hosts) {
    GENERAL_NAME* name = GENERAL_NAME_new();
    ASN1_STRING* value = nullptr;
    if (is_address(host)) {
      value = a2i_IPADDRESS(host.c_str());
      if (name && value) GENERAL_NAME_set0_value(name, GEN_IPADD, value);
    } else {
      value = ASN1_IA5STRING_new();
      if (value) ASN1_STRING_set(value, host.data(), int(host.size()));
      if (name && value) GENERAL_NAME_set0_value(name, GEN_DNS, value);
    }
    if (!name || !value || !sk_GENERAL_NAME_push(names.get(), name)) return false;
  }
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
}

bool set_serial(X509* certificate) {
  const Number serial(BN_new());
  return serial && BN_rand(serial.get(), 159, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate));
}

bool add_extensions(X509* certificate, X509* issuer, const Profile& profile) {
  if (profile.authority) {
    if (!add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
        !add_extension(certificate, issuer, NID_key_usage, "critical,keyCertSign,cRLSign"))
      return false;
  } else {
    const char* use = profile.server && profile.client ? "serverAuth,clientAuth"
                      : profile.server                 ? "serverAuth"
                                                       : "clientAuth";
    if (!add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
        !add_extension(certificate, issuer, NID_key_usage, "critical,digitalSignature") ||
        !add_extension(certificate, issuer, NID_ext_key_usage, use))
      return false;
  }
  if (!profile.hosts.empty() && !add_hosts(certificate, profile.hosts)) return false;
  return add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
         add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always");
}

std::int64_t seconds_of(const ASN1_TIME* time) {
  tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

std::vector<std::string> entries(X509_NAME* name, int nid) {
  std::vector<std::string> found;
  for (int at = -1; (at = X509_NAME_get_index_by_NID(name, nid, at)) >= 0;) {
    unsigned char* text = nullptr;
    const int length = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (length < 0) continue;
    found.emplace_back(reinterpret_cast<char*>(text), std::size_t(length));
    OPENSSL_free(text);
  }
  return found;
}

std::string first_entry(X509_NAME* name, int nid) {
  const std::vector<std::string> all = entries(name, nid);
  return all.empty() ? std::string() : all.front();
}

std::vector<std::string> hosts_of(X509* certificate) {
  std::vector<std::string> hosts;
  const Names names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    int kind = 0;
    const auto* value = static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(name, &kind));
    const unsigned char* data = value ? ASN1_STRING_get0_data(value) : nullptr;
    const int length = value ? ASN1_STRING_length(value) : 0;
    if (kind == GEN_DNS) hosts.emplace_back(reinterpret_cast<const char*>(data), std::size_t(length));
    if (kind == GEN_IPADD && (length == 4 || length == 16)) {
      char text[INET6_ADDRSTRLEN] = "";
      inet_ntop(length == 4 ? AF_INET : AF_INET6, data, text, sizeof text);
      hosts.emplace_back(text);
    }
  }
  return hosts;
}

}  // namespace

bool is_address(const std::string& text) {
  unsigned char buffer[16];
  return inet_pton(AF_INET, text.c_str(), buffer) == 1 || inet_pton(AF_INET6, text.c_str(), buffer) == 1;
}

std::string date_text(std::int64_t at) {
  const time_t seconds = at;
  tm parts{};
  char text[32] = "";
  gmtime_r(&seconds, &parts);
  strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

Result<KeyPair> make_certificate(const Profile& profile, const KeyPair* issuer) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  if (!key || !certificate) return openssl_failure("making a key");

  Certificate issuer_certificate;
  Key issuer_key;
  if (issuer) {
    issuer_certificate = parse_certificate(issuer->certificate);
    issuer_key = parse_key(issuer->key);
    if (!issuer_certificate || !issuer_key)
      return fail(Cause::bad_input, "the authority's certificate or key is not readable as PEM");
  }
  X509* signer = issuer ? issuer_certificate.get() : certificate.get();
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  // X.509 allows a CN of 64 characters; the whole name is in the alternative names, which is what counts.
  const bool named = add_entry(subject, "O", "ringtrue") &&
                     (profile.unit.empty() || add_entry(subject, "OU", profile.unit)) &&
                     add_entry(subject, "CN", profile.name.substr(0, 64));
  if (!named || X509_set_version(certificate.get(), X509_VERSION_3) != 1 || !set_serial(certificate.get()) ||
      !ASN1_TIME_set(X509_getm_notBefore(certificate.get()), profile.not_before) ||
      !ASN1_TIME_set(X509_getm_notAfter(certificate.get()), profile.not_after) ||
      X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer)) != 1 ||
      X509_set_pubkey(certificate.get(), key.get()) != 1 ||
      !add_extensions(certificate.get(), signer, profile) ||
      X509_sign(certificate.get(), issuer ? issuer_key.get() : key.get(), EVP_sha256()) == 0)
    return openssl_failure("signing a certificate for " + profile.name);

  const Bio certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return openssl_failure("writing a certificate for " + profile.name);
  return KeyPair{contents(certificate_text.get()), contents(key_text.get())};
}

Result<CertificateFacts> read_certificate(const std::string& pem) {
  const Certificate certificate = parse_certificate(pem);
  if (!certificate) return fail(Cause::bad_input, "this is not a certificate in PEM form");
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  CertificateFacts facts;
  facts.name = first_entry(subject, NID_commonName);
  facts.units = entries(subject, NID_organizationalUnitName);
  facts.hosts = hosts_of(certificate.get());
  facts.issuer = first_entry(X509_get_issuer_name(certificate.get()), NID_commonName);
  const Number serial(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate.get()), nullptr));
  if (char* digits = serial ? BN_bn2hex(serial.get()) : nullptr) {
    facts.serial = digits;
    OPENSSL_free(digits);
  }
  facts.authority = X509_check_ca(certificate.get()) != 0;
  facts.not_before = seconds_of(X509_get0_notBefore(certificate.get()));
  facts.not_after = seconds_of(X509_get0_notAfter(certificate.get()));
  ERR_clear_error();
  return facts;
}

Result<bool> key_fits(const std::string& certificate_pem, const std::string& key_pem) {
  const Certificate certificate = parse_certificate(certificate_pem);
  if (!certificate) return fail(Cause::bad_input, "this is not a certificate in PEM form");
  const Key key = parse_key(key_pem);
  if (!key) return fail(Cause::bad_input, "this is not an unencrypted private key in PEM form");
  const bool fits = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return fits;
}

Result<bool> issued_by(const std::string& certificate_pem, const std::string& authority_pem) {
  const Certificate certificate = parse_certificate(certificate_pem);
  const Certificate authority = parse_certificate(authority_pem);
  if (!certificate || !authority) return fail(Cause::bad_input, "this is not a certificate in PEM form");
  EVP_PKEY* key = X509_get0_pubkey(authority.get());
  const bool signed_by_it = key && X509_verify(certificate.get(), key) == 1;
  ERR_clear_error();
  return signed_by_it;
}

}  // namespace ringtrue::pki
