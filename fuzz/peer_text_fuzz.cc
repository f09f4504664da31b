// The small texts that come from users, files and peers of a deployment: ranges of clients, roles and names, times,
// addresses, and what is shown of any of them. What is read is written as it was read.
#include <string_view>

#include "base/check.h"
#include "data/shown_text.h"
#include "net/address.h"
#include "pki/calendar.h"
#include "pki/identity.h"

namespace muster {
namespace {

void read_ranges(std::string_view text) {
  const auto ranges = parse_client_ranges(text);
  if (!ranges) return;
  std::uint64_t next = 0;
  for (const ClientRange& range : *ranges) {
    MUSTER_CHECK(range.first >= next && range.first <= range.last, "accepted {}", text);
    next = std::uint64_t{range.last} + 1;
  }
  const auto again = parse_client_ranges(to_string(*ranges));
  MUSTER_CHECK(again.ok() && *again == *ranges, "{} is not read as it is written", to_string(*ranges));
}

void read_uris(std::string_view text) {
  std::vector<std::string> uris;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    uris.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto identity = identity_from_uris(uris);
  if (!identity) return;
  MUSTER_CHECK(shown_text(identity->shown()) == identity->shown(), "accepted the name {}", identity->name);
  const auto again = identity_from_uris(identity_uris(*identity));
  MUSTER_CHECK(again.ok() && again->role == identity->role && again->name == identity->name &&
                   again->clients == identity->clients,
               "{} is not read as it is written", identity->shown());
}

void read_time(std::string_view text) {
  const auto time = parse_time(text);
  if (!time) return;
  const auto again = parse_time(time_text(*time));
  MUSTER_CHECK(again.ok() && *again == *time, "{} is not read as it is written", time_text(*time));
}

void show(std::string_view text) {
  const std::string shown = shown_text(text);
  for (std::string_view rest = shown; !rest.empty();) {
    const std::size_t bytes = utf8_character(rest);
    MUSTER_CHECK(bytes > 0 && (bytes > 1 || (rest[0] >= ' ' && rest[0] != 0x7f)), "shows what no terminal should see");
    rest.remove_prefix(bytes);
  }
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      read_ranges(text);
      break;
    case 1:
      read_uris(text);
      break;
    case 2:
      read_time(text);
      break;
    case 3:
      (void)check_address("--listen", std::string(text), size % 2 == 0);
      break;
    default:
      show(text);
  }
  return 0;
}
