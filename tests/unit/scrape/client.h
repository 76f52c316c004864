// A client of the page on loopback: plain, or by TLS with or without a certificate. Everything has a
// deadline.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/fd.h"

namespace ringtrue::scrape {

class Client {
 public:
  explicit Client(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(std::uint16_t(port));
    timeval time{10, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
    if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd_.reset();
  }
  // `folder`: of an operator's certificate; "": none.
  bool handshake(const std::string& folder, int version = TLS1_3_VERSION) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_max_proto_version(context_.get(), version);
    if (!folder.empty() && (SSL_CTX_use_certificate_file(context_.get(), (folder + "/operator.crt").c_str(),
                                                         SSL_FILETYPE_PEM) != 1 ||
                            SSL_CTX_use_PrivateKey_file(context_.get(), (folder + "/operator.key").c_str(),
                                                        SSL_FILETYPE_PEM) != 1))
      return false;
    tls_.reset(SSL_new(context_.get()));
    SSL_set_fd(tls_.get(), fd_.get());
    return SSL_connect(tls_.get()) == 1;
  }
  bool write(const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
      const auto n = tls_ ? SSL_write(tls_.get(), text.data() + done, int(text.size() - done))
                          : ::send(fd_.get(), text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (n <= 0) return false;
      done += std::size_t(n);
    }
    return true;
  }
  // One answer, by its Content-Length; what has come until the end of the connection or 10 s of silence.
  std::string read() {
    std::string text;
    for (;;) {
      if (const auto head = text.find("\r\n\r\n"); head != text.npos) {
        const auto length = text.find("Content-Length: ");
        if (length < head && text.size() >= head + 4 + std::stoul(text.substr(length + 16))) return text;
      }
      char bytes[4096];
      const auto n =
          tls_ ? SSL_read(tls_.get(), bytes, sizeof bytes) : ::recv(fd_.get(), bytes, sizeof bytes, 0);
      if (n <= 0) return text;
      text.append(bytes, std::size_t(n));
    }
  }
  std::string get(const std::string& path = "/metrics") {
    return write("GET " + path + " HTTP/1.1\r\nHost: node0\r\n\r\n") ? read() : "";
  }
  // Whether the other side ends it within this time.
  bool ends_within(Seconds time) {
    const Deadline deadline = Deadline::in(time);
    while (!deadline.passed()) {
      pollfd polled{fd_.get(), POLLIN, 0};
      if (::poll(&polled, 1, deadline.left_ms()) <= 0) return false;
      char bytes[4096];
      if (::recv(fd_.get(), bytes, sizeof bytes, 0) <= 0) return true;
    }
    return false;
  }

 private:
  struct Free {
    void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
    void operator()(SSL* p) const { SSL_free(p); }
  };
  OwnedFd fd_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> tls_;
};

}  // namespace ringtrue::scrape
