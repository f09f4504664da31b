// FederatedData: which samples each client owns. The output of the data stage and all that later stages see of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/catalogue_entry.h"
#include "base/ids.h"
#include "base/result.h"
#include "data/preparation.h"
#include "data/samples.h"

namespace muster {

// Scratch for clients whose samples are generated when needed. One per worker; reused without allocating once warm.
struct SampleBuffer {
  Samples samples;
  std::vector<std::uint32_t> rows;
};

// Samples of a client.
struct SampleCounts {
  std::uint32_t train = 0;
  std::uint32_t test = 0;
  std::uint32_t validation = 0;
};

struct DataOptions;
class SharedMemory;

// Immutable and thread-safe, but for share(). A dormant client costs at most its index entry.
class FederatedData {
 public:
  virtual ~FederatedData() = default;

  [[nodiscard]] virtual std::uint32_t clients() const = 0;
  [[nodiscard]] virtual Shape shape() const = 0;
  [[nodiscard]] virtual std::uint32_t classes() const = 0;

  // Samples the client trains on / is tested on; may be 0.
  [[nodiscard]] virtual std::uint32_t train_count(ClientId client) const = 0;
  [[nodiscard]] virtual std::uint32_t test_count(ClientId client) const = 0;

  // At least as large as every client's train_count(), and not much larger: what a worker's buffers must hold.
  [[nodiscard]] virtual std::uint32_t largest_train_count() const {
    std::uint32_t largest = 0;
    for (std::uint32_t k = 0; k < clients(); ++k) largest = std::max(largest, train_count(ClientId{k}));
    return largest;
  }

  // The client's own samples. The view lives as long as both `this` and `buffer`, and until `buffer` is used again.
  [[nodiscard]] virtual SampleView train(ClientId client, SampleBuffer& buffer) const = 0;
  [[nodiscard]] virtual SampleView test(ClientId client, SampleBuffer& buffer) const = 0;

  // Samples set aside from the client's training part to judge a model while it is trained (option
  // `validation-fraction`); none by default.
  [[nodiscard]] virtual std::uint32_t validation_count(ClientId) const { return 0; }
  [[nodiscard]] virtual SampleView validation(ClientId, SampleBuffer&) const { return {}; }
  // All three at once: a virtual client draws its size for each of them.
  [[nodiscard]] virtual SampleCounts counts(ClientId client) const {
    return {.train = train_count(client), .test = test_count(client), .validation = validation_count(client)};
  }
  // All clients' validation samples together; of virtual clients those whose tests the server has. Empty if none.
  [[nodiscard]] virtual SampleView global_validation() const { return {}; }

  // The server's test set; empty view if there is none.
  [[nodiscard]] virtual SampleView global_test() const = 0;
  // A few samples per class held by the server, taken out of the test set (option `exemplars`); may be empty.
  [[nodiscard]] virtual SampleView exemplars() const = 0;

  // How many training samples of each class the client owns; size classes().
  [[nodiscard]] virtual std::vector<std::uint32_t> label_counts(ClientId client) const = 0;
  // The edge the client belongs to, in [0, edges()).
  [[nodiscard]] virtual std::uint32_t edges() const { return 1; }
  [[nodiscard]] virtual std::uint32_t edge(ClientId) const { return 0; }

  // The ground-truth cluster of a client where the partition plants one (label-groups, rotations); nullopt otherwise.
  [[nodiscard]] virtual std::optional<std::uint32_t> planted_cluster(ClientId) const { return std::nullopt; }

  // Name of a client in its source (writer or user id); "" if it has none.
  [[nodiscard]] virtual std::string client_name(ClientId) const { return {}; }
  // How the samples came to be what they are; names neither columns nor classes if the source is not known.
  [[nodiscard]] virtual const Preparation& preparation() const;
  // Name of a class in its source; its number if it has none. May hold any bytes: see shown_text().
  [[nodiscard]] std::string class_name(std::uint32_t label) const;
  // `options`, of which these data were made, with what was left open filled in: the same data come of them.
  [[nodiscard]] virtual DataOptions resolved(DataOptions options) const;
  // What the user should know about the data, a line each, fit to be printed.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
  // Moves the samples to memory that other processes of this machine can see, of which attach_data() makes the same
  // data there. Null, and nothing happens, if there is nothing to move: samples that are generated when needed. Not
  // while another thread uses the data; views that were taken before are no longer valid. After a failure all is as
  // before.
  [[nodiscard]] virtual Result<std::shared_ptr<const SharedMemory>> share();
  // One line for people, e.g. "fashion-mnist, dirichlet 0.1, 100 clients, 60000 train, 10000 test".
  [[nodiscard]] virtual std::string summary() const = 0;
};

// The [data] section of a recipe. Unset optionals take the source's or the partition's default.
struct DataOptions {
  std::string source = "demo";  // catalogue name, or csv | npz | leaf | idx | cifar | speech with `path`
  std::string path;             // file or folder; overrides where a catalogue source is looked for
  std::string partition;        // "" = natural where the source has clients, else iid
  std::optional<std::uint32_t> clients;
  std::optional<double> alpha;  // Dirichlet concentration, or Synthetic's alpha
  std::optional<double> beta;   // Synthetic's beta
  std::uint32_t classes_per_client = 2;
  std::string label_groups;  // classes of each block of clients, e.g. "0-2,3-6,4+7+9"; "" = AutoCFL's four
  std::optional<std::uint32_t> rotations;  // 1, 2 or 4 (default) blocks of clients with turned images
  bool imbalance = false;  // of every 20 clients, 3 keep 10 %, 3 keep 30 %, 3 keep 60 % of their samples
  std::optional<std::uint32_t> samples_min;  // per client, where the partition draws sizes
  std::optional<std::uint32_t> samples_max;
  std::optional<double> test_fraction;  // of each client's samples, kept for its own test
  double validation_fraction = 0;       // of each client's training samples, kept to judge models during training
  bool merge_test = false;              // the source's test set joins the training samples before they are divided
  std::uint32_t edges = 1;
  std::uint32_t exemplars = 0;    // per class, taken from the test set for the server
  bool fewer_exemplars = false;   // as many of them as the rarest class has, with a note, instead of an error
  bool augment = false;           // random crop (padding 4) and flip, for training images
  double augment_minority = 0;    // copies of rare classes, changed a little: (mean / count)^this as many; 0 = none
  std::optional<bool> normalize;  // standardise on the training part; default: what the source is used with
  std::string label = "label";    // csv column or npz array
  std::string client = "client";
  std::string split = "split";
  std::vector<std::uint32_t> shape;       // height, width, channels for flat rows
  std::string missing = "error";          // csv cells that are empty, NA, ?, ...: error | mean | drop
  std::string delimiter;                  // of a csv file: , | ; | tab | "|"; "" = found in the file
  std::string decimal;                    // of a csv file: point | comma; "" = found in the file
  std::vector<std::string> features;      // csv columns that are used; empty = all but label, client and split
  std::vector<std::string> drop;          // csv columns that are not used
  std::vector<std::string> categorical;   // csv columns of which each value is a feature, also if they are numbers
  std::string text;                       // csv column of texts, which are the samples; "" = features
  std::string embedding;                  // GloVe text file for leaf sources
  std::string tokens;                     // what texts are cut into: characters | words; "" = words with vectors
  std::string vocabulary;                 // file of tokens, one per line; "" = made of the training texts
  std::uint32_t vocabulary_size = 10000;  // tokens at most of one that is made
  std::optional<std::uint32_t> words;     // tokens per text; default 25, of characters 80
};

// Reads the source and divides it among clients. Everything random comes from `seed`.
// Errors name the key, the bad value and what is accepted, or the file and what is wrong with it.
[[nodiscard]] Result<std::unique_ptr<FederatedData>> make_federated_data(const DataOptions& options,
                                                                         std::uint64_t seed);

// Whether the recipe leaves the data to clients with files of their own (a table or arrays, without a path): a
// deployment has such, a simulation does not.
[[nodiscard]] bool held_by_clients(const DataOptions& options);

// Whether they are read or made in advance, and kept: FederatedData::share() then has something to move.
[[nodiscard]] bool stores_samples(const DataOptions& options);

// The augmentation that `options.augment` asks for.
[[nodiscard]] Augmentation augmentation_of(const DataOptions& options);

// For `muster list` and error messages.
[[nodiscard]] std::vector<CatalogueEntry> data_sources();
[[nodiscard]] std::vector<CatalogueEntry> partitions();

}  // namespace muster
