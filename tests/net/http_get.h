// One GET over loopback, as plain as it can be: not by the library that the server is made with.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace muster {

struct HttpGot {
  int status = 0;  // 0: nobody answered
  std::string head;
  std::string body;
};

// What a server on the address (host:port, IPv4) says to the request, which is whole.
inline HttpGot http_say(const std::string& address, const std::string& request) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  EXPECT_EQ(::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr), 1) << address;
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  HttpGot got;
  std::string all;
  if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 &&
      ::send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char part[4096];
    for (ssize_t size = 0; (size = ::recv(socket, part, sizeof part, 0)) > 0;)
      all.append(part, static_cast<std::size_t>(size));
  }
  ::close(socket);
  const std::size_t end = all.find("\r\n\r\n");
  if (all.starts_with("HTTP/1.1 ") && end != std::string::npos) {
    got = {std::atoi(all.c_str() + 9), all.substr(0, end), all.substr(end + 4)};
  }
  return got;
}

inline HttpGot http_get(const std::string& address, const std::string& path) {
  return http_say(address, "GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\n\r\n");
}

}  // namespace muster
