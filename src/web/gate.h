// Gate: who may look. A page that listens on loopback answers only to names of loopback, so that no web site can have a
// browser call it by a name of its own (DNS rebinding). Where there is a token, data are for those who gave it once, in
// a header; from then on they have a cookie. Scripts, styles and the empty page itself are for everybody.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "web/web_listener.h"
#include "web/wrong_tokens.h"

namespace muster {

// "127.0.0.1", "::1", "localhost" and all else that never leaves this machine.
[[nodiscard]] bool is_loopback(const std::string& address);

// Fails unless the text is fit to be a token: 16 to 512 visible ASCII characters. `where` names its origin.
[[nodiscard]] Status check_token(const std::string& text, const std::string& where);
// The token of a file, or of the environment if `file` is empty (`variable` is the value of MUSTER_UI_TOKEN; may be
// null); "": there is none.
[[nodiscard]] Result<std::string> read_token(const std::string& file, const char* variable);

// Whether two texts are the same, in a time that does not depend on where they differ.
[[nodiscard]] bool same_secret(const std::string& a, const std::string& b);

// Thread-safe.
class Gate {
 public:
  // `token` "": everybody who can reach the address may look. `secret`: what the cookie holds; random.
  Gate(std::string token, std::string secret, bool loopback);
  // The cookie's name has the port in it: cookies know no ports.
  void set_port(std::uint16_t port);

  // Nothing, or the answer that the request gets instead of its own: a foreign name, another site's page.
  [[nodiscard]] std::optional<WebAnswer> turn_away(const WebRequest& request) const;
  // The same of a request for data: 401 without the token or the cookie, 429 after wrong tokens.
  [[nodiscard]] std::optional<WebAnswer> refuse_data(const WebRequest& request, double now_s);
  // The answer to a request that brings the token to get the cookie.
  [[nodiscard]] WebAnswer sign_in(const WebRequest& request, double now_s);

 private:
  enum class Brought { kNothing, kToken, kWrongToken };
  [[nodiscard]] Brought brought(const WebRequest& request) const;
  [[nodiscard]] bool has_cookie(const WebRequest& request) const;
  // Of a request with a token, right or wrong; none: it is right.
  [[nodiscard]] std::optional<WebAnswer> judge_token(const WebRequest& request, bool right, double now_s);

  const std::string token_;
  const std::string secret_;
  const bool loopback_;
  std::string cookie_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  WrongTokens wrong_;  // guarded by mutex_
};

}  // namespace muster
