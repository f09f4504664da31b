#include "data/shared_data.h"

#include <array>
#include <cstring>

#include "data/edges.h"

namespace muster {
namespace {

constexpr std::size_t kAlignment = 64;

// Numbers that are not part of a column.
struct Facts {
  std::uint32_t storage = 0;
  Shape shape;
  std::uint32_t classes = 0;
  std::uint32_t edges = 1;
  std::uint32_t tests_in_train = 0;
  std::uint32_t global_in_train = 0;
  std::uint32_t dimension = 0;  // of word vectors; 0 = none
};
static_assert(std::is_trivially_copyable_v<Facts>);

// The columns in the order in which they lie there, each at a multiple of kAlignment after a list of their sizes.
enum Column : std::uint32_t {
  kFacts,
  kTrainLabels,
  kTrainBytes,
  kTrainFloats,
  kTrainTokens,
  kTestLabels,
  kTestBytes,
  kTestFloats,
  kTestTokens,
  kWordVectors,
  kTrainScale,
  kTrainOffset,
  kTestScale,
  kTestOffset,
  kTrainOffsets,
  kTrainRows,
  kQuarterTurns,
  kPlanted,
  kTestOffsets,
  kTestRows,
  kValidationOffsets,
  kValidationRows,
  kGlobalTest,
  kGlobalValidation,
  kExemplars,
  kColumns
};
using Sizes = std::array<std::uint64_t, kColumns>;  // in bytes

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// What goes into a column, and what becomes of it where it was.
struct Piece {
  std::span<const std::byte> bytes;
  std::function<void()> release = nullptr;
};

template <typename T>
Piece copied(std::span<const T> values) {
  return {std::as_bytes(values)};
}
template <typename T>
Piece copied(const std::vector<T>& values) {
  return copied(std::span<const T>(values));
}
template <typename T>
Piece moved(std::vector<T>& values) {
  return {std::as_bytes(std::span<const T>(values)), [&values] { std::vector<T>().swap(values); }};
}

class Columns {
 public:
  // Fails if the sizes are not those of the memory.
  static Result<Columns> read(std::span<const std::byte> memory) {
    Columns columns;
    Sizes sizes{};
    std::size_t at = aligned(sizeof sizes);
    if (memory.size() < at) return failure("the shared data are malformed");
    std::memcpy(&sizes, memory.data(), sizeof sizes);
    for (std::size_t i = 0; i < kColumns; ++i) {
      if (sizes[i] > memory.size() - at) return failure("the shared data are malformed");
      columns.columns_[i] = memory.subspan(at, sizes[i]);
      at = std::min(memory.size(), at + aligned(sizes[i]));
    }
    return columns;
  }

  template <typename T>
  [[nodiscard]] std::span<const T> get(Column column) const {
    const std::span<const std::byte> bytes = columns_[column];
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  std::array<std::span<const std::byte>, kColumns> columns_;
};

Samples samples_of(const Columns& columns, const Facts& facts, Column labels, Column scale) {
  Samples samples;
  samples.storage = static_cast<Samples::Storage>(facts.storage);
  samples.shape = facts.shape;
  samples.classes = facts.classes;
  const auto after = [&](std::uint32_t steps) { return static_cast<Column>(labels + steps); };
  samples.shared = SampleValues{.labels = columns.get<std::int32_t>(labels),
                                .bytes = columns.get<std::uint8_t>(after(1)),
                                .floats = columns.get<float>(after(2)),
                                .tokens = columns.get<std::uint32_t>(after(3)),
                                .word_vectors = columns.get<float>(kWordVectors),
                                .dimension = facts.dimension};
  const std::span<const float> scales = columns.get<float>(scale);
  const std::span<const float> offsets = columns.get<float>(static_cast<Column>(scale + 1));
  samples.scale.assign(scales.begin(), scales.end());
  samples.offset.assign(offsets.begin(), offsets.end());
  return samples;
}

// A Division that lies elsewhere.
struct RowsOfClients {
  std::span<const std::uint32_t> offsets;
  std::span<const std::uint32_t> rows;

  [[nodiscard]] std::uint32_t size(ClientId client) const { return offsets[client.value + 1] - offsets[client.value]; }
  [[nodiscard]] std::span<const std::uint32_t> of(ClientId client) const {
    return rows.subspan(offsets[client.value], size(client));
  }
};

class AttachedData final : public FederatedData {
 public:
  AttachedData(std::shared_ptr<const SharedMemory> memory, const Columns& columns, const Facts& facts)
      : memory_(std::move(memory)),
        facts_(facts),
        train_(samples_of(columns, facts, kTrainLabels, kTrainScale)),
        test_(samples_of(columns, facts, kTestLabels, kTestScale)),
        train_rows_{columns.get<std::uint32_t>(kTrainOffsets), columns.get<std::uint32_t>(kTrainRows)},
        test_rows_{columns.get<std::uint32_t>(kTestOffsets), columns.get<std::uint32_t>(kTestRows)},
        validation_rows_{columns.get<std::uint32_t>(kValidationOffsets), columns.get<std::uint32_t>(kValidationRows)},
        quarter_turns_(columns.get<std::uint8_t>(kQuarterTurns)),
        planted_(columns.get<std::uint32_t>(kPlanted)),
        global_test_(columns.get<std::uint32_t>(kGlobalTest)),
        global_validation_(columns.get<std::uint32_t>(kGlobalValidation)),
        exemplars_(columns.get<std::uint32_t>(kExemplars)) {}

  std::uint32_t clients() const override { return static_cast<std::uint32_t>(train_rows_.offsets.size() - 1); }
  Shape shape() const override { return facts_.shape; }
  std::uint32_t classes() const override { return facts_.classes; }
  std::uint32_t train_count(ClientId client) const override { return train_rows_.size(client); }
  std::uint32_t test_count(ClientId client) const override { return test_rows_.size(client); }
  std::uint32_t validation_count(ClientId client) const override { return validation_rows_.size(client); }
  SampleView train(ClientId client, SampleBuffer&) const override {
    return {&train_, train_rows_.of(client), turns(client)};
  }
  SampleView test(ClientId client, SampleBuffer&) const override {
    return {facts_.tests_in_train ? &train_ : &test_, test_rows_.of(client), turns(client)};
  }
  SampleView validation(ClientId client, SampleBuffer&) const override {
    return {&train_, validation_rows_.of(client), turns(client)};
  }
  SampleView global_validation() const override { return {&train_, global_validation_, 0}; }
  SampleView global_test() const override { return {global(), global_test_, 0}; }
  SampleView exemplars() const override { return {global(), exemplars_, 0}; }
  std::vector<std::uint32_t> label_counts(ClientId client) const override {
    std::vector<std::uint32_t> counts(classes(), 0);
    const std::span<const std::int32_t> labels = train_.shared->labels;
    for (const std::uint32_t row : train_rows_.of(client)) ++counts[static_cast<std::size_t>(labels[row])];
    return counts;
  }
  std::uint32_t edges() const override { return facts_.edges; }
  std::uint32_t edge(ClientId client) const override { return edge_of(client, clients(), facts_.edges); }
  std::optional<std::uint32_t> planted_cluster(ClientId client) const override {
    if (planted_.empty()) return std::nullopt;
    return planted_[client.value];
  }
  std::string summary() const override { return fmt::format("data of another process, {} clients", clients()); }

 private:
  const Samples* global() const { return facts_.global_in_train ? &train_ : &test_; }
  std::uint32_t turns(ClientId client) const { return quarter_turns_.empty() ? 0 : quarter_turns_[client.value]; }

  const std::shared_ptr<const SharedMemory> memory_;
  const Facts facts_;
  const Samples train_;
  const Samples test_;
  const RowsOfClients train_rows_;
  const RowsOfClients test_rows_;
  const RowsOfClients validation_rows_;
  const std::span<const std::uint8_t> quarter_turns_;
  const std::span<const std::uint32_t> planted_;
  const std::span<const std::uint32_t> global_test_;
  const std::span<const std::uint32_t> global_validation_;
  const std::span<const std::uint32_t> exemplars_;
};

}  // namespace

Result<std::shared_ptr<const SharedMemory>> share_arrays(const SharedArrays& parts) {
  Samples& train = *parts.train;
  Samples& test = *parts.test;
  const Facts facts{.storage = static_cast<std::uint32_t>(train.storage),
                    .shape = train.shape,
                    .classes = train.classes,
                    .edges = parts.edges,
                    .tests_in_train = parts.tests_in_train ? 1u : 0u,
                    .global_in_train = parts.global_in_train ? 1u : 0u,
                    .dimension = train.vectors ? train.vectors->dimension : 0};
  std::array<Piece, kColumns> pieces;
  pieces[kFacts] = copied(std::span(&facts, 1));
  pieces[kTrainLabels] = moved(train.labels);
  pieces[kTrainBytes] = moved(train.bytes);
  pieces[kTrainFloats] = moved(train.floats);
  pieces[kTrainTokens] = moved(train.tokens);
  pieces[kTestLabels] = moved(test.labels);
  pieces[kTestBytes] = moved(test.bytes);
  pieces[kTestFloats] = moved(test.floats);
  pieces[kTestTokens] = moved(test.tokens);
  if (train.vectors) {
    pieces[kWordVectors] = copied(train.vectors->rows);
    pieces[kWordVectors].release = [&] {
      train.vectors.reset();
      test.vectors.reset();  // the same
    };
  }
  pieces[kTrainScale] = copied(train.scale);
  pieces[kTrainOffset] = copied(train.offset);
  pieces[kTestScale] = copied(test.scale);
  pieces[kTestOffset] = copied(test.offset);
  pieces[kTrainOffsets] = copied(parts.train_rows->offsets);
  pieces[kTrainRows] = copied(parts.train_rows->rows);
  pieces[kQuarterTurns] = copied(parts.train_rows->quarter_turns);
  pieces[kPlanted] = copied(parts.train_rows->planted);
  pieces[kTestOffsets] = copied(parts.test_rows->offsets);
  pieces[kTestRows] = copied(parts.test_rows->rows);
  pieces[kValidationOffsets] = copied(parts.validation_rows->offsets);
  pieces[kValidationRows] = copied(parts.validation_rows->rows);
  pieces[kGlobalTest] = copied(parts.global_test);
  pieces[kGlobalValidation] = copied(parts.global_validation);
  pieces[kExemplars] = copied(parts.exemplars);

  Sizes sizes{};
  std::size_t all = aligned(sizeof sizes);
  for (std::size_t i = 0; i < kColumns; ++i) {
    sizes[i] = pieces[i].bytes.size();
    all += aligned(sizes[i]);
  }
  const auto fill = [&](std::span<std::byte> room) {
    std::memcpy(room.data(), &sizes, sizeof sizes);
    std::size_t at = aligned(sizeof sizes);
    for (const Piece& piece : pieces) {
      if (!piece.bytes.empty()) std::memcpy(room.data() + at, piece.bytes.data(), piece.bytes.size());
      at += aligned(piece.bytes.size());
      if (piece.release) piece.release();
    }
  };
  MUSTER_ASSIGN(std::shared_ptr<const SharedMemory> memory, SharedMemory::make(all, fill));
  MUSTER_ASSIGN(const Columns columns, Columns::read(memory->bytes()));
  train.shared = samples_of(columns, facts, kTrainLabels, kTrainScale).shared;
  test.shared = samples_of(columns, facts, kTestLabels, kTestScale).shared;
  return memory;
}

Result<std::unique_ptr<FederatedData>> attach_data(std::shared_ptr<const SharedMemory> memory) {
  MUSTER_ASSIGN(const Columns columns, Columns::read(memory->bytes()));
  const std::span<const Facts> facts = columns.get<Facts>(kFacts);
  if (facts.size() != 1 || columns.get<std::uint32_t>(kTrainOffsets).size() < 2) {
    return failure("the shared data are malformed");
  }
  return std::unique_ptr<FederatedData>(new AttachedData(std::move(memory), columns, facts.front()));
}

}  // namespace muster
