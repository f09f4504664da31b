// HttpServer: answers GET on a port of this machine's loopback, for whoever watches a process. Nothing is accepted from
// other machines, and nothing can be changed through it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace muster {

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpServer {
 public:
  // Answers a path; called by threads of the server, several at a time. Whoever made it outlives the server.
  using Answer = std::function<HttpAnswer(const std::string& path)>;

  // `port` 0: any. Fails if the port is taken.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(std::uint16_t port, Answer answer);
  // Waits for answers that are being given, a few seconds at most.
  virtual ~HttpServer() = default;

  [[nodiscard]] virtual int port() const = 0;
};

}  // namespace muster
