#include "record/tensorboard.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "base/file.h"
#include "record/protobuf_message.h"

namespace muster {
namespace {

static_assert(std::endian::native == std::endian::little, "event files hold little-endian numbers");

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

// CRC-32C (Castagnoli), reflected, as the record framing asks for.
std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0x82f63b78u : 0u);
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

// Masked, so that a checksum over data that contains checksums stays strong.
std::uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

template <typename T>
void append_fixed(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The fields of tensorflow.Event that every event has.
ProtobufMessage event_at(std::uint32_t round) {
  ProtobufMessage event;
  // wall_time, step
  event.float64(1, std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  event.integer(2, round);
  return event;
}

void append_record(std::string& out, const ProtobufMessage& message) {
  const std::string& event = message.wire();
  std::string length;
  append_fixed(length, std::uint64_t{event.size()});
  out += length;
  append_fixed(out, masked_crc(length));
  out += event;
  append_fixed(out, masked_crc(event));
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  std::string host = name;
  for (char& c : host) {
    if (c == '/') c = '-';
  }
  return host;
}

}  // namespace

struct EventWriter::File {
  std::filesystem::path path;
  int descriptor = -1;
  std::string buffer;

  ~File() {
    static_cast<void>(flush());
    if (descriptor >= 0) ::close(descriptor);
  }

  Status flush() {
    std::size_t written = 0;
    while (written < buffer.size()) {
      const ssize_t n = ::write(descriptor, buffer.data() + written, buffer.size() - written);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        // What reached the file is dropped from the buffer, so that a later flush continues the same record.
        Error error = failure("{}: cannot write: {}", path.string(), std::strerror(errno));
        buffer.erase(0, written);
        return error;
      }
      written += static_cast<std::size_t>(n);
    }
    buffer.clear();
    return {};
  }
};

EventWriter::EventWriter(std::unique_ptr<File> file) : file_(std::move(file)) {}
EventWriter::EventWriter(EventWriter&&) noexcept = default;
EventWriter& EventWriter::operator=(EventWriter&&) noexcept = default;
EventWriter::~EventWriter() = default;

Result<EventWriter> EventWriter::open(const std::filesystem::path& folder, std::uint32_t first_round) {
  static std::atomic<std::uint32_t> files_opened{0};
  MUSTER_TRY(make_folder(folder));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  auto file = std::make_unique<File>();
  // TensorBoard reads the files of a folder in order of their names, so the time leads, padded to ten digits.
  file->path = folder / fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                                    std::chrono::duration_cast<std::chrono::seconds>(now).count(), host_name(),
                                    ::getpid(), files_opened++);
  file->descriptor = ::open(file->path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (file->descriptor < 0) {
    return failure("{}: cannot create: {}", file->path.string(), std::strerror(errno));
  }
  ProtobufMessage version = event_at(0);
  version.bytes(3, "brain.Event:2");  // file_version
  append_record(file->buffer, version);
  if (first_round > 1) {
    ProtobufMessage session;
    session.integer(1, 1);  // status: START
    ProtobufMessage start = event_at(first_round);
    start.message(7, session);  // session_log
    append_record(file->buffer, start);
  }
  EventWriter writer(std::move(file));
  MUSTER_TRY(writer.flush());
  return writer;
}

Status EventWriter::scalar(std::uint32_t round, std::string_view tag, double value) {
  ProtobufMessage point;
  point.bytes(1, tag);
  point.float32(2, static_cast<float>(value));  // simple_value
  ProtobufMessage summary;
  summary.message(1, point);
  ProtobufMessage event = event_at(round);
  event.message(5, summary);
  append_record(file_->buffer, event);
  return file_->buffer.size() < kBufferBytes ? Status() : flush();
}

Status EventWriter::flush() {
  return file_->flush();
}

const std::filesystem::path& EventWriter::path() const {
  return file_->path;
}

}  // namespace muster
