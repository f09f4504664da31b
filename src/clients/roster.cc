#include "clients/roster.h"

#include <algorithm>

namespace muster {
namespace {

// Appends to a column that is not kept while all of its entries are `usual`.
template <typename T>
void append(std::vector<T>& column, std::size_t before, const T& usual, const T& value) {
  if (column.empty() && value == usual) return;
  column.resize(before, usual);
  column.push_back(value);
}

// Changes one entry of such a column, of `size` entries.
template <typename T>
void change(std::vector<T>& column, std::size_t size, std::size_t at, const T& usual, const T& value) {
  if (column.empty() && value == usual) return;
  column.resize(size, usual);
  column[at] = value;
}

}  // namespace

void Roster::reserve(std::uint32_t clients) {
  train_samples_.reserve(clients);
  test_samples_.reserve(clients);
}

ClientInfo Roster::known(ClientInfo told) const {
  if (hides_samples_) {
    told.train_samples = std::min(told.train_samples, 1u);
    told.test_samples = told.validation_samples = 0;
  }
  return told;
}

ClientId Roster::add(const ClientInfo& told) {
  const ClientInfo client = known(told);
  const std::size_t before = train_samples_.size();
  train_samples_.push_back(client.train_samples);
  test_samples_.push_back(client.test_samples);
  append(validation_samples_, before, 0u, client.validation_samples);
  append(edge_, before, 0u, client.edge);
  append(since_round_, before, 1u, client.since_round);
  append(names_, before, std::string(), client.name);
  return {static_cast<std::uint32_t>(before)};
}

void Roster::set(ClientId client, const ClientInfo& given) {
  const ClientInfo told = known(given);
  const std::size_t size = train_samples_.size();
  train_samples_[client.value] = told.train_samples;
  test_samples_[client.value] = told.test_samples;
  change(validation_samples_, size, client.value, 0u, told.validation_samples);
  change(edge_, size, client.value, 0u, told.edge);
  change(since_round_, size, client.value, 1u, told.since_round);
  change(names_, size, client.value, std::string(), told.name);
}

std::string Roster::class_name(std::uint32_t label) const {
  return label < class_names_.size() ? class_names_[label] : std::to_string(label);
}

bool Roster::anybody(std::uint32_t round) const {
  for (std::uint32_t k = 0; k < clients(); ++k) {
    if (may_train({k}, round)) return true;
  }
  return false;
}

std::vector<ClientId> Roster::present(std::uint32_t round) const {
  std::vector<ClientId> there;
  for (std::uint32_t k = 0; k < clients(); ++k) {
    if (may_train({k}, round)) there.push_back({k});
  }
  return there;
}

}  // namespace muster
