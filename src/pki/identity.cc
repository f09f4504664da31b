#include "pki/identity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "data/shown_text.h"

namespace muster {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::string_view kPrefix = "muster:";
constexpr std::string_view kClientsPrefix = "muster:clients:";
constexpr std::array kRoles{Role::kCloud, Role::kEdge, Role::kClient};

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// What may be anything and of any length, for a message.
std::string quoted(std::string_view text) {
  return fmt::format("'{}{}'", shown_text(text.substr(0, kLongestName)), text.size() > kLongestName ? "..." : "");
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<ClientRange> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::optional<std::uint32_t> first = number(text.substr(0, dash));
  const std::optional<std::uint32_t> last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return ClientRange{*first, *last};
}

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::kCloud:
      return "cloud";
    case Role::kEdge:
      return "edge";
    case Role::kClient:
      return "client";
  }
  return "";
}

Result<Role> parse_role(std::string_view text) {
  for (const Role role : kRoles) {
    if (text == role_name(role)) return role;
  }
  return usage_error("role {}: want cloud, edge or client", quoted(text));
}

Result<std::vector<ClientRange>> parse_client_ranges(std::string_view text) {
  std::vector<ClientRange> ranges;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::optional<ClientRange> range = parse_range(text.substr(begin, end - begin));
    if (!range || (!ranges.empty() && range->first <= ranges.back().last)) {
      return usage_error("clients {}: want ascending numbers and ranges, e.g. 0-49 or 0-9,20-29", quoted(text));
    }
    if (ranges.size() == kMostRanges)
      return usage_error("clients {}: want at most {} ranges", quoted(text), kMostRanges);
    ranges.push_back(*range);
    begin = end + 1;
  }
  return ranges;
}

std::string to_string(const std::vector<ClientRange>& ranges) {
  std::string text;
  for (const ClientRange& range : ranges) {
    if (!text.empty()) text += ',';
    text += range.first == range.last ? fmt::format("{}", range.first) : fmt::format("{}-{}", range.first, range.last);
  }
  return text;
}

bool Identity::stands_for(std::uint32_t client) const {
  return std::ranges::any_of(clients, [&](const ClientRange& r) { return r.first <= client && client <= r.last; });
}

std::string Identity::shown() const {
  return fmt::format("{} {}", role_name(role), name);
}

Status check_name(std::string_view name) {
  const bool sane =
      !name.empty() && name.size() <= kLongestName && is_letter_or_digit(name.front()) &&
      std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
  if (sane) return {};
  return usage_error("name {}: want 1 to {} of A-Z a-z 0-9 . _ -, beginning with a letter or a digit", quoted(name),
                     kLongestName);
}

std::vector<std::string> identity_uris(const Identity& identity) {
  std::vector<std::string> uris{fmt::format("{}{}:{}", kPrefix, role_name(identity.role), identity.name)};
  if (!identity.clients.empty()) uris.push_back(fmt::format("{}{}", kClientsPrefix, to_string(identity.clients)));
  return uris;
}

Result<Identity> identity_from_uris(const std::vector<std::string>& uris) {
  Identity identity;
  std::size_t roles = 0;
  for (const std::string_view uri : uris) {
    if (!uri.starts_with(kPrefix)) continue;
    if (uri.starts_with(kClientsPrefix)) {
      if (!identity.clients.empty()) return failure("names its clients twice");
      MUSTER_ASSIGN(identity.clients, parse_client_ranges(uri.substr(kClientsPrefix.size())));
      continue;
    }
    const std::string_view rest = uri.substr(kPrefix.size());
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return failure("{}: want muster:ROLE:NAME", quoted(uri));
    MUSTER_ASSIGN(identity.role, parse_role(rest.substr(0, colon)));
    MUSTER_TRY(check_name(rest.substr(colon + 1)));
    identity.name = rest.substr(colon + 1);
    if (++roles > 1) return failure("names more than one role");
  }
  if (roles == 0) return failure("names no role: want a URI muster:ROLE:NAME among its alternative names");
  if (!identity.clients.empty() && identity.role != Role::kClient) {
    return failure("names clients, but is of {}", identity.shown());
  }
  return identity;
}

}  // namespace muster
