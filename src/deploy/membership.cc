#include "deploy/membership.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "recipe/attendance.h"
#include "record/json_text.h"

namespace muster {
namespace {

constexpr const char* kFile = "membership.json";
constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;

}  // namespace

Membership::Membership(const Recipe& recipe, Preparation agreed)
    : options_(recipe.data),
      late_(late_clients(recipe, *recipe.data.clients)),
      late_round_(recipe.newcomers.round.value_or(1)),
      agreed_(std::move(agreed)),
      places_(*recipe.data.clients) {}

std::uint32_t Membership::first_clients(const Recipe& recipe) {
  const std::uint32_t clients = *recipe.data.clients;
  return clients - static_cast<std::uint32_t>(late_clients(recipe, clients).size());
}

std::uint32_t Membership::earliest(std::uint32_t place) const {
  return std::ranges::binary_search(late_, place) ? late_round_ : 1;
}

Result<Membership::Start> Membership::begin(const Recipe& recipe, std::vector<SheetOf> sheets) {
  sort_by_name(sheets);
  sheets.resize(std::min<std::size_t>(sheets.size(), first_clients(recipe)));
  MUSTER_ASSIGN(DataAgreement agreement, agree(sheets, recipe.data));
  Start start;
  for (const std::size_t i : agreement.misfits) {
    const Status fits = check_fits(sheets[i].sheet, agreement.preparation);
    start.refused.emplace_back(sheets[i].name, fits ? "its data do not fit the other clients'" : fits.error().message);
  }
  if (!start.refused.empty()) return start;
  start.membership.reset(new Membership(recipe, std::move(agreement.preparation)));
  Membership& made = *start.membership;
  std::uint32_t place = 0;
  for (SheetOf& of : sheets) {
    while (std::ranges::binary_search(made.late_, place)) ++place;
    made.places_[place++] = {.name = std::move(of.name),
                             .rows = of.sheet.rows,
                             .test_rows = of.sheet.test_rows,
                             .fingerprint = fingerprint(of.sheet),
                             .since_round = 1};
  }
  return start;
}

bool Membership::is_in(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / kFile, ignored);
}

Result<std::unique_ptr<Membership>> Membership::read(const Recipe& recipe, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kFile;
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, kMostBytes));
  const auto json = nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, false);
  const auto broken = [&](const char* what) { return failure("{}: {}", path.string(), what); };
  if (!json.is_object() || !json.contains("preparation") || !json.contains("members"))
    return broken("not a membership");
  MUSTER_ASSIGN(Preparation agreed, parse_preparation(json["preparation"].dump()));
  std::unique_ptr<Membership> made(new Membership(recipe, std::move(agreed)));
  const auto number = [](const nlohmann::json& in, const char* key) -> std::optional<std::uint32_t> {
    const auto found = in.find(key);
    if (found == in.end() || !found->is_number_unsigned() || *found > 0xffffffffu) return std::nullopt;
    return found->get<std::uint32_t>();
  };
  for (const nlohmann::json& one : json["members"]) {
    if (!one.is_object() || !one.value("name", nlohmann::json()).is_string() ||
        !one.value("sheet", nlohmann::json()).is_string()) {
      return broken("a member without a name or a sheet");
    }
    const auto place = number(one, "client");
    const auto rows = number(one, "rows");
    const auto test_rows = number(one, "test_rows");
    const auto since_round = number(one, "since_round");
    if (!place || !rows || !test_rows || !since_round || *place >= made->places_.size() || *rows == 0 ||
        *since_round == 0 || !made->places_[*place].name.empty()) {
      return broken("a member whose numbers make no sense");
    }
    const std::string sheet = one["sheet"].get<std::string>();
    std::uint64_t told = 0;
    const auto [end, error] = std::from_chars(sheet.data(), sheet.data() + sheet.size(), told, 16);
    if (error != std::errc() || end != sheet.data() + sheet.size()) return broken("a member's sheet is not a number");
    made->places_[*place] = {.name = one["name"].get<std::string>(),
                             .rows = *rows,
                             .test_rows = *test_rows,
                             .fingerprint = told,
                             .since_round = *since_round};
  }
  made->folder_ = folder;
  return made;
}

Status Membership::write_to(const std::filesystem::path& folder) {
  const std::lock_guard lock(mutex_);
  folder_ = folder;
  return write();
}

// With the lock held.
Status Membership::write() const {
  nlohmann::ordered_json members = nlohmann::ordered_json::array();
  for (std::uint32_t place = 0; place < places_.size(); ++place) {
    const Member& member = places_[place];
    if (member.name.empty() || member.since_round == 0) continue;
    members.push_back({{"client", place},
                       {"name", member.name},
                       {"rows", member.rows},
                       {"test_rows", member.test_rows},
                       {"since_round", member.since_round},
                       {"sheet", hex16(member.fingerprint)}});
  }
  const nlohmann::ordered_json json{{"members", members},
                                    {"preparation", nlohmann::ordered_json::parse(to_json(agreed_))}};
  return write_file(folder_ / kFile, json_text(json) + "\n");
}

Result<ClientId> Membership::admit(const std::string& name, const DataSheet& sheet) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(places_, name, &Member::name);
  if (known != places_.end()) {
    const auto place = static_cast<std::uint32_t>(known - places_.begin());
    if (known->fingerprint == fingerprint(sheet)) return ClientId{place};
    if (known->rows == sheet.rows && known->test_rows == sheet.test_rows) {
      return usage_error(
          "its data have changed since it joined: its labels, columns or sums are not those it told then");
    }
    return usage_error("its data have changed since it joined: {} training and {} test rows, it told {} and {} then",
                       sheet.rows, sheet.test_rows, known->rows, known->test_rows);
  }
  MUSTER_TRY(check_fits(sheet, agreed_));
  const auto free = std::ranges::find(places_, std::string(), &Member::name);
  if (free == places_.end()) {
    return usage_error("the run has its {} clients (data.clients); newcomers.round and newcomers.clients make room",
                       places_.size());
  }
  *free = {.name = name, .rows = sheet.rows, .test_rows = sheet.test_rows, .fingerprint = fingerprint(sheet)};
  return ClientId{static_cast<std::uint32_t>(free - places_.begin())};
}

// With the lock held.
Membership::Joined Membership::joined(std::uint32_t place) const {
  const Member& member = places_[place];
  const SampleCounts counts = counts_of(member.rows, member.test_rows, agreed_, options_);
  return {.client = {place},
          .info = {.name = member.name,
                   .train_samples = counts.train,
                   .test_samples = counts.test,
                   .validation_samples = counts.validation,
                   .since_round = member.since_round}};
}

std::vector<Membership::Joined> Membership::members() const {
  const std::lock_guard lock(mutex_);
  std::vector<Joined> all;
  for (std::uint32_t place = 0; place < places_.size(); ++place) {
    if (places_[place].since_round > 0) all.push_back(joined(place));
  }
  return all;
}

Result<std::vector<Membership::Joined>> Membership::join(std::uint32_t round) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> waiting;
  for (std::uint32_t place = 0; place < places_.size(); ++place) {
    if (places_[place].name.empty() || places_[place].since_round > 0) continue;
    places_[place].since_round = std::max(round, earliest(place));
    waiting.push_back(place);
  }
  if (waiting.empty()) return std::vector<Joined>();
  if (Status written = write(); !written) {
    for (const std::uint32_t place : waiting) places_[place].since_round = 0;
    return std::move(written).error();
  }
  std::vector<Joined> all;
  for (const std::uint32_t place : waiting) all.push_back(joined(place));
  return all;
}

std::unique_ptr<FederatedData> Membership::data() const {
  const std::lock_guard lock(mutex_);
  std::vector<ToldClient> clients(places_.size());
  for (std::uint32_t place = 0; place < places_.size(); ++place) {
    const Member& member = places_[place];
    if (member.since_round != 1) continue;  // also of a run that is resumed
    clients[place] = {.name = member.name, .counts = counts_of(member.rows, member.test_rows, agreed_, options_)};
  }
  return make_told_data(options_, agreed_, std::move(clients));
}

}  // namespace muster
