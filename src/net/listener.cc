#include "net/listener.h"

#include <fmt/format.h>
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/server_credentials.h>
#include <malloc.h>
#include <muster/v1/federation.grpc.pb.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "net/frame_points.h"
#include "net/grpc_channel.h"
#include "net/grpc_setup.h"

namespace muster {
namespace {

// Buffers stay with a connection, and there may be thousands of them: of one read, and of one record that TLS writes.
// Larger ones did not make transfers of models measurably faster.
constexpr int kMostReadBytes = 8192;
constexpr int kRecordBytes = 8192;

using Reactor = grpc::ServerBidiReactor<v1::Frame, v1::Frame>;

constexpr int kStreamsPerConnection = 4;
constexpr int kLongestPauseMs = 60000;

// Of glibc's heap: with one for each of gRPC's threads, as is usual, what handshakes leave free takes 15 KB more for
// every connection.
constexpr int kArenas = 2;

gpr_timespec in(std::chrono::milliseconds time) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(time.count(), GPR_TIMESPAN));
}

// One stream, from its first frame to its last; deletes itself.
class ServedStream final : public Reactor, public StreamEnd {
 public:
  explicit ServedStream(grpc::CallbackServerContext* context) : context_(context) { open_->stream = this; }

  // Before anything is read: `user` takes what comes.
  void begin(std::shared_ptr<GrpcChannel> channel, std::shared_ptr<ChannelUser> user,
             std::chrono::milliseconds silence) {
    channel_ = std::move(channel);
    user_ = std::move(user);
    later(silence, [](ServedStream& stream) {
      if (!stream.heard_) stream.context_->TryCancel();
    });
    channel_->attach(*this);
    StartRead(&frame_);
  }
  void refuse(const std::string& why) { Finish({grpc::StatusCode::PERMISSION_DENIED, why}); }

  void OnReadDone(bool ok) override {
    if (!ok) return channel_->close();  // the peer has nothing more to say
    heard_ = true;
    const FramePoints points(frame_);
    user_->received(std::move(frame_));
    frame_ = {};
    const std::chrono::milliseconds pause = channel_->take_pause();
    if (pause.count() <= 0) return StartRead(&frame_);
    later(std::min(pause, std::chrono::milliseconds(kLongestPauseMs)),
          [](ServedStream& stream) { stream.StartRead(&stream.frame_); });
  }
  void OnWriteDone(bool ok) override { ok ? channel_->wrote() : channel_->broke(); }
  void OnCancel() override {
    if (channel_) channel_->close();
  }
  void OnDone() override {
    if (channel_) channel_->detach();
    if (user_) user_->closed(heard_ || !channel_ ? "the connection ended" : "it said nothing");
    delete this;
  }

  void start_write(const v1::Frame& frame) override { StartWrite(&frame); }
  void start_close() override {
    {
      const std::lock_guard lock(open_->mutex);
      open_->stream = nullptr;
    }
    Finish(grpc::Status::OK);
  }
  void abort() override { context_->TryCancel(); }

 private:
  // The stream for whoever comes back to it later; null once it is being finished. Until then gRPC keeps it.
  struct Open {
    std::mutex mutex;
    ServedStream* stream = nullptr;
  };

  // Unless the stream has ended by then.
  void later(std::chrono::milliseconds wait, void (*work)(ServedStream&)) {
    auto alarm = std::make_shared<grpc::Alarm>();
    alarm->Set(in(wait), [open = open_, work, alarm](bool) mutable {
      const std::shared_ptr<grpc::Alarm> own = std::move(alarm);  // goes with the call
      const std::lock_guard lock(open->mutex);
      if (open->stream) work(*open->stream);
    });
  }

  grpc::CallbackServerContext* context_;
  std::shared_ptr<Open> open_ = std::make_shared<Open>();
  std::atomic<bool> heard_{false};
  std::shared_ptr<GrpcChannel> channel_;
  std::shared_ptr<ChannelUser> user_;
  v1::Frame frame_;
};

class GrpcListener final : public Listener, v1::Federation::CallbackService {
 public:
  explicit GrpcListener(Options options) : options_(std::move(options)) {}

  ~GrpcListener() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(3));
  }

  Status listen() {
    grpc::ServerBuilder builder;
    std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
    if (!options_.credentials.plain()) {
      grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
      tls.pem_root_certs = options_.credentials.authority;
      tls.pem_key_cert_pairs.push_back({options_.credentials.key, options_.credentials.certificate});
      credentials = grpc::SslServerCredentials(tls);
    }
    builder.AddListeningPort(options_.address, credentials, &port_);
    builder.RegisterService(this);
    builder.SetMaxReceiveMessageSize(kMostFrameBytes);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingEveryMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kPingEveryMs / 2);
    builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kMostReadBytes);
    const auto silence_ms = static_cast<int>(options_.silence.count());
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, silence_ms);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, silence_ms);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
    builder.AddChannelArgument(GRPC_ARG_TSI_MAX_FRAME_SIZE, kRecordBytes);
    builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);  // a diary of every connection that nobody reads
    builder.AddChannelArgument(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // two clouds at one address are a mistake
    server_ = builder.BuildAndStart();
    if (!server_ || port_ == 0) {
      return failure("--listen {}: cannot listen there; is the address this machine's, and the port free?",
                     options_.address);
    }
    return {};
  }

  int port() const override { return port_; }

 private:
  Reactor* Attach(grpc::CallbackServerContext* context) override {
    auto* const stream = new ServedStream(context);
    std::string certificate;
    if (!options_.credentials.plain()) {
      for (const grpc::string_ref& one :
           context->auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME)) {
        certificate.assign(one.data(), one.size());
      }
    }
    auto channel = std::make_shared<GrpcChannel>();
    Result<std::shared_ptr<ChannelUser>> user = options_.attach(certificate, context->peer(), channel);
    if (user) {
      stream->begin(std::move(channel), std::move(user).value(), options_.silence);
    } else {
      if (options_.say) {
        options_.say(
            {.line = fmt::format("{} is refused: {}", context->peer(), user.error().message), .peer = context->peer()});
      }
      stream->refuse(user.error().message);
    }
    return stream;
  }

  Options options_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

Result<std::unique_ptr<Listener>> Listener::start(Options options) {
  set_up_grpc(options.say);
  ::mallopt(M_ARENA_MAX, kArenas);
  auto made = std::make_unique<GrpcListener>(std::move(options));
  MUSTER_TRY(made->listen());
  return std::unique_ptr<Listener>(std::move(made));
}

}  // namespace muster
