#include "record/ledger_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace muster {
namespace {

// How much of the file is whole lines.
Result<std::uintmax_t> whole_lines(const std::filesystem::path& path, std::uintmax_t size) {
  constexpr std::uintmax_t kPiece = 4096;
  std::ifstream in(path, std::ios::binary);
  std::string piece;
  for (std::uintmax_t end = size; end > 0;) {
    const std::uintmax_t begin = end - std::min(end, kPiece);
    piece.resize(end - begin);
    in.seekg(static_cast<std::streamoff>(begin));
    if (!in.read(piece.data(), static_cast<std::streamsize>(piece.size()))) {
      return failure("{}: cannot read: {}", path.string(), std::strerror(errno));
    }
    if (const std::size_t last = piece.rfind('\n'); last != std::string::npos) return begin + last + 1;
    end = begin;
  }
  return 0;
}

}  // namespace

Result<LedgerFile> LedgerFile::open(const std::filesystem::path& path) {
  std::error_code error;
  if (const std::uintmax_t size = std::filesystem::file_size(path, error); !error && size > 0) {
    MUSTER_ASSIGN(const std::uintmax_t whole, whole_lines(path, size));
    if (whole < size) std::filesystem::resize_file(path, whole, error);
    if (error) return failure("{}: cannot shorten: {}", path.string(), error.message());
  }
  MUSTER_ASSIGN(FileAppender file, FileAppender::open(path));
  return LedgerFile(std::move(file));
}

void LedgerFile::add(std::string_view line) {
  waiting_.append(line);
  waiting_ += '\n';
}

Status LedgerFile::put_down() {
  if (waiting_.empty()) return {};
  const Status written = file_.append(waiting_);
  waiting_.clear();
  return written;
}

Status LedgerFile::sync() {
  MUSTER_TRY(put_down());
  return file_.sync();
}

}  // namespace muster
