// ClientProfiles: what clients tell the server about themselves, so that it can group them; what that costs in bytes,
// and what it gives away. In: a task and a client that can count, train and evaluate; out: what it tells. Knows neither
// how clients are reached (train) nor how they train (solver). Each kind of profile is one file of this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/rows.h"
#include "clients/dropped.h"
#include "data/samples.h"
#include "model/network.h"

namespace muster {

// The [profile] section of a recipe. A key that is not set takes its kind's default; a key that is set must be one of
// the kind's.
struct ProfileOptions {
  std::string kind = "none";           // see profile_kinds()
  std::optional<double> epsilon;       // label-histogram: Laplace noise of scale 1 / epsilon; > 0; not set: none
  std::optional<std::uint32_t> steps;  // update-direction: 50; the others that train: instead of epochs
  std::optional<double> epochs;        // classifier-weights, confidence-vector: 10; update-direction: instead of steps
  std::string layers;                  // classifier-weights: last (default) | last-two | all
  std::optional<bool> bias;            // classifier-weights: with the layers' biases; default false
  std::optional<double> variance;      // classifier-weights: share kept by principal components, in (0, 1]
  std::string form;                    // confidence-vector: shares (default) | softmax
  bool operator==(const ProfileOptions&) const = default;
};

// What a kind of profile is to a grouping method.
enum class ProfileGives {
  kNothing,
  kLabels,         // a count per class
  kVectors,        // numbers that mean something to each other: distances, angles
  kProbabilities,  // a number per class, none negative, their sum 1
  kLosses,         // a number per model, which may be infinite or NaN
};

// How long a client trains for its profile.
struct ProfileWork {
  double epochs = 0;
  std::optional<std::uint32_t> steps;  // instead of epochs
};

struct ProfileEntry {
  std::string name;
  std::string summary;
  std::vector<std::string> keys;  // of ProfileOptions
  std::string bytes;              // of one client, in words
  std::string reveals;            // to the server
  ProfileGives gives = ProfileGives::kNothing;
  bool trains = false;       // the client trains for it, from one model
  ProfileWork usual_work{};  // for how long, where the recipe does not say
  bool observable = false;   // it can be read off what a client sends in an ordinary round
  bool exemplars = false;    // the client is sent the server's exemplars
};

// What one client tells.
struct ClientProfile {
  std::vector<float> vector;          // of the kinds that give one
  std::vector<std::uint32_t> labels;  // of kLabels: a count per class
  std::uint64_t samples_trained = 0;
  std::uint64_t samples_evaluated = 0;
};

using ProfileReply = std::variant<ClientProfile, Dropped>;

// "Tell your profile." A plain value: whoever answers has the recipe. Models and exemplars are borrowed.
struct ProfileTask {
  ClientId client;
  std::string kind;            // name: the recipe's kind, or "losses" of a newcomer that is placed by them
  std::uint32_t round = 1;     // whose learning rate and draws the training has
  std::uint32_t asked_in = 1;  // the round in which the client is asked: who is gone in it does not answer
  double work = 1;             // share of the wanted training, for stragglers
  RowsView<float> models;      // flat vectors, a row each: the one to start from, or those whose losses are asked
  SampleView exemplars;
};

// What noise is drawn from.
struct NoiseDraws {
  std::function<double()> uniform;  // of [0, 1)
  std::function<bool()> coin;
};

// One client, as far as its profile is concerned. Used by one thread at a time.
class ProfileSubject {
 public:
  struct Trained {
    std::vector<float> model;  // flat vector
    std::uint64_t samples = 0;
  };
  struct Outputs {
    Rows<float> logits;  // a row of network().outputs() per sample
    std::vector<std::int32_t> labels;
  };

  virtual ~ProfileSubject() = default;

  [[nodiscard]] virtual const Network& network() const = 0;
  // The client's training samples, and how many of them each class has.
  [[nodiscard]] virtual std::uint32_t samples() const = 0;
  [[nodiscard]] virtual std::vector<std::uint32_t> label_counts() const = 0;
  // What the client's noise on these counts is drawn from, its own secret: the same whenever it is asked.
  [[nodiscard]] virtual NoiseDraws noise(std::span<const std::uint32_t> counts, double epsilon) const = 0;

  // Trains from task.models.row(0) on the client's own loss alone, for task.work of `wanted`, and leaves no trace in
  // the client's state. Fails only if the client itself broke.
  [[nodiscard]] virtual Result<std::variant<Trained, Dropped>> train(const ProfileTask& task,
                                                                     const ProfileWork& wanted) = 0;
  [[nodiscard]] virtual Outputs outputs(std::span<const float> model, const SampleView& view) = 0;
  // Of each model, over the client's training samples. Precondition: samples() > 0.
  [[nodiscard]] virtual Result<std::vector<double>> mean_losses(const RowsView<float>& models) = 0;
};

// What one client receives and sends.
struct ProfileBytes {
  std::uint64_t up = 0;
  std::uint64_t down = 0;
  bool operator==(const ProfileBytes&) const = default;
};

// A kind of profile with its options. Immutable: one serves all threads.
class ProfileKind {
 public:
  virtual ~ProfileKind() = default;

  [[nodiscard]] virtual const ProfileEntry& entry() const = 0;
  // Of the noise; not set: none. With it, reveals() says what the noise hides.
  [[nodiscard]] virtual std::optional<double> epsilon() const { return std::nullopt; }
  [[nodiscard]] std::string reveals() const;

  // Numbers in a client's vector; 0 for kinds without. `models`: how many the client is given (one to train from; of
  // losses any number). Fails if the network lacks what the options ask for.
  [[nodiscard]] virtual Result<std::size_t> width(const Network& network, std::uint32_t models) const;
  // By default: what width() says and the entry says that it is sent. `exemplars` may be empty.
  [[nodiscard]] virtual ProfileBytes bytes(const Network& network, std::uint32_t models,
                                           const SampleView& exemplars) const;

  // Which initialisation of the network training starts from: 0 is the run's own first model, 1 one that is drawn for
  // profiles alone.
  [[nodiscard]] virtual std::uint32_t start_part() const { return 0; }

  // What the client tells, or why it tells nothing. A client without samples tells a histogram of zeros, or nothing. A
  // task that lacks models or exemplars of the right size is answered with kMalformed; a profile that refuse() would
  // refuse is not told. Fails only if the subject does.
  [[nodiscard]] Result<ProfileReply> tell(const ProfileTask& task, ProfileSubject& subject) const;

  // The same, read off an ordinary round: from the model that a member started from and the one it sent.
  // Preconditions: entry().observable, width() does not fail, both are flat vectors of the network.
  [[nodiscard]] virtual std::vector<float> observe(const Network& network, std::span<const float> start,
                                                   std::span<const float> sent) const;

  // Share of the variance that the principal components of all vectors keep; not set: vectors are used as told.
  [[nodiscard]] virtual std::optional<double> kept_variance() const { return std::nullopt; }
  // Vectors are changes of the model, and a group formed by them starts from the mean change of its members.
  [[nodiscard]] virtual bool directs_start() const { return false; }

 private:
  // Of a client that has samples, unless labels are asked; with the models and exemplars that the entry asks for.
  [[nodiscard]] virtual Result<ProfileReply> do_tell(const ProfileTask& task, ProfileSubject& subject) const = 0;
};

// Why what a client told cannot be used: kMalformed if it has the wrong size or is no probability where one is wanted,
// kNonFinite if it is not finite and no loss. `width`: what the kind's width() says.
[[nodiscard]] std::optional<DropReason> refuse(const ProfileEntry& entry, const ClientProfile& told, std::size_t width,
                                               std::uint32_t classes);

// Every kind, in the order of the documentation; those that were added come last.
[[nodiscard]] std::vector<ProfileEntry> profile_kinds();
// The kind's entry. Precondition: the kind is known.
[[nodiscard]] ProfileEntry profile_kind(const ProfileOptions& options);

// Fails if the kind is unknown, a key is set that is not one of the kind's, or a value is out of range.
[[nodiscard]] Status check_profile(const ProfileOptions& options);
// Checks the options in the same way.
[[nodiscard]] Result<std::unique_ptr<ProfileKind>> make_profile_kind(const ProfileOptions& options);
// The losses of given models, whatever kind the recipe has: newcomers can be placed by them.
[[nodiscard]] const ProfileKind& losses_profile();
// The kind that a task asks for: `own`, which is the recipe's, or losses; null if it is neither.
[[nodiscard]] const ProfileKind* kind_asked(const ProfileTask& task, const ProfileKind& own);

// Makes a kind known to the whole process, recipes included. It has the keys of ProfileOptions to choose from. Fails if
// the name is empty or taken. Thread-safe, as all functions here.
using ProfileFactory = std::function<Result<std::unique_ptr<ProfileKind>>(const ProfileOptions&)>;
[[nodiscard]] Status add_profile_kind(ProfileEntry entry, ProfileFactory make);

// What some clients told, a row each. A client that vanished has no profile: its row is zeros and it is in `missing`.
struct ClientProfiles {
  std::string kind = "none";
  std::vector<ClientId> clients;       // who was asked, in the order of the rows
  std::vector<std::uint32_t> missing;  // rows without a profile, ascending
  Rows<float> vectors;
  Rows<std::uint32_t> labels;
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::string reveals;
  std::optional<double> epsilon;  // of the noise, where there is some
};

}  // namespace muster
