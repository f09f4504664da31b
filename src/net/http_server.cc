#include "net/http_server.h"

#include <httplib.h>

#include <chrono>
#include <thread>

namespace muster {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr std::size_t kThreads = 2;
constexpr auto kPatience = std::chrono::seconds(2);  // with a peer that reads or writes slowly

class LoopbackServer final : public HttpServer {
 public:
  explicit LoopbackServer(Answer answer) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_keep_alive_max_count(1);  // so that nobody holds a thread between two questions
    server_.set_read_timeout(kPatience);
    server_.set_write_timeout(kPatience);
    server_.set_payload_max_length(0);
    // Not the library's SO_REUSEPORT, which lets a second process take the port, too.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.Get(".*", [answer = std::move(answer)](const httplib::Request& request, httplib::Response& response) {
      HttpAnswer given = answer(request.path);
      response.status = given.status;
      response.set_content(given.body, given.type);
    });
  }

  ~LoopbackServer() override {
    if (!thread_.joinable()) return;
    server_.stop();
    thread_.join();
  }

  Status listen(std::uint16_t port) {
    if (port == 0) {
      port_ = server_.bind_to_any_port(kLoopback);
    } else if (server_.bind_to_port(kLoopback, port)) {
      port_ = port;
    }
    if (port_ <= 0) return failure("cannot listen on {}:{}: the port is taken, or not allowed", kLoopback, port);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // stop() does nothing to a server that does not run yet.
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {};
  }

  int port() const override { return port_; }

 private:
  httplib::Server server_;
  int port_ = -1;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(std::uint16_t port, Answer answer) {
  auto server = std::make_unique<LoopbackServer>(std::move(answer));
  MUSTER_TRY(server->listen(port));
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace muster
