#include "engine/packed_grouping.h"

#include <algorithm>
#include <cstring>

namespace muster {
namespace {

// The first byte tells the form.
constexpr char kAlone = 'a';   // a bit per client: it is a group, in the order of ids, or it is idle
constexpr char kGroups = 'g';  // 32-bit words: groups, the size of each, all members, all idle clients

bool alone_in_order(const Grouping& grouping) {
  if (!grouping.all_alone()) return false;
  for (std::uint32_t g = 1; g < grouping.count(); ++g) {
    if (grouping.members({g})[0] < grouping.members({g - 1})[0]) return false;
  }
  return std::ranges::is_sorted(grouping.idle());
}

Error broken() {
  return failure("checkpoint holds groups of another form");
}

Result<Grouping> unpack_alone(std::string_view bits, std::uint32_t clients) {
  if (bits.size() != (std::size_t{clients} + 7) / 8) return broken();
  Grouping grouping;
  grouping.reserve(clients);
  for (std::uint32_t k = 0; k < clients; ++k) {
    const ClientId client{k};
    if (static_cast<unsigned char>(bits[k / 8]) >> (k % 8) & 1u) {
      grouping.add({&client, 1});
    } else {
      grouping.add_idle(client);
    }
  }
  return grouping;
}

}  // namespace

std::string pack(const Grouping& grouping, std::uint32_t clients) {
  if (alone_in_order(grouping)) {
    std::string bits(1 + (std::size_t{clients} + 7) / 8, '\0');
    bits[0] = kAlone;
    for (std::uint32_t g = 0; g < grouping.count(); ++g) {
      const std::uint32_t k = grouping.members({g})[0].value;
      bits[1 + k / 8] = static_cast<char>(static_cast<unsigned char>(bits[1 + k / 8]) | 1u << (k % 8));
    }
    return bits;
  }
  std::vector<std::uint32_t> words{grouping.count()};
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    words.push_back(static_cast<std::uint32_t>(grouping.members({g}).size()));
  }
  const auto put = [&](std::span<const ClientId> ids) {
    for (const ClientId client : ids) words.push_back(client.value);
  };
  for (std::uint32_t g = 0; g < grouping.count(); ++g) put(grouping.members({g}));
  put(grouping.idle());
  std::string packed(1, kGroups);
  packed.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint32_t));
  return packed;
}

Result<Grouping> unpack(std::string_view packed, std::uint32_t clients) {
  if (packed.empty()) return broken();
  const char form = packed.front();
  packed.remove_prefix(1);
  if (form == kAlone) return unpack_alone(packed, clients);
  std::vector<std::uint32_t> words(packed.size() / sizeof(std::uint32_t));
  if (form != kGroups || words.empty() || packed.size() % sizeof(std::uint32_t) != 0) return broken();
  std::memcpy(words.data(), packed.data(), packed.size());
  const std::size_t groups = words[0];
  if (groups > clients || words.size() != 1 + groups + clients) return broken();
  Grouping grouping;
  std::vector<bool> seen(clients);
  std::size_t at = 1 + groups;
  const auto take = [&](std::size_t count) -> std::optional<std::vector<ClientId>> {
    if (count > words.size() - at) return std::nullopt;
    std::vector<ClientId> ids;
    for (std::size_t i = 0; i < count; ++i, ++at) {
      if (words[at] >= clients || seen[words[at]]) return std::nullopt;
      seen[words[at]] = true;
      ids.push_back({words[at]});
    }
    return std::ranges::is_sorted(ids) ? std::optional(std::move(ids)) : std::nullopt;
  };
  for (std::size_t g = 0; g < groups; ++g) {
    const auto members = take(words[1 + g]);
    if (!members) return broken();
    grouping.add(*members);
  }
  const auto idle = take(words.size() - at);
  if (!idle) return broken();
  for (const ClientId client : *idle) grouping.add_idle(client);
  return grouping;
}

}  // namespace muster
