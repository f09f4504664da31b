#include "engine/noise_record.h"

#include <sstream>

#include "base/secret.h"
#include "secure/key_source.h"

namespace muster {
namespace {

constexpr char kLeftFile[] = "noise.left";
constexpr std::uint64_t kMostLeftBytes = 1 << 30;

// 64 hexadecimal digits and the end of the line.
Secret to_text(const NoiseKey& key) {
  Secret text(2 * SecretKey::size() + 2);
  sodium_bin2hex(text.data(), 2 * SecretKey::size() + 1, key.bytes.data(), SecretKey::size());
  text.data()[2 * SecretKey::size()] = '\n';
  return Secret(std::string_view(text.text()).substr(0, 2 * SecretKey::size() + 1));
}

Result<NoiseKey> read_key(const std::filesystem::path& path) {
  MUSTER_ASSIGN(const Secret text, read_secret(path));
  NoiseKey key;
  std::size_t bytes = 0;
  const char* end = nullptr;
  const std::string& digits = text.text();
  const bool read =
      sodium_hex2bin(key.bytes.data(), SecretKey::size(), digits.data(), digits.size(), nullptr, &bytes, &end) == 0 &&
      bytes == SecretKey::size();
  if (!read || std::string_view(end, digits.data() + digits.size()) != "\n") {
    return failure("{}: want a key of noise, {} hexadecimal digits on a line", path.string(), 2 * SecretKey::size());
  }
  return key;
}

}  // namespace

Result<std::shared_ptr<const NoiseKey>> keep_noise_key(const std::filesystem::path& folder,
                                                       const std::filesystem::path& given, bool draw) {
  prepare_cryptography();
  const std::filesystem::path own = folder / kNoiseKeyFile;
  if (!std::filesystem::exists(own)) {
    if (given.empty() && !draw) return std::shared_ptr<const NoiseKey>();
    NoiseKey key;
    if (given.empty()) {
      key.bytes = SystemKeys().key();
    } else {
      MUSTER_ASSIGN(key, read_key(given));
    }
    const std::filesystem::path fresh = folder / "noise.key.tmp";
    std::error_code ignored;
    std::filesystem::remove(fresh, ignored);  // of a process that was killed
    MUSTER_TRY(write_secret(fresh, to_text(key)));
    std::error_code error;
    std::filesystem::rename(fresh, own, error);
    if (error) return failure("{}: cannot write: {}", own.string(), error.message());
  }
  MUSTER_ASSIGN(NoiseKey key, read_key(own));
  return std::make_shared<const NoiseKey>(std::move(key));
}

Result<std::unique_ptr<NoiseRecord>> NoiseRecord::open(const std::filesystem::path& folder,
                                                       const std::filesystem::path& given, bool draw) {
  MUSTER_ASSIGN(std::shared_ptr<const NoiseKey> key, keep_noise_key(folder, given, draw));
  if (!key) return std::unique_ptr<NoiseRecord>();
  const std::filesystem::path left = folder / kLeftFile;
  std::map<std::uint32_t, std::uint64_t> known;
  if (std::filesystem::exists(left)) {
    MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(left, kMostLeftBytes));
    std::istringstream lines(std::string(bytes.begin(), bytes.end()));
    std::uint32_t merge = 0;
    std::uint64_t release = 0;
    while (lines >> std::dec >> merge >> std::hex >> release) known[merge] = release;
  } else {
    MUSTER_TRY(write_file(left, ""));  // and with it the folder is on disk, and the key
  }
  MUSTER_ASSIGN(FileAppender file, FileAppender::open(left));
  std::unique_ptr<NoiseRecord> record(new NoiseRecord(std::move(key), std::move(file)));
  record->left_ = std::move(known);
  return record;
}

void NoiseRecord::leaves(std::uint32_t merge, std::uint64_t release) {
  const auto [known, fresh] = left_.try_emplace(merge, release);
  if (!fresh && known->second == release) return;  // the very same
  if (!fresh) ++repeated_;
  known->second = release;
  Status written = file_.append(fmt::format("{} {:016x}\n", merge, release));
  if (written) written = file_.sync();
  if (!written && failed_) failed_ = std::move(written);
}

}  // namespace muster
