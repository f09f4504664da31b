// What is suspicious about a table that could be read all the same.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/raw_data.h"

namespace muster {

// Columns of numbers that look like ids or times, or never vary: a line for each kind. `numbers` is rows x names.
[[nodiscard]] std::vector<std::string> notes_on_numbers(const std::vector<std::string>& names,
                                                        std::span<const float> numbers);

// Whether a text is a date or time of the usual forms: 2024-05-31, 31.5.2024, 5/31/24 with or without a time.
[[nodiscard]] bool looks_like_time(std::string_view text);

// Adds a note if the label has nearly as many values as there are rows.
void note_many_labels(const std::string& label, RawData& data);

// "'a', 'b', 'c', ... (12)": names for a line of text.
[[nodiscard]] std::string quoted_names(const std::vector<std::string>& names);

}  // namespace muster
