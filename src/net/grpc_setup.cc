#include "net/grpc_setup.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <cstdlib>
#include <mutex>
#include <string_view>

namespace muster {
namespace {

struct Listening {
  std::mutex mutex;
  SayNote say;
};

Listening& listening() {
  static auto* const one = new Listening;  // gRPC's threads may outlive everything else
  return *one;
}

void take_line(gpr_log_func_args* args) {
  // Everything else is told where it happens.
  if (!std::string_view(args->message).starts_with("Handshake failed")) return;
  std::string_view text = args->message;
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.remove_suffix(1);
  const std::size_t detail = text.rfind("::");
  const std::lock_guard lock(listening().mutex);
  if (!listening().say) return;
  listening().say({.line = "a connection was refused: TLS says: " +
                           std::string(detail == std::string_view::npos ? text : text.substr(detail + 2))});
}

}  // namespace

void set_up_grpc(const SayNote& say) {
  static std::once_flag once;
  std::call_once(once, [] {
    // gRPC has no setting for the oldest version of TLS; with a single suite of TLS 1.2 that needs a shared key, which
    // nobody has, only TLS 1.3 is left.
    ::setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES256-GCM-SHA384", 1);
    // By this experiment gRPC reads into blocks of 64 KB, and every connection keeps two of them; see kMostReadBytes.
    ::setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", 0);
    gpr_set_log_function(take_line);
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    // protobuf writes of frames that it cannot read to stderr; their streams end, and that is told.
    google::protobuf::SetLogHandler(nullptr);
  });
  if (!say) return;
  const std::lock_guard lock(listening().mutex);
  listening().say = say;
}

}  // namespace muster
