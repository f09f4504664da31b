// Listener: takes the streams of peers that dial, over mutual TLS.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/net_credentials.h"
#include "wire/channel.h"
#include "wire/wire_note.h"

namespace muster {

class Listener {
 public:
  struct Options {
    std::string address;  // host:port; port 0: any
    NetCredentials credentials;
    // Takes a peer: its certificate as PEM (empty over plain text), its address, and its channel. An error is why it is
    // refused. Called by threads of gRPC.
    std::function<Result<std::shared_ptr<ChannelUser>>(const std::string& certificate, const std::string& address,
                                                       std::shared_ptr<Channel> channel)>
        attach;
    SayNote say;
    // Whoever opens a connection or a stream and says nothing for so long is sent away.
    std::chrono::milliseconds silence{10000};
  };

  [[nodiscard]] static Result<std::unique_ptr<Listener>> start(Options options);
  // Closes all streams, those that do not end in a few seconds by force.
  virtual ~Listener() = default;

  [[nodiscard]] virtual int port() const = 0;
};

}  // namespace muster
