// The commands under `muster runs`, one file each, and what they share.
#pragma once

#include <string>
#include <vector>

#include "app/commands.h"
#include "store/store.h"

namespace muster {

void add_runs_show_command(Command runs);
void add_runs_diff_command(Command runs);
void add_runs_tag_commands(Command runs);
void add_runs_delete_command(Command runs);
void add_runs_export_command(Command runs);
void add_runs_reindex_command(Command runs);

// The store of the folder, up to date with it. Where it cannot be kept, a note says so, and it is made from the
// folders.
[[nodiscard]] Result<Store> open_store(const std::string& out);

// Cells under each other, by characters. The first row is the header; `right` says which columns are of numbers.
void print_table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

// What was printed has left the program.
[[nodiscard]] Status flush_result();

}  // namespace muster
