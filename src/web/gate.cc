#include "web/gate.h"

#include <arpa/inet.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/file.h"

namespace muster {
namespace {

constexpr std::size_t kLeastToken = 16;
constexpr std::size_t kMostToken = 512;

// "name:port" and "[v6]:port" without the port; "" if it is neither.
std::string host_name(std::string host) {
  const auto colon = host.rfind(':');
  if (colon != std::string::npos && host.find(']', colon) == std::string::npos) {
    if (host.find_first_not_of("0123456789", colon + 1) != std::string::npos) return {};
    host.resize(colon);
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  std::transform(host.begin(), host.end(), host.begin(), [](unsigned char c) { return std::tolower(c); });
  return host;
}

}  // namespace

bool is_loopback(const std::string& address) {
  in_addr v4{};
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  if (::inet_pton(AF_INET6, address.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return address == "localhost";
}

Status check_token(const std::string& text, const std::string& where) {
  const bool visible = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (text.size() >= kLeastToken && text.size() <= kMostToken && visible) return {};
  return usage_error("{}: no token; want one line of {} to {} visible ASCII characters, e.g. of `openssl rand -hex 24`",
                     where, kLeastToken, kMostToken);
}

Result<std::string> read_token(const std::string& file, const char* variable) {
  std::string token = variable ? variable : "";
  if (file.empty() && token.empty()) return token;
  if (!file.empty()) {
    MUSTER_ASSIGN(const auto bytes, read_file(file, 4096));
    token.assign(bytes.begin(), bytes.end());
  }
  token.resize(token.find_last_not_of("\r\n") + 1);
  MUSTER_TRY(check_token(token, file.empty() ? std::string("MUSTER_UI_TOKEN") : "--token-file " + file));
  return token;
}

bool same_secret(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const unsigned other = b.empty() ? 0u : static_cast<unsigned char>(b[i % b.size()]);
    difference |= static_cast<unsigned char>(a[i]) ^ other;
  }
  return difference == 0;
}

Gate::Gate(std::string token, std::string secret, bool loopback)
    : token_(std::move(token)), secret_(std::move(secret)), loopback_(loopback) {}

void Gate::set_port(std::uint16_t port) {
  port_ = port;
  cookie_ = fmt::format("muster-{}", port);
}

std::optional<WebAnswer> Gate::turn_away(const WebRequest& request) const {
  // Elsewhere the token keeps others out: a name of somebody else's has no cookie.
  if (loopback_ && !is_loopback(host_name(request.host))) {
    return WebAnswer{.status = 421, .body = fmt::format("this page is at http://127.0.0.1:{}/\n", port_)};
  }
  // A link may lead here from anywhere; another site's scripts and pictures may not ask.
  if (request.fetch_site == "cross-site" && request.fetch_mode != "navigate") {
    return WebAnswer{.status = 403, .body = "not for other sites\n"};
  }
  return std::nullopt;
}

bool Gate::has_cookie(const WebRequest& request) const {
  const std::string& header = request.cookie;
  for (std::size_t at = 0; at < header.size();) {
    std::size_t end = header.find(';', at);
    if (end == std::string::npos) end = header.size();
    while (at < end && header[at] == ' ') ++at;
    const std::string one = header.substr(at, end - at);
    if (one.starts_with(cookie_ + "=") && same_secret(one.substr(cookie_.size() + 1), secret_)) return true;
    at = end + 1;
  }
  return false;
}

Gate::Brought Gate::brought(const WebRequest& request) const {
  constexpr std::string_view kBearer = "Bearer ";
  if (!request.authorization.starts_with(kBearer)) return Brought::kNothing;
  return same_secret(request.authorization.substr(kBearer.size()), token_) ? Brought::kToken : Brought::kWrongToken;
}

// While a peer has to wait, its token is not looked at, right or wrong: else it could go on guessing.
std::optional<WebAnswer> Gate::judge_token(const WebRequest& request, bool right, double now_s) {
  const std::lock_guard lock(mutex_);
  if (const std::uint32_t wait = wrong_.wait_s(request.peer, now_s); wait > 0) {
    return WebAnswer{.status = 429,
                     .body = fmt::format("too many wrong tokens; try again in {} s\n", wait),
                     .headers = {{"Retry-After", std::to_string(wait)}}};
  }
  if (right) {
    wrong_.add_right(request.peer);
    return std::nullopt;
  }
  wrong_.add_wrong(request.peer, now_s);
  return WebAnswer{.status = 401, .body = "that is not the token\n", .headers = {{"WWW-Authenticate", "Bearer"}}};
}

std::optional<WebAnswer> Gate::refuse_data(const WebRequest& request, double now_s) {
  if (token_.empty() || has_cookie(request)) return std::nullopt;
  const Brought found = brought(request);
  if (found == Brought::kNothing) {
    return WebAnswer{.status = 401, .body = "this page wants its token\n", .headers = {{"WWW-Authenticate", "Bearer"}}};
  }
  return judge_token(request, found == Brought::kToken, now_s);
}

WebAnswer Gate::sign_in(const WebRequest& request, double now_s) {
  if (token_.empty()) return {.status = 204};
  const Brought found = brought(request);
  if (found == Brought::kNothing) {
    return {.status = 401, .body = "this page wants its token\n", .headers = {{"WWW-Authenticate", "Bearer"}}};
  }
  if (auto refused = judge_token(request, found == Brought::kToken, now_s)) return std::move(*refused);
  return {.status = 204,
          .headers = {{"Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", cookie_, secret_)}}};
}

}  // namespace muster
