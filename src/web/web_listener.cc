#include "web/web_listener.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"

namespace muster {
namespace {

constexpr std::size_t kMostHeadBytes = 32 * 1024;  // of a request, its line and headers together
constexpr std::uint32_t kMostRequests = 200;       // of a connection

constexpr std::string_view kTooMany =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 2\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

// Whether the socket is ready for `events` before `until`; looks every fifth of a second whether to stop.
bool ready(int socket, short events, double until, const std::function<bool()>& stopping) {
  while (true) {
    const double left = until - now_s();
    if (left <= 0 || stopping()) return false;
    pollfd asked{.fd = socket, .events = events, .revents = 0};
    const int found = ::poll(&asked, 1, static_cast<int>(1000 * std::min(left, 0.2)) + 1);
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
}

// A connection as the library sees it, for one request and its answer. However slowly a peer sends, a request is there
// within its time, or never; whatever it sends, it stays below so many bytes.
class BoundedStream final : public httplib::Stream {
 public:
  BoundedStream(int socket, const WebListenerOptions& options, const std::function<bool()>& stopping)
      : socket_(socket), options_(options), stopping_(stopping), read_until_(now_s() + options.request_s) {}

  bool is_readable() const override { return at_ < size_ || ready(socket_, POLLIN, read_until_, stopping_); }
  bool is_writable() const override {
    return !left() && ready(socket_, POLLOUT, now_s() + options_.write_s, stopping_);
  }

  ssize_t read(char* target, size_t size) override {
    if (at_ == size_ && !fill()) return -1;
    const std::size_t taken = std::min(size, size_ - at_);
    std::copy_n(buffer_ + at_, taken, target);
    at_ += taken;
    return static_cast<ssize_t>(taken);
  }

  ssize_t write(const char* data, size_t size) override {
    const double until = now_s() + options_.write_s;
    for (std::size_t sent = 0; sent < size;) {
      if (!ready(socket_, POLLOUT, until, stopping_)) return -1;
      const ssize_t count = ::send(socket_, data + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno != EAGAIN && errno != EINTR) return -1;
      if (count > 0) sent += static_cast<std::size_t>(count);
    }
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override { name(::getpeername, ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { name(::getsockname, ip, port); }
  socket_t socket() const override { return socket_; }

  // What came after the request: whoever asks in a row gets no answer to the next one, and asks again.
  [[nodiscard]] bool has_rest() const { return at_ < size_; }

 private:
  // The peer has closed its side.
  bool left() const {
    char next;
    return ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }

  bool fill() {
    if (total_ >= kMostHeadBytes || !ready(socket_, POLLIN, read_until_, stopping_)) return false;
    const ssize_t count = ::recv(socket_, buffer_, sizeof buffer_, 0);
    if (count <= 0) return false;
    at_ = 0;
    size_ = static_cast<std::size_t>(count);
    total_ += size_;
    return true;
  }

  template <typename Function>
  void name(Function function, std::string& ip, int& port) const {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    char text[INET6_ADDRSTRLEN] = {};
    if (function(socket_, reinterpret_cast<sockaddr*>(&address), &length) != 0) return;
    if (address.ss_family == AF_INET) {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
      ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
      port = ntohs(v4->sin_port);
    } else if (address.ss_family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
      ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
      port = ntohs(v6->sin6_port);
    }
    ip = text;
  }

  int socket_;
  const WebListenerOptions& options_;
  const std::function<bool()>& stopping_;
  double read_until_;
  char buffer_[4096];
  std::size_t at_ = 0, size_ = 0, total_ = 0;
};

// A thread for each connection, as many as there may be; one more is turned away by the thread that accepts.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  ConnectionThreads(std::uint32_t most, int niceness) : most_(most), niceness_(niceness) {}

  void enqueue(std::function<void()> serve) override {
    std::unique_lock lock(mutex_);
    if (count_ >= most_) {
      lock.unlock();
      turned_away() = true;
      serve();
      turned_away() = false;
      return;
    }
    ++count_;
    std::thread([this, serve = std::move(serve)] {
      if (niceness_ > 0) ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), niceness_);
      serve();
      const std::lock_guard done(mutex_);
      --count_;
      ended_.notify_all();
    }).detach();
  }

  void shutdown() override {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return count_ == 0; });
  }

  static bool& turned_away() {
    thread_local bool away = false;
    return away;
  }

 private:
  const std::uint32_t most_;
  const int niceness_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::uint32_t count_ = 0;
};

std::string first(const httplib::Request& request, const char* header) {
  return request.get_header_value(header);
}

WebRequest to_request(const httplib::Request& request) {
  WebRequest out{.path = request.path, .peer = request.remote_addr};
  for (const auto& [name, value] : request.params) out.query.emplace(name, value);
  out.host = first(request, "Host");
  out.authorization = first(request, "Authorization");
  out.cookie = first(request, "Cookie");
  out.if_none_match = first(request, "If-None-Match");
  out.last_event_id = first(request, "Last-Event-ID");
  out.fetch_site = first(request, "Sec-Fetch-Site");
  out.fetch_mode = first(request, "Sec-Fetch-Mode");
  return out;
}

void give(WebAnswer&& answer, httplib::Response& response) {
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  if (!answer.stream) {
    if (answer.status != 204 && answer.status != 304) response.set_content(answer.body, answer.type);
    return;
  }
  response.set_chunked_content_provider(
      answer.type, [stream = std::move(answer.stream)](std::size_t, httplib::DataSink& sink) {
        const StreamWrite write = [&sink](std::string_view piece) {
          return sink.is_writable() && (piece.empty() || sink.write(piece.data(), piece.size()));
        };
        if (!stream(write)) sink.done();
        return true;
      });
}

class BoundedListener final : public WebListener, private httplib::Server {
 public:
  BoundedListener(const WebListenerOptions& options, Answer answer) : options_(options) {
    new_task_queue = [this] { return new ConnectionThreads(options_.connections, options_.niceness); };
    set_keep_alive_max_count(kMostRequests);
    set_keep_alive_timeout(static_cast<time_t>(options.idle_s));
    set_tcp_nodelay(true);
    // Not the library's SO_REUSEPORT, which lets a second process take the port, too.
    set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    // Before the library matches anything, and instead of it.
    set_pre_routing_handler([answer = std::move(answer)](const httplib::Request& request, httplib::Response& response) {
      if (request.method != "GET" && request.method != "HEAD") {
        give({.status = 405, .body = "this page is for looking only\n", .headers = {{"Allow", "GET, HEAD"}}}, response);
      } else {
        give(answer(to_request(request)), response);
      }
      return httplib::Server::HandlerResponse::Handled;
    });
    set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
      give({.status = 500, .body = "that went wrong\n"}, response);
    });
  }

  ~BoundedListener() override {
    stopping_ = true;
    if (!thread_.joinable()) return;
    stop();
    thread_.join();
  }

  Status listen() {
    if (options_.port == 0) {
      port_ = bind_to_any_port(options_.address);
    } else if (bind_to_port(options_.address, options_.port)) {
      port_ = options_.port;
    }
    if (port_ <= 0) {
      return failure("cannot listen on {}, port {}: the port is taken, or the address is not this machine's",
                     options_.address, options_.port);
    }
    thread_ = std::thread([this] { listen_after_bind(); });
    // stop() does nothing to a server that does not run yet.
    while (!is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {};
  }

  std::uint16_t port() const override { return static_cast<std::uint16_t>(port_); }

 private:
  bool process_and_close_socket(socket_t socket) override {
    if (ConnectionThreads::turned_away()) {
      [[maybe_unused]] const auto sent = ::send(socket, kTooMany.data(), kTooMany.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    } else {
      serve(socket);
    }
    ::shutdown(socket, SHUT_RDWR);
    return ::close(socket) == 0;
  }

  void serve(int socket) {
    const std::function<bool()> stopping = [this] { return stopping_.load(); };
    for (std::uint32_t count = 1; count <= kMostRequests; ++count) {
      if (!ready(socket, POLLIN, now_s() + options_.idle_s, stopping)) return;
      BoundedStream stream(socket, options_, stopping);
      bool closed = false;
      bool last = count == kMostRequests;
      const bool answered = process_request(stream, last, closed, [&](httplib::Request& request) {
        request.ranges.clear();  // answers are given whole
        // What follows is a body, which nobody reads.
        last = last || request.has_header("Content-Length") || request.has_header("Transfer-Encoding") ||
               (request.method != "GET" && request.method != "HEAD");
      });
      if (!answered || closed || last || stream.has_rest()) return;
    }
  }

  const WebListenerOptions options_;
  std::atomic<bool> stopping_ = false;
  int port_ = -1;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<WebListener>> WebListener::start(const WebListenerOptions& options, Answer answer) {
  auto listener = std::make_unique<BoundedListener>(options, std::move(answer));
  MUSTER_TRY(listener->listen());
  return std::unique_ptr<WebListener>(std::move(listener));
}

}  // namespace muster
