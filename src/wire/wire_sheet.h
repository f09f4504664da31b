// Data sheets as messages and back. What is read comes from a peer: check_sheet() (data/data_sheet.h) says whether it
// makes sense.
#pragma once

#include <muster/v1/federation.pb.h>

#include "data/data_sheet.h"

namespace muster {

void put(const DataSheet& sheet, v1::DataSheet& out);
[[nodiscard]] DataSheet take_sheet(const v1::DataSheet& in);

// A sheet goes in one frame, of which the rest is little.
inline constexpr std::size_t kMostSheetBytes = std::size_t{7} << 19;  // 3.5 MiB
[[nodiscard]] Status check_sheet_size(const v1::DataSheet& sheet);

}  // namespace muster
