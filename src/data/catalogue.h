// The catalogue of sources: what each holds, where it is looked for, how to get it, how it is read.
// federated_data.h has the door through which a run enters; this is for commands that show or fetch data.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/federated_data.h"
#include "data/raw_data.h"

namespace muster {

enum class SourceKind {
  kGenerated,  // needs no files
  kNamed,      // a known data set in a folder of its name
  kFormat,     // the user's own files, at data.path
};

struct SourceState {
  std::string name;
  std::string summary;
  SourceKind kind = SourceKind::kGenerated;
  std::string how_to_get;                        // one line; "" if there is nothing to get
  std::vector<std::filesystem::path> looked_in;  // in order; named sets only
  std::optional<std::filesystem::path> found;    // the first of these that holds the set
};

// Every source, in catalogue order. Looks at folders, reads no data.
[[nodiscard]] std::vector<SourceState> source_states();
// Fails, with the nearest name, if there is no such source.
[[nodiscard]] Result<SourceState> source_state(std::string_view name);

// The samples of a source that is stored (all but the virtual synthetic ones), normalised as the options say.
// `label` receives the name for people: "demo" says what it stands for.
[[nodiscard]] Result<RawData> read_source(const DataOptions& options, std::string& label);

// Where fetched sets go: $MUSTER_DATA, else $XDG_DATA_HOME/muster, else ~/.local/share/muster.
[[nodiscard]] std::filesystem::path own_data_folder();

}  // namespace muster
