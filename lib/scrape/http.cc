#include "scrape/http.h"

#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/clock.h"

namespace ringtrue::scrape {
namespace {

constexpr char type_of_metrics[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char type_of_words[] = "text/plain; charset=utf-8";

std::int64_t ns_of(Seconds s) {
  return std::int64_t(s.value * 1e9);
}

bool reply(MHD_Connection* to, unsigned status, const std::string& body, const char* type, bool close) {
  MHD_Response* response =
      MHD_create_response_from_buffer(body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_MUST_COPY);
  if (!response) return false;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  if (close) MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  const bool queued = MHD_queue_response(to, status, response) == MHD_YES;
  MHD_destroy_response(response);
  return queued;
}

bool has_body(MHD_Connection* client) {
  const char* length = MHD_lookup_connection_value(client, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  return (length && std::string_view(length) != "0") ||
         MHD_lookup_connection_value(client, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

// As PEM; "" where it showed none.
std::string certificate_of(MHD_Connection* client) {
  const MHD_ConnectionInfo* info = MHD_get_connection_info(client, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  if (!info) return {};
  unsigned many = 0;
  const gnutls_datum_t* chain =
      gnutls_certificate_get_peers(static_cast<gnutls_session_t>(info->tls_session), &many);
  gnutls_datum_t pem{};
  if (!chain || many == 0 || gnutls_pem_base64_encode2("CERTIFICATE", &chain[0], &pem) != 0) return {};
  std::string text(reinterpret_cast<const char*>(pem.data), pem.size);
  gnutls_free(pem.data);
  return text;
}

void no_log(void*, const char*, std::va_list) {}

}  // namespace

// What the library calls.
struct Callbacks {
  static void connection(void* self, MHD_Connection* of, void**, MHD_ConnectionNotificationCode what) {
    auto* http = static_cast<Http*>(self);
    const MHD_ConnectionInfo* info = MHD_get_connection_info(of, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (what == MHD_CONNECTION_NOTIFY_CLOSED && info) http->connections_.erase(info->connect_fd);
  }
  static MHD_Result request(void* self, MHD_Connection* of, const char* path, const char* method, const char*,
                            const char*, size_t*, void** seen) {
    const bool first = std::exchange(*seen, self) == nullptr;
    return static_cast<Http*>(self)->answer(of, method, path, first) ? MHD_YES : MHD_NO;
  }
  static void answered(void* self, MHD_Connection* of, void**, MHD_RequestTerminationCode) {
    auto* http = static_cast<Http*>(self);
    if (auto* connection = http->find(of); connection && connection->state == Http::State::answering) {
      connection->state = Http::State::idle;
      connection->since = now_ns();
    }
  }
};

Http::Http(const Settings& settings, Credentials credentials, std::shared_ptr<Tally> tally)
    : settings_(settings), credentials_(std::move(credentials)), tally_(std::move(tally)) {}

Result<std::unique_ptr<Http>> Http::start(const Settings& settings, Credentials credentials,
                                          std::shared_ptr<Tally> tally) {
  std::unique_ptr<Http> http(new Http(settings, std::move(credentials), std::move(tally)));
  const bool tls = bool(settings.credentials);
  const auto text = [](const std::string& pem) { return const_cast<char*>(pem.c_str()); };
  const MHD_OptionItem certificates[] = {
      {MHD_OPTION_HTTPS_MEM_KEY, 0, text(http->credentials_.key)},
      {MHD_OPTION_HTTPS_MEM_CERT, 0, text(http->credentials_.cert)},
      {MHD_OPTION_HTTPS_MEM_TRUST, 0, text(http->credentials_.ca)},
      {MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>("NORMAL:-VERS-ALL:+VERS-TLS1.3")},
      {MHD_OPTION_END, 0, nullptr}};
  const MHD_OptionItem none[] = {{MHD_OPTION_END, 0, nullptr}};
  // Beyond our own limit: those that were cut are there until the library has seen it.
  const unsigned most = unsigned(settings.limits.connections) + 4;
  http->daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | (tls ? MHD_USE_TLS : 0), 0, nullptr, nullptr,
      &Callbacks::request, http.get(), MHD_OPTION_EXTERNAL_LOGGER, &no_log, nullptr,
      MHD_OPTION_NOTIFY_CONNECTION, &Callbacks::connection, http.get(), MHD_OPTION_NOTIFY_COMPLETED,
      &Callbacks::answered, http.get(), MHD_OPTION_CONNECTION_LIMIT, most, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      settings.limits.request_bytes, MHD_OPTION_ARRAY, tls ? certificates : none, MHD_OPTION_END);
  if (!http->daemon_)
    return fail(Cause::bad_input, "the page of metrics cannot be served with these certificates",
                settings.flag, "see whether ca.crt, node.crt and node.key are whole");
  return http;
}

Http::~Http() {
  if (daemon_) MHD_stop_daemon(daemon_);
}

int Http::fd() const {
  return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

std::int64_t Http::due(const Connection& c) const {
  if (c.cut) return INT64_MAX;
  const Limits& l = settings_.limits;
  return c.since + ns_of(c.state == State::stranger    ? l.opening
                         : c.state == State::answering ? l.answer
                                                       : l.idle);
}

std::int64_t Http::next_due() const {
  std::int64_t due_at = INT64_MAX;
  for (const auto& [fd, connection] : connections_) due_at = std::min(due_at, due(connection));
  MHD_UNSIGNED_LONG_LONG ms = 0;
  if (MHD_get_timeout(daemon_, &ms) == MHD_YES)
    due_at =
        std::min(due_at, now_ns() + std::int64_t(std::min<MHD_UNSIGNED_LONG_LONG>(ms, 60'000)) * 1'000'000);
  return due_at;
}

void Http::run() {
  const std::int64_t now = now_ns();
  for (auto& [fd, connection] : connections_)
    if (due(connection) <= now) cut(fd, connection);
  MHD_run(daemon_);
}

// The library sees that it has ended, and closes it.
void Http::cut(int fd, Connection& connection) {
  connection.cut = true;
  ++tally_->cut;
  ::shutdown(fd, SHUT_RDWR);
}

void Http::add(OwnedFd fd) {
  sockaddr_storage from{};
  socklen_t length = sizeof from;
  ::getpeername(fd.get(), reinterpret_cast<sockaddr*>(&from), &length);
  const int number = fd.release();
  connections_[number] = {State::stranger, now_ns(), false};
  if (MHD_add_connection(daemon_, number, reinterpret_cast<sockaddr*>(&from), length) != MHD_YES)
    connections_.erase(number);
}

bool Http::drop_one() {
  auto goes = connections_.end();
  for (auto c = connections_.begin(); c != connections_.end(); ++c) {
    if (c->second.cut || c->second.state == State::answering) continue;
    const auto order = [](const Connection& x) { return std::pair(x.state != State::stranger, x.since); };
    if (goes == connections_.end() || order(c->second) < order(goes->second)) goes = c;
  }
  if (goes == connections_.end()) return false;
  cut(goes->first, goes->second);
  MHD_run(daemon_);
  return true;
}

Http::Connection* Http::find(MHD_Connection* of) {
  const MHD_ConnectionInfo* info = MHD_get_connection_info(of, MHD_CONNECTION_INFO_CONNECTION_FD);
  const auto found = info ? connections_.find(info->connect_fd) : connections_.end();
  return found == connections_.end() ? nullptr : &found->second;
}

Result<void> Http::admit(MHD_Connection* client) const {
  if (!settings_.admit) return {};
  const std::string certificate = certificate_of(client);
  if (certificate.empty()) return fail(Cause::refused, "it shows no certificate");
  return settings_.admit(certificate);
}

// Called when the headers have come, and once more when the request has. An answer to the first call ends the
// connection and leaves the body, if there is one, unread: that is for what is refused.
bool Http::answer(MHD_Connection* to, const std::string& method, const std::string& path, bool first) {
  if (const auto admitted = admit(to); !admitted) {
    ++tally_->refused;  // and it stays a stranger
    return reply(to, MHD_HTTP_FORBIDDEN, "refused: " + admitted.error().what + '\n', type_of_words, true);
  }
  if (Connection* connection = find(to)) *connection = {State::answering, now_ns(), connection->cut};
  const auto refuse = [&](unsigned status, const char* words) {
    ++tally_->refused;
    return reply(to, status, words, type_of_words, true);
  };
  if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
    return refuse(MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
  if (has_body(to)) return refuse(MHD_HTTP_CONTENT_TOO_LARGE, "a request has no body here\n");
  if (first) return true;
  if (path == "/-/healthy" || path == "/-/ready") return reply(to, MHD_HTTP_OK, "ok\n", type_of_words, false);
  if (path != "/metrics") return refuse(MHD_HTTP_NOT_FOUND, "there is /metrics\n");
  ++tally_->answered;
  return reply(to, MHD_HTTP_OK, settings_.page(), type_of_metrics, false);
}

}  // namespace ringtrue::scrape
