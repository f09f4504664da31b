#include "base/check.h"
#include "data/readers/leaf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string& word : leaf_words(text)) MUSTER_CHECK(!word.empty(), "empty word");
  if (const auto file = parse_leaf(text)) {
    const std::size_t rows =
        file->texts.empty() ? (file->features > 0 ? file->numbers.size() / file->features : 0) : file->texts.size();
    MUSTER_CHECK(rows == file->labels.size() && rows == file->owners.size(), "{} rows, {} labels, {} owners", rows,
                 file->labels.size(), file->owners.size());
    MUSTER_CHECK(file->numbers.size() == (file->texts.empty() ? rows * file->features : 0), "{} numbers",
                 file->numbers.size());
    for (const std::uint32_t owner : file->owners) MUSTER_CHECK(owner < file->users.size(), "owner {}", owner);
  }
  return 0;
}
