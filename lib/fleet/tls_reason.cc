#include "fleet/tls_reason.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <system_error>

#include "fleet/targets.h"
#include "fleet/x509.h"

namespace ringtrue::fleet {
namespace {

struct Free {
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
  void operator()(SSL* p) const { SSL_free(p); }
  void operator()(BIO* p) const { BIO_free_all(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

struct Socket {
  int fd = -1;
  Socket() = default;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd >= 0) close(fd);
  }
  bool wait(short what, Deadline deadline) const {
    for (;;) {
      pollfd p{fd, what, 0};
      const int n = poll(&p, 1, deadline.left_ms());
      if (n > 0) return true;
      if (n == 0 || errno != EINTR) return false;
    }
  }
};

Error reason(const Target& target, Cause cause, std::string what, std::string next = {}) {
  return Error{cause, std::move(what), target.node, std::move(next)};
}

Error connection_reason(const Target& target, int code) {
  const std::string place = to_text(target);
  const std::string system = std::generic_category().message(code);
  if (!target.socket.empty()) {
    if (code == ENOENT || code == ECONNREFUSED)
      return reason(target, Cause::unreachable, "no daemon listens at " + place,
                    "start ringtrued, or give the path of its --state folder's socket");
    if (code == EACCES || code == EPERM)
      return reason(target, Cause::refused, "no permission to open " + place,
                    "ask for the group of that socket");
    return reason(target, Cause::unreachable, "cannot open " + place + ": " + system);
  }
  switch (code) {
    case ECONNREFUSED:
      return reason(target, Cause::unreachable, "connection refused: is ringtrued running on " + place + "?",
                    "start it there, or check --listen and the port");
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
      return reason(target, Cause::unreachable, "no route to " + place,
                    "check that the node is up, its link, and this machine's routes");
    case ETIMEDOUT:
      return reason(target, Cause::unreachable, "no answer from " + place + ": the connection timed out",
                    "check that the node is up and that no firewall drops the port");
    default:
      return reason(target, Cause::unreachable, "cannot connect to " + place + ": " + system);
  }
}

// 0, or what errno says.
int connect_to(const Target& target, Socket& s, Deadline deadline) {
  sockaddr_storage address{};
  socklen_t length = 0;
  if (!target.socket.empty()) {
    auto* a = reinterpret_cast<sockaddr_un*>(&address);
    if (target.socket.size() >= sizeof a->sun_path) return ENAMETOOLONG;
    a->sun_family = AF_UNIX;
    std::memcpy(a->sun_path, target.socket.c_str(), target.socket.size() + 1);
    length = sizeof *a;
  } else if (auto* a = reinterpret_cast<sockaddr_in*>(&address);
             inet_pton(AF_INET, target.host.c_str(), &a->sin_addr) == 1) {
    a->sin_family = AF_INET;
    a->sin_port = htons(std::uint16_t(target.port));
    length = sizeof *a;
  } else if (auto* a6 = reinterpret_cast<sockaddr_in6*>(&address);
             inet_pton(AF_INET6, target.host.c_str(), &a6->sin6_addr) == 1) {
    a6->sin6_family = AF_INET6;
    a6->sin6_port = htons(std::uint16_t(target.port));
    length = sizeof *a6;
  } else {
    return EADDRNOTAVAIL;
  }
  s.fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (s.fd < 0) return errno;
  if (connect(s.fd, reinterpret_cast<sockaddr*>(&address), length) == 0) return 0;
  if (errno == EAGAIN) return ETIMEDOUT;  // a Unix socket whose daemon does not accept
  if (errno != EINPROGRESS) return errno;
  if (!s.wait(POLLOUT, deadline)) return ETIMEDOUT;
  int code = 0;
  socklen_t size = sizeof code;
  getsockopt(s.fd, SOL_SOCKET, SO_ERROR, &code, &size);
  return code;
}

// What the verification found wrong, all of it: the handshake goes on, so that the whole can be told.
using Findings = std::set<int>;

int note_finding(int ok, X509_STORE_CTX* store) {
  const auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  if (!ok) static_cast<Findings*>(SSL_get_app_data(ssl))->insert(X509_STORE_CTX_get_error(store));
  return 1;
}

bool use(SSL_CTX* context, const PemBundle& credentials) {
  const auto reading = [](const std::string& text) {
    return Owned<BIO>(BIO_new_mem_buf(text.data(), int(text.size())));
  };
  const Owned<X509> ca(PEM_read_bio_X509(reading(credentials.ca).get(), nullptr, nullptr, nullptr));
  const Owned<X509> cert(PEM_read_bio_X509(reading(credentials.cert).get(), nullptr, nullptr, nullptr));
  const Owned<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(reading(credentials.key).get(), nullptr, nullptr, nullptr));
  return ca && cert && key && X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.get()) == 1 &&
         SSL_CTX_use_certificate(context, cert.get()) == 1 && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
}

// How a step of the conversation ended.
enum class End { done, timed_out, closed, not_tls, alert };

class Conversation {
 public:
  Conversation(const Target& target, const PemBundle* credentials) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, note_finding);
    static constexpr unsigned char h2[] = {2, 'h', '2'};
    SSL_CTX_set_alpn_protos(context_.get(), h2, sizeof h2);
    usable_ = !credentials || use(context_.get(), *credentials);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_app_data(ssl_.get(), &findings_);
    const std::string name = certificate_name(target);
    if (is_address(name)) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), name.c_str());
    } else {
      SSL_set_tlsext_host_name(ssl_.get(), name.c_str());
      SSL_set1_host(ssl_.get(), name.c_str());
    }
    // Memory on both sides: the socket stays ours, with its deadline, and a closed one raises no SIGPIPE.
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_.get(), in_, out_);
    SSL_set_connect_state(ssl_.get());
  }

  bool usable() const { return usable_; }
  const Findings& findings() const { return findings_; }
  int alert() const { return alert_; }  // ERR_GET_REASON, after End::alert

  End handshake(const Socket& s, Deadline deadline) {
    return drive(s, deadline, [this] { return SSL_do_handshake(ssl_.get()); });
  }
  // Until the first bytes of the server's: with TLS 1.3 it judges our certificate after our handshake is
  // done.
  End first_bytes(const Socket& s, Deadline deadline) {
    return drive(s, deadline, [this] {
      char byte;
      return SSL_read(ssl_.get(), &byte, 1);
    });
  }

  std::optional<CertificateFacts> server_certificate() const {
    const Owned<X509> certificate(SSL_get1_peer_certificate(ssl_.get()));
    const Owned<BIO> text(BIO_new(BIO_s_mem()));
    if (!certificate || PEM_write_bio_X509(text.get(), certificate.get()) != 1) return std::nullopt;
    char* data = nullptr;
    const long length = BIO_get_mem_data(text.get(), &data);
    auto facts = read_certificate(std::string(data, std::size_t(length)));
    return facts ? std::optional(*facts) : std::nullopt;
  }

 private:
  template <class Step>
  End drive(const Socket& s, Deadline deadline, Step step) {
    for (;;) {
      ERR_clear_error();
      const int n = step();
      const int code = SSL_get_error(ssl_.get(), n);
      if (!flush(s, deadline)) return End::closed;
      if (n == 1) return End::done;
      if (code == SSL_ERROR_ZERO_RETURN) return End::closed;
      if (code != SSL_ERROR_WANT_READ && code != SSL_ERROR_WANT_WRITE) {
        alert_ = ERR_GET_REASON(ERR_peek_error());
        ERR_clear_error();
        return alert_ == 0 ? End::closed : End::alert;
      }
      if (!s.wait(POLLIN, deadline)) return End::timed_out;
      char buffer[16384];
      const ssize_t got = recv(s.fd, buffer, sizeof buffer, 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got <= 0) return End::closed;
      // The first byte of a TLS record tells an alert (21) or a handshake (22) from anything else.
      if (!heard_ && buffer[0] != 21 && buffer[0] != 22) return End::not_tls;
      heard_ = true;
      BIO_write(in_, buffer, int(got));
    }
  }

  bool flush(const Socket& s, Deadline deadline) {
    char buffer[16384];
    for (int n; (n = BIO_read(out_, buffer, sizeof buffer)) > 0;)
      for (int at = 0; at < n;) {
        const ssize_t sent = send(s.fd, buffer + at, std::size_t(n - at), MSG_NOSIGNAL);
        if (sent > 0) at += int(sent);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
        if (sent < 0 && !s.wait(POLLOUT, deadline)) return false;
      }
    return true;
  }

  Findings findings_;
  Owned<SSL_CTX> context_;
  Owned<SSL> ssl_;
  BIO* in_ = nullptr;   // owned by ssl_
  BIO* out_ = nullptr;  // owned by ssl_
  bool usable_ = false;
  bool heard_ = false;
  int alert_ = 0;
};

std::string refusal(int alert) {
  switch (alert) {
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "it takes it for expired (is its clock right?)";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return "it does not know its authority";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "it got none";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      return "it has been revoked";
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
      return "access denied";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      return "it cannot verify it";
    default:
      return {};
  }
}

// What is wrong with the certificate that the daemon showed, gravest first.
std::optional<Error> certificate_reason(const Target& target, const Findings& findings,
                                        const std::optional<CertificateFacts>& facts) {
  if (findings.empty()) return std::nullopt;
  const std::string whose = target.node + "'s certificate ";
  const std::string issue = "ringtrue pki issue --dir AUTHORITY " + certificate_name(target);
  const std::string renew = issue + ", copy the folder to that node and reload its daemon";
  const auto has = [&](std::initializer_list<int> codes) {
    return std::any_of(codes.begin(), codes.end(), [&](int c) { return findings.contains(c); });
  };
  if (has({X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
           X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
           X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_CERT_SIGNATURE_FAILURE}))
    return reason(
        target, Cause::refused,
        whose + "is from another authority" + (facts ? fmt::format(" ({})", facts->issuer) : std::string()),
        "give the --pki of that authority, or " + renew);
  if (has({X509_V_ERR_CERT_HAS_EXPIRED}))
    return reason(
        target, Cause::refused,
        whose + "expired" + (facts ? fmt::format(" on {}", date_text(facts->not_after)) : std::string()),
        renew);
  if (has({X509_V_ERR_CERT_NOT_YET_VALID}))
    return reason(target, Cause::refused,
                  whose + "is valid only from" +
                      (facts ? fmt::format(" {}", date_text(facts->not_before)) : " later on"),
                  "check this machine's clock");
  if (has({X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH})) {
    const std::string is_for =
        facts ? (facts->hosts.empty() ? facts->name : facts->hosts[0]) : "another name";
    return reason(target, Cause::refused, whose + "is for " + is_for + ", not " + certificate_name(target),
                  "call it " + is_for + " in --hosts, or start its daemon with --node " +
                      certificate_name(target) + " and a certificate of that name: " + issue);
  }
  return reason(target, Cause::refused,
                whose + "is not accepted: " + X509_verify_cert_error_string(*findings.begin()), renew);
}

Error silent(const Target& target) {
  return reason(
      target, Cause::deadline,
      to_text(target) + " took the connection but does not answer: its daemon may be stopped or overloaded",
      "look at ringtrued on that node");
}

}  // namespace

std::optional<Error> why_unreachable(const Target& target, const PemBundle* credentials, Deadline deadline) {
  Socket s;
  if (const int code = connect_to(target, s, deadline); code != 0) return connection_reason(target, code);
  if (!target.socket.empty()) return std::nullopt;  // no TLS there

  Conversation conversation(target, credentials);
  if (!conversation.usable()) return reason(target, Cause::bad_input, "our own certificate cannot be used");
  const End end = conversation.handshake(s, deadline);
  if (!credentials) {
    if (end == End::timed_out) return silent(target);
    if (end == End::not_tls || end == End::closed) return std::nullopt;
    return reason(target, Cause::refused, target.node + " wants TLS, but this side runs --insecure",
                  "give --pki DIR instead");
  }
  if (end == End::not_tls)
    return reason(
        target, Cause::refused,
        target.node + " does not speak TLS (does its daemon run --insecure, or is this another program?)",
        "start ringtrued there with --pki, or check the port");
  if (end == End::timed_out) return silent(target);
  if (auto wrong = certificate_reason(target, conversation.findings(), conversation.server_certificate()))
    return wrong;

  const auto own = read_certificate(credentials->cert);
  const std::string mine =
      target.node + " refused our certificate" + (own ? fmt::format(" (\"{}\")", own->name) : std::string());
  const std::string next = "compare the ca.crt on both sides and the clocks; its daemon's log says more";
  const End after = end == End::done ? conversation.first_bytes(s, deadline) : end;
  if (after == End::done) return std::nullopt;
  if (after == End::timed_out) return end == End::done ? std::nullopt : std::optional(silent(target));
  const std::string why = after == End::alert ? refusal(conversation.alert()) : std::string();
  if (!why.empty()) return reason(target, Cause::refused, mine + ": " + why, next);
  if (end == End::done) return reason(target, Cause::refused, mine + " and gave no reason", next);
  return reason(target, Cause::refused, to_text(target) + " ended the TLS handshake and gave no reason",
                next);
}

}  // namespace ringtrue::fleet
