// Roster: what the server knows of its clients, as they told when they joined. It only grows, between rounds. Decisions
// are made from this and from what clients tell later, never from their samples.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "data/samples.h"

namespace muster {

struct ClientInfo {
  std::string name;  // "" = it has none
  std::uint32_t train_samples = 0;
  std::uint32_t test_samples = 0;
  std::uint32_t validation_samples = 0;
  std::uint32_t edge = 0;
  std::uint32_t since_round = 1;  // the first round in which it is there
};

// A client costs eight bytes, and more only where names, validation samples, edges or rounds differ between clients.
class Roster {
 public:
  Roster() = default;
  Roster(Shape shape, std::uint32_t classes, std::uint32_t edges) : shape_(shape), classes_(classes), edges_(edges) {}

  // What the classes are called, in their order; empty: they have no names.
  void set_class_names(std::vector<std::string> names) { class_names_ = std::move(names); }
  // Clients tell whether they have training samples, not how many, and nothing of tests. Before the first is added.
  void hide_samples() { hides_samples_ = true; }
  // Room for as many clients, without more.
  void reserve(std::uint32_t clients);
  // The next client; ids are given in order.
  ClientId add(const ClientInfo& told);
  // What a client told, in place of what was known of it: a place that somebody takes. Precondition: client.value <
  // clients().
  void set(ClientId client, const ClientInfo& given);

  [[nodiscard]] std::uint32_t clients() const { return static_cast<std::uint32_t>(train_samples_.size()); }
  [[nodiscard]] Shape shape() const { return shape_; }
  [[nodiscard]] std::uint32_t classes() const { return classes_; }
  // Its number where it has no name. May hold any bytes.
  [[nodiscard]] std::string class_name(std::uint32_t label) const;
  [[nodiscard]] std::uint32_t edges() const { return edges_; }

  // Of one client. Precondition: client.value < clients().
  [[nodiscard]] std::uint32_t train_samples(ClientId client) const { return train_samples_[client.value]; }
  [[nodiscard]] std::uint32_t test_samples(ClientId client) const { return test_samples_[client.value]; }
  [[nodiscard]] std::uint32_t validation_samples(ClientId client) const {
    return validation_samples_.empty() ? 0 : validation_samples_[client.value];
  }
  [[nodiscard]] std::uint32_t edge(ClientId client) const { return edge_.empty() ? 0 : edge_[client.value]; }
  [[nodiscard]] std::uint32_t since_round(ClientId client) const {
    return since_round_.empty() ? 1 : since_round_[client.value];
  }
  [[nodiscard]] std::string name(ClientId client) const {
    return names_.empty() ? std::string() : names_[client.value];
  }

  // Numbers of training samples are then 1 or 0, of all others 0.
  [[nodiscard]] bool hides_samples() const { return hides_samples_; }
  // Whether any client has validation samples.
  [[nodiscard]] bool validates() const { return !validation_samples_.empty(); }
  // There, and with samples to train on.
  [[nodiscard]] bool may_train(ClientId client, std::uint32_t round) const {
    return train_samples(client) > 0 && since_round(client) <= round;
  }
  [[nodiscard]] bool anybody(std::uint32_t round) const;
  // All who may train in `round`, ascending.
  [[nodiscard]] std::vector<ClientId> present(std::uint32_t round) const;
  // Training samples of every client; the edge of every client, empty where all have the same.
  [[nodiscard]] const std::vector<std::uint32_t>& train_samples() const { return train_samples_; }
  [[nodiscard]] const std::vector<std::uint32_t>& edge_of() const { return edge_; }

 private:
  [[nodiscard]] ClientInfo known(ClientInfo told) const;

  Shape shape_;
  std::uint32_t classes_ = 0;
  std::uint32_t edges_ = 1;
  bool hides_samples_ = false;
  std::vector<std::uint32_t> train_samples_;
  std::vector<std::uint32_t> test_samples_;
  // Empty while all are alike.
  std::vector<std::uint32_t> validation_samples_;
  std::vector<std::uint32_t> edge_;
  std::vector<std::uint32_t> since_round_;
  std::vector<std::string> names_;
  std::vector<std::string> class_names_;
};

}  // namespace muster
