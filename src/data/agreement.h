// DataAgreement: what clients with data of their own have in common, made of what each told: how rows become numbers
// (columns and their order, categories, what fills missing cells, the scale of features, class names), and how many
// samples each has. Made once, before the first round; whoever comes later fits it or is refused. Needs no sample.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/data_sheet.h"
#include "data/federated_data.h"

namespace muster {

struct SheetOf {
  std::string name;  // of the client
  DataSheet sheet;
};

// Numbers by value if all names are numbers, else by bytes: the order that the clients of a table have.
void sort_by_name(std::vector<SheetOf>& sheets);

struct DataAgreement {
  Preparation preparation;
  std::vector<std::size_t> misfits;  // whose data are not of the form that most have, ascending
};

// `sheets` in the order of clients; each passes check_sheet(). The form (columns and what they hold, or the shape of
// arrays; whether labels are numbers) is that of most clients, of the first ones if several are as frequent; the order
// of columns is that of the first client of this form. Classes are all labels, sorted as those of a table. Fails if
// these clients cannot be brought together by any choice of them, naming the key.
[[nodiscard]] Result<DataAgreement> agree(std::span<const SheetOf> sheets, const DataOptions& options);

// Whether data that a sheet tells of can be read as was agreed; the error says what differs, to whoever brings them.
[[nodiscard]] Status check_fits(const DataSheet& sheet, const Preparation& agreed);

// Refuses options that mean nothing, or cannot be kept, where data are held by clients.
[[nodiscard]] Status check_held_by_clients(const DataOptions& options);

// What a client has of each kind: its rows, cut as the options say.
[[nodiscard]] SampleCounts counts_of(std::uint32_t rows, std::uint32_t test_rows, const Preparation& agreed,
                                     const DataOptions& options);

// A client as the server knows it; without samples: a place that nobody has taken yet.
struct ToldClient {
  std::string name;
  SampleCounts counts;
};
// All that a server knows of such data: counts and names. Views of samples are empty.
[[nodiscard]] std::unique_ptr<FederatedData> make_told_data(const DataOptions& options, Preparation agreed,
                                                            std::vector<ToldClient> clients);

// Where a client's own rows are among those of all.
struct OwnPlace {
  ClientId client;
  std::uint32_t clients = 1;
  std::string name;
};
// The client's own file, options.path, read as was agreed and cut as the options say: the data of all clients, of which
// only this one's are here.
[[nodiscard]] Result<std::unique_ptr<FederatedData>> make_own_data(const DataOptions& options,
                                                                   const Preparation& agreed, const OwnPlace& place,
                                                                   std::uint64_t seed);

}  // namespace muster
