// SavedRun: a run's folder read back to be used: its network, its models, which of them answers for whom, and how a row
// of a file becomes the network's input. Everything is read from the folder; the training data need not be there.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "clients/client_state.h"
#include "data/preparation.h"
#include "model/network.h"
#include "recipe/recipe.h"
#include "record/run_folder.h"

namespace muster {

// Which model of a run. Neither group nor client: the one that all share.
struct ModelChoice {
  std::optional<GroupId> group;
  std::optional<ClientId> client;  // the one that this client keeps, or keeps a part of
  bool operator==(const ModelChoice&) const = default;
};
// As file names and tables have it: "shared", "group 2", "client 7".
[[nodiscard]] std::string describe(const ModelChoice& choice);

class SavedRun {
 public:
  // `run`: a folder, or an id under `out`. What is read is checked against each other; errors name the file.
  [[nodiscard]] static Result<SavedRun> open(const std::filesystem::path& out, const std::string& run);

  [[nodiscard]] const RunFolder& folder() const { return folder_; }
  [[nodiscard]] const Recipe& recipe() const { return recipe_; }
  [[nodiscard]] const Preparation& preparation() const { return preparation_; }
  [[nodiscard]] const std::shared_ptr<const Network>& network() const { return network_; }

  // Every model that the run's accuracy is an accuracy of: the shared one, or one of each group, or of each client.
  [[nodiscard]] const std::vector<ModelChoice>& models() const { return models_; }

  // The model that answers for a client, given by name or by number. Fails, naming the nearest, if there is none such.
  [[nodiscard]] Result<ModelChoice> of_client(std::string_view client) const;
  // Fails if the run has no such group with a model of its own.
  [[nodiscard]] Result<ModelChoice> of_group(std::uint32_t group) const;
  // The one model whose accuracy the run reports. Fails where there are several, saying how to choose.
  [[nodiscard]] Result<ModelChoice> reported() const;

  // Its weights, network()->size() values.
  [[nodiscard]] Result<std::vector<float>> weights(const ModelChoice& choice);

 private:
  struct Client {
    std::string name;
    std::optional<std::uint32_t> group;
  };

  SavedRun(RunFolder folder, Recipe recipe, Preparation preparation, std::shared_ptr<const Network> network)
      : folder_(std::move(folder)),
        recipe_(std::move(recipe)),
        preparation_(std::move(preparation)),
        network_(std::move(network)) {}
  [[nodiscard]] Status read_clients();
  void list_models();
  [[nodiscard]] Status restore_states();
  // Every client has a model of its own, or one that is like no other in part.
  [[nodiscard]] bool clients_have_models() const;
  // What the server has for the client.
  [[nodiscard]] ModelChoice sent_to(ClientId client) const;
  [[nodiscard]] Result<std::vector<float>> kept_by(ClientId client);

  RunFolder folder_;
  Recipe recipe_;
  Preparation preparation_;
  std::shared_ptr<const Network> network_;
  std::vector<Client> clients_;
  std::vector<ModelChoice> models_;
  // Of a run whose clients keep their own models, once one is asked for.
  std::unique_ptr<ClientStates> states_;
  std::vector<float> initial_;
};

}  // namespace muster
