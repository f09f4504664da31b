// What clients with data of their own tell of them, several at a time: sheets that are taken for sound can be written,
// brought together and fitted to what was agreed, whatever else they say; what is refused is refused in one line.
#include <array>

#include "base/check.h"
#include "data/agreement.h"
#include "data/shown_text.h"
#include "frame_list.h"
#include "wire/wire_sheet.h"

namespace muster {
namespace {

void check_line(const Error& error) {
  MUSTER_CHECK(shown_text(error.message) == error.message && error.message.size() < 4000, "said {}",
               shown_text(error.message));
}

// What a recipe may want of them.
DataOptions options_of(std::uint8_t choice) {
  constexpr std::array kMissing{"error", "drop", "mean", "mean"};
  DataOptions options;
  options.source = choice % 2 == 0 ? "csv" : "npz";
  options.missing = kMissing[choice / 2 % 4];
  if (choice & 8) options.normalize = (choice & 16) != 0;
  if (choice & 32) options.test_fraction = 0.3;
  options.merge_test = (choice & 64) != 0;
  if (choice & 128) options.validation_fraction = 0.25;
  options.label = "y";
  options.split = "split";
  return options;
}

// Without what only the other kind of source has: it is not sent.
DataSheet as_sent(DataSheet sheet) {
  if (!sheet.columns.empty()) {
    sheet.shape = {};
    sheet.bytes = false;
  }
  return sheet;
}

void check_sent(const DataSheet& sheet) {
  v1::DataSheet again;
  put(sheet, again);
  const DataSheet read = take_sheet(again);
  MUSTER_CHECK(read == as_sent(sheet) && fingerprint(read) == fingerprint(as_sent(sheet)),
               "not read as it was written");
}

void check_counts(const DataSheet& sheet, const Preparation& agreed, const DataOptions& options) {
  const SampleCounts counts = counts_of(sheet.rows, sheet.test_rows, agreed, options);
  const std::uint64_t all = std::uint64_t{counts.train} + counts.test + counts.validation;
  MUSTER_CHECK(all <= std::uint64_t{sheet.rows} + sheet.test_rows, "{} samples of {} and {} rows", all, sheet.rows,
               sheet.test_rows);
}

void bring_together(std::vector<SheetOf> sheets, const DataOptions& options) {
  sort_by_name(sheets);
  const Result<DataAgreement> agreement = agree(sheets, options);
  if (!agreement) return check_line(agreement.error());
  const Preparation& agreed = agreement->preparation;
  const auto again = parse_preparation(to_json(agreed));
  MUSTER_CHECK(again.ok() && to_json(*again) == to_json(agreed), "{}", to_json(agreed));
  std::size_t misfit = 0;
  for (std::size_t i = 0; i < sheets.size(); ++i) {
    const Status fits = check_fits(sheets[i].sheet, agreed);
    if (!fits) check_line(fits.error());
    if (misfit < agreement->misfits.size() && agreement->misfits[misfit] == i) {
      ++misfit;
    } else {
      MUSTER_CHECK(fits.ok(), "client {} of {} does not fit what it agreed to", i, sheets.size());
      check_counts(sheets[i].sheet, agreed, options);
    }
  }
  MUSTER_CHECK(misfit == agreement->misfits.size() && misfit < sheets.size(), "{} misfits", misfit);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (size == 0) return 0;
  const DataOptions options = options_of(data[0]);
  std::vector<SheetOf> sound;
  each_frame({reinterpret_cast<const char*>(data) + 1, size - 1}, [&](std::string_view bytes) {
    v1::Frame frame;
    if (!frame.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !frame.has_hello()) return;
    for (const v1::Client& client : frame.hello().clients()) {
      DataSheet sheet = take_sheet(client.data());
      const Status status = check_sheet(sheet, options);
      if (!status) {
        check_line(status.error());
        continue;
      }
      check_sent(sheet);
      sound.push_back({client.name(), std::move(sheet)});
    }
  });
  if (!sound.empty()) bring_together(std::move(sound), options);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
  return muster::mutate_frame_list(data, size, most, seed);
}
