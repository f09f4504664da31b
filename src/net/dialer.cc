#include "net/dialer.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <muster/v1/federation.grpc.pb.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "net/frame_points.h"
#include "net/grpc_channel.h"
#include "net/grpc_setup.h"

namespace muster {
namespace {

constexpr int kConnectWithinMs = 10000;

// What a failed stream may mean. A handshake that failed looks like a peer that is not there.
std::string reason_of(const grpc::Status& status, const std::string& address) {
  if (status.ok()) return "the connection ended";
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    return fmt::format("{} cannot be reached, or one side refused the other's certificate ({})", address,
                       status.error_message());
  }
  return fmt::format("{}: {}", address, status.error_message());
}

// Connections whose streams have ended. The last one that goes joins gRPC's own threads, so none may go in one of them:
// they go when the next one is dialled.
class Retired {
 public:
  void add(std::unique_ptr<v1::Federation::Stub> stub) {
    const std::lock_guard lock(mutex_);
    stubs_.push_back(std::move(stub));
  }
  void clear() {
    std::vector<std::unique_ptr<v1::Federation::Stub>> old;
    {
      const std::lock_guard lock(mutex_);
      old.swap(stubs_);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<v1::Federation::Stub>> stubs_;
};

Retired& retired() {
  static auto* const connections = new Retired;  // lives as long as the process
  return *connections;
}

// One stream, from its first frame to its last; deletes itself.
class DialledStream final : public grpc::ClientBidiReactor<v1::Frame, v1::Frame>, public StreamEnd {
 public:
  DialledStream(std::string address, const std::shared_ptr<grpc::Channel>& connection)
      : address_(std::move(address)), stub_(v1::Federation::NewStub(connection)) {}

  void begin(const std::function<std::shared_ptr<ChannelUser>(std::shared_ptr<Channel>)>& attach) {
    channel_ = std::make_shared<GrpcChannel>();
    user_ = attach(channel_);
    context_.set_wait_for_ready(false);
    stub_->async()->Attach(&context_, this);
    AddHold();  // closing may come from any thread
    StartRead(&frame_);
    channel_->attach(*this);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      channel_->detach();
      return release();
    }
    const FramePoints points(frame_);
    user_->received(std::move(frame_));
    frame_ = {};
    StartRead(&frame_);
  }
  // One that failed is followed by the stream's status, which tells why: to cancel here could come before it.
  void OnWriteDone(bool ok) override { ok ? channel_->wrote() : channel_->broke(); }
  void OnDone(const grpc::Status& status) override {
    channel_->detach();
    retired().add(std::move(stub_));
    user_->closed(reason_of(status, address_));
    delete this;
  }

  void start_write(const v1::Frame& frame) override { StartWrite(&frame); }
  void start_close() override {
    StartWritesDone();
    release();
  }
  void abort() override { context_.TryCancel(); }

 private:
  // Nothing more is started from outside the reactor.
  void release() {
    if (!released_.exchange(true)) RemoveHold();
  }

  std::string address_;
  std::unique_ptr<v1::Federation::Stub> stub_;
  grpc::ClientContext context_;
  std::shared_ptr<GrpcChannel> channel_;
  std::shared_ptr<ChannelUser> user_;
  v1::Frame frame_;
  std::atomic<bool> released_{false};
};

}  // namespace

void dial(const std::string& address, const NetCredentials& credentials,
          const std::function<std::shared_ptr<ChannelUser>(std::shared_ptr<Channel>)>& attach) {
  set_up_grpc({});
  retired().clear();
  std::shared_ptr<grpc::ChannelCredentials> secured = grpc::InsecureChannelCredentials();
  if (!credentials.plain()) {
    secured = grpc::SslCredentials({credentials.authority, credentials.key, credentials.certificate});
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostFrameBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingEveryMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a dial is a new connection
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kConnectWithinMs);
  auto* const stream = new DialledStream(address, grpc::CreateCustomChannel(address, secured, arguments));
  stream->begin(attach);
}

}  // namespace muster
