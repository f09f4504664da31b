// RawPeer: a connection to a port of loopback that sends whatever a test wants, well-formed or not.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>

namespace muster {

class RawPeer {
 public:
  explicit RawPeer(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawPeer() { ::close(socket_); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] int socket() const { return socket_; }
  bool send(std::string_view text) const {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }

  // All that comes until the peer closes, `until` has come, or so many seconds have passed.
  std::string read(double seconds = 5, std::string_view until = "") {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::string all;
    while (until.empty() || all.find(until) == std::string::npos) {
      const double left = std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
      pollfd asked{.fd = socket_, .events = POLLIN, .revents = 0};
      if (left <= 0 || ::poll(&asked, 1, static_cast<int>(1000 * left) + 1) <= 0) break;
      char piece[4096];
      const ssize_t count = ::recv(socket_, piece, sizeof piece, 0);
      if (count <= 0) {
        closed_ = true;
        break;
      }
      all.append(piece, static_cast<std::size_t>(count));
    }
    return all;
  }
  // The other side has closed it.
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  int socket_;
  bool connected_ = false;
  bool closed_ = false;
};

// One request of its own connection, with these further headers, each with its line end; all of the answer.
inline std::string http_get(int port, const std::string& path, const std::string& headers = "",
                            const std::string& method = "GET", const std::string& host = "127.0.0.1") {
  RawPeer peer(port);
  peer.send(method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n" + headers + "\r\n");
  return peer.read(20);
}

inline int http_status(const std::string& answer) {
  return answer.size() > 12 && answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
}

inline std::string http_body(const std::string& answer) {
  const auto at = answer.find("\r\n\r\n");
  return at == std::string::npos ? std::string() : answer.substr(at + 4);
}

// The value of a header; "": it is not there.
inline std::string http_header(const std::string& answer, const std::string& name) {
  const auto at = answer.find("\r\n" + name + ": ");
  if (at == std::string::npos || at > answer.find("\r\n\r\n")) return {};
  const auto begin = at + name.size() + 4;
  return answer.substr(begin, answer.find("\r\n", begin) - begin);
}

}  // namespace muster
