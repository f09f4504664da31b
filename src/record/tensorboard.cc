#include "record/tensorboard.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
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

double now_of_clock_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The fields of tensorflow.Event that every event has.
ProtobufMessage event_at(std::uint32_t round) {
  ProtobufMessage event;
  // wall_time, step
  event.float64(1, now_of_clock_s());
  event.integer(2, round);
  return event;
}

// An Event with a Summary of this one Value.
ProtobufMessage summary_event(std::uint32_t round, const ProtobufMessage& value) {
  ProtobufMessage summary;
  summary.message(1, value);
  ProtobufMessage event = event_at(round);
  event.message(5, summary);
  return event;
}

// google.protobuf.Value
ProtobufMessage typed_value(const std::string& text) {
  ProtobufMessage value;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text == "true" || text == "false") {
    value.integer(4, text == "true");
  } else if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number)) {
    value.float64(2, number);
  } else {
    value.bytes(3, text);
  }
  return value;
}

// What the hyperparameters plugin reads: its own message in the metadata of an empty tensor.
ProtobufMessage hparams_event(std::string_view tag, std::uint32_t field, const ProtobufMessage& content) {
  constexpr std::int64_t kFloat = 1;        // DT_FLOAT
  constexpr std::int64_t kTensorClass = 2;  // DATA_CLASS_TENSOR
  ProtobufMessage data;                     // HParamsPluginData; its version is 0, which is not written
  data.message(field, content);
  ProtobufMessage plugin;
  plugin.bytes(1, "hparams");
  plugin.bytes(2, data.wire());
  ProtobufMessage metadata;
  metadata.message(1, plugin);
  metadata.integer(4, kTensorClass);
  ProtobufMessage empty;  // a shape of one dimension of size 0
  empty.message(2, ProtobufMessage());
  ProtobufMessage tensor;
  tensor.integer(1, kFloat);
  tensor.message(2, empty);
  ProtobufMessage value;
  value.bytes(1, tag);
  value.message(8, tensor);
  value.message(9, metadata);
  return summary_event(0, value);
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
  return add(summary_event(round, point));
}

Status EventWriter::add(const ProtobufMessage& event) {
  append_record(file_->buffer, event);
  return file_->buffer.size() < kBufferBytes ? Status() : flush();
}

Status EventWriter::image(std::uint32_t round, std::string_view tag, std::string_view png) {
  constexpr std::size_t kSizes = 16;  // width and height follow the signature and the first chunk's head
  if (png.size() < kSizes + 8) return failure("a picture of {} bytes", png.size());
  const auto size_at = [&](std::size_t at) {
    std::int64_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<std::uint8_t>(png[at + i]);
    return size;
  };
  ProtobufMessage picture;
  picture.integer(1, size_at(kSizes + 4));  // height
  picture.integer(2, size_at(kSizes));      // width
  picture.integer(3, 3);                    // RGB
  picture.bytes(4, png);
  ProtobufMessage value;
  value.bytes(1, tag);
  value.message(4, picture);
  return add(summary_event(round, value));
}

Status EventWriter::begin_session(const std::map<std::string, std::string>& keys) {
  ProtobufMessage start;  // SessionStartInfo
  for (const auto& [key, text] : keys) {
    ProtobufMessage entry;
    entry.bytes(1, key);
    entry.message(2, typed_value(text));
    start.message(1, entry);
  }
  start.float64(5, now_of_clock_s());
  return add(hparams_event("_hparams_/session_start_info", 3, start));
}

Status EventWriter::end_session() {
  ProtobufMessage end;  // SessionEndInfo
  end.integer(1, 1);    // STATUS_SUCCESS
  end.float64(2, now_of_clock_s());
  return add(hparams_event("_hparams_/session_end_info", 4, end));
}

Status EventWriter::flush() {
  return file_->flush();
}

const std::filesystem::path& EventWriter::path() const {
  return file_->path;
}

}  // namespace muster
