#include "base/check.h"
#include "data/readers/leaf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const TokenKind kind : {TokenKind::kCharacters, TokenKind::kWords}) {
    const std::string texts[] = {std::string(text)};
    const Vocabulary vocabulary = Vocabulary::of(texts, kind, 7);
    std::uint32_t ids[5];
    vocabulary.encode(text, kind, ids);
    for (const std::uint32_t id : ids) MUSTER_CHECK(id < vocabulary.size(), "id {} of {}", id, vocabulary.size());
  }
  if (const auto vocabulary = Vocabulary::parse(text)) MUSTER_CHECK(vocabulary->size() > 2, "no tokens");
  for (const std::string& word : leaf_words(text)) MUSTER_CHECK(!word.empty(), "empty word");
  if (const auto file = parse_leaf(text)) {
    const std::size_t rows =
        file->texts.empty() ? (file->features > 0 ? file->numbers.size() / file->features : 0) : file->texts.size();
    const std::size_t labels = file->labels.size() + file->label_texts.size();
    MUSTER_CHECK(rows == labels && rows == file->owners.size(), "{} rows, {} labels, {} owners", rows, labels,
                 file->owners.size());
    MUSTER_CHECK(file->labels.empty() || file->label_texts.empty(), "labels are numbers or texts");
    MUSTER_CHECK(file->numbers.size() == (file->texts.empty() ? rows * file->features : 0), "{} numbers",
                 file->numbers.size());
    for (const std::uint32_t owner : file->owners) MUSTER_CHECK(owner < file->users.size(), "owner {}", owner);
  }
  return 0;
}
