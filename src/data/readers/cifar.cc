#include "data/readers/cifar.h"

#include <array>
#include <string>

#include "base/file.h"
#include "data/readers/found_file.h"

namespace muster {
namespace {

constexpr std::size_t kSide = 32;
constexpr std::size_t kPlane = kSide * kSide;
constexpr std::size_t kChannels = 3;

Status append_file(const std::filesystem::path& path, CifarKind kind, Samples& samples) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
  auto parsed = parse_cifar(bytes, kind);
  if (!parsed) return std::move(parsed).error().within(path.string());
  if (samples.size() == 0) {
    samples = std::move(*parsed);
  } else {
    samples.labels.insert(samples.labels.end(), parsed->labels.begin(), parsed->labels.end());
    samples.bytes.insert(samples.bytes.end(), parsed->bytes.begin(), parsed->bytes.end());
  }
  return {};
}

}  // namespace

Result<Samples> parse_cifar(std::span<const std::uint8_t> bytes, CifarKind kind) {
  const std::size_t label_bytes = kind == CifarKind::kCifar10 ? 1 : 2;
  const std::size_t record = label_bytes + kPlane * kChannels;
  if (bytes.empty()) return failure("empty file, want records of {} bytes", record);
  if (bytes.size() % record != 0) {
    return failure("{} bytes are not a whole number of records of {} bytes (truncated, or not CIFAR-{})", bytes.size(),
                   record, kind == CifarKind::kCifar10 ? 10 : 100);
  }
  Samples samples;
  samples.storage = Samples::Storage::kBytes;
  samples.shape = {kSide, kSide, kChannels};
  samples.classes = kind == CifarKind::kCifar10 ? 10 : 100;
  const std::size_t count = bytes.size() / record;
  samples.labels.resize(count);
  samples.bytes.resize(count * kPlane * kChannels);
  for (std::size_t row = 0; row < count; ++row) {
    const std::uint8_t* in = bytes.data() + row * record;
    const std::uint8_t label = in[label_bytes - 1];
    if (label >= samples.classes) {
      return failure("row {}: label {}, want 0..{} ({} classes)", row, label, samples.classes - 1, samples.classes);
    }
    samples.labels[row] = label;
    const std::uint8_t* planes = in + label_bytes;
    std::uint8_t* out = samples.bytes.data() + row * kPlane * kChannels;
    for (std::size_t pixel = 0; pixel < kPlane; ++pixel) {
      for (std::size_t c = 0; c < kChannels; ++c) out[pixel * kChannels + c] = planes[c * kPlane + pixel];
    }
  }
  return samples;
}

Result<RawData> read_cifar_folder(const std::filesystem::path& folder) {
  RawData data;
  const auto first = found_file(folder, "data_batch_1.bin");
  if (first) {
    for (int batch = 1; batch <= 5; ++batch) {
      const std::string name = fmt::format("data_batch_{}.bin", batch);
      const auto path = found_file(folder, name);
      if (!path) return failure("{}: {} is missing, want data_batch_1.bin to data_batch_5.bin", folder.string(), name);
      MUSTER_TRY(append_file(*path, CifarKind::kCifar10, data.train));
    }
    data.class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  } else if (const auto train = found_file(folder, "train.bin")) {
    MUSTER_TRY(append_file(*train, CifarKind::kCifar100, data.train));
  } else {
    return failure("{}: neither data_batch_1.bin (CIFAR-10) nor train.bin (CIFAR-100) is there", folder.string());
  }
  const auto test = found_file(folder, first ? "test_batch.bin" : "test.bin");
  if (test) MUSTER_TRY(append_file(*test, first ? CifarKind::kCifar10 : CifarKind::kCifar100, data.test));
  return data;
}

}  // namespace muster
