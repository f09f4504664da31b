#include "secure/sum_history.h"

#include <charconv>

#include "base/file.h"
#include "base/parcel.h"
#include "secure/key_agreement.h"

namespace muster {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
constexpr std::size_t kHexBytes = 2 * sizeof(PublicBytes);

std::string hex(const PublicBytes& bytes) {
  std::string text(kHexBytes + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

// The next word of a line, without it and the space after it.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

bool read_hex(std::string_view word, PublicBytes& bytes) {
  return word.size() == kHexBytes &&
         sodium_hex2bin(bytes.data(), bytes.size(), word.data(), word.size(), nullptr, nullptr, nullptr) == 0;
}

PublicBytes place_of(const SumTerms& terms) {
  ParcelWriter out;
  out.put_text(terms.run);
  out.put(terms.round);
  out.put(terms.part);
  return digest_of(std::move(out).finish().words);
}

}  // namespace

Result<SumHistory> SumHistory::open(std::filesystem::path file) {
  prepare_cryptography();
  SumHistory history;
  history.file_ = std::move(file);
  if (!std::filesystem::exists(history.file_)) return history;
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(history.file_, kMostBytes));
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::string_view left = all;
  while (left.find('\n') != std::string_view::npos) {
    if (!history.read_line(left.substr(0, left.find('\n')))) {
      return failure("{}: is damaged: which sums this client has taken part in is not known", history.file_.string());
    }
    left.remove_prefix(left.find('\n') + 1);
  }
  if (!left.empty()) MUSTER_TRY(write_file(history.file_, all.substr(0, all.size() - left.size())));
  return history;
}

bool SumHistory::read_line(std::string_view line) {
  PublicBytes sum;
  Entered entered;
  if (!read_hex(take_word(line), sum)) return false;
  const std::string_view number = take_word(line);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), entered.attempt);
  if (error != std::errc() || end != number.data() + number.size()) return false;
  if (!read_hex(take_word(line), entered.terms)) return false;
  const std::string_view survivors = take_word(line);
  if (survivors != "-" && !read_hex(survivors, entered.survivors.emplace())) return false;
  if (!line.empty()) return false;
  entered_[sum] = entered;
  return true;
}

// A line for every change, the last one of a sum counts.
Status SumHistory::write(const PublicBytes& sum, const Entered& entered) {
  if (!file_.empty()) {
    MUSTER_TRY(make_folder(file_.parent_path()));
    MUSTER_ASSIGN(FileAppender out, FileAppender::open(file_));
    MUSTER_TRY(out.append(fmt::format("{} {} {} {}\n", hex(sum), entered.attempt, hex(entered.terms),
                                      entered.survivors ? hex(*entered.survivors) : "-")));
    MUSTER_TRY(out.sync());
  }
  entered_[sum] = entered;
  return {};
}

Status SumHistory::enter(const SumTerms& terms) {
  const PublicBytes sum = place_of(terms);
  Entered next{.attempt = terms.attempt, .terms = digest_of_all_attempts(terms), .survivors = {}};
  const auto known = entered_.find(sum);
  if (known != entered_.end()) {
    if (terms.attempt <= known->second.attempt || next.terms != known->second.terms) {
      return failure("it replays round {}, part {}, in which this client has taken part", terms.round, terms.part);
    }
    next.survivors = known->second.survivors;
  }
  return write(sum, next);
}

Status SumHistory::sign(const SumTerms& terms, const SurvivorSet& survivors) {
  const PublicBytes sum = place_of(terms);
  Entered& known = entered_.at(sum);
  const PublicBytes digest = digest_of(pack(survivors));
  if (known.survivors == digest) return {};
  if (known.survivors) {
    return failure("it shows other survivors of round {}, part {} than this client has signed", terms.round,
                   terms.part);
  }
  Entered next = known;
  next.survivors = digest;
  return write(sum, next);
}

}  // namespace muster
