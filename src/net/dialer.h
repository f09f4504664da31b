// Dialer: opens a stream to whoever listens, over mutual TLS.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/net_credentials.h"
#include "wire/channel.h"

namespace muster {

// Returns at once; that nobody is there is told to the user's closed(). `attach` gives the user of the new channel.
void dial(const std::string& address, const NetCredentials& credentials,
          const std::function<std::shared_ptr<ChannelUser>(std::shared_ptr<Channel>)>& attach);

}  // namespace muster
