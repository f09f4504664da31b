// WebListener: answers GET and HEAD on one address, within bounds that no peer can stretch: connections, bytes and
// seconds of a request, seconds that an answer may wait for its reader. Only web_listener.cc knows the HTTP library.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

struct WebRequest {
  std::string path;                          // decoded, as it came
  std::map<std::string, std::string> query;  // the first of each name
  std::string peer;                          // its address
  std::string host;                          // what follows are headers; empty = not sent
  std::string authorization;
  std::string cookie;
  std::string if_none_match;
  std::string last_event_id;
  std::string fetch_site;
  std::string fetch_mode;
};

// Writes a piece of a stream; false: the peer is gone, or does not read. "" only asks.
using StreamWrite = std::function<bool(std::string_view piece)>;

struct WebAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::map<std::string, std::string> headers = {};
  // Of a stream, instead of a body: called again and again until it returns false; the first call comes at once. It
  // waits for whatever it has to tell, and returns at least every second, so that the listener can stop.
  std::function<bool(const StreamWrite& write)> stream = {};
};

struct WebListenerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any
  std::uint32_t connections = 64;
  double request_s = 10;  // that a peer may take to send a request
  double write_s = 10;    // that it may take to read what was written
  double idle_s = 5;      // that it may keep a connection without asking
  int niceness = 0;       // of the threads that answer
};

class WebListener {
 public:
  // Called by threads of the listener, several at a time.
  using Answer = std::function<WebAnswer(const WebRequest& request)>;

  // Fails if the address cannot be listened on.
  [[nodiscard]] static Result<std::unique_ptr<WebListener>> start(const WebListenerOptions& options, Answer answer);
  // Ends all connections, within a second or so.
  virtual ~WebListener() = default;

  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

}  // namespace muster
