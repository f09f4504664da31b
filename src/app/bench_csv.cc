#include "app/bench_csv.h"

#include <cstdlib>
#include <fstream>
#include <vector>

#include "app/bench_clock.h"
#include "app/temporary_folder.h"
#include "base/random.h"
#include "data/readers/csv.h"

namespace muster {
namespace {

constexpr std::uint32_t kClasses = 10;

// The numbers of a row, from -99.9999 to 99.9999 in ten-thousandths, and its label.
struct Row {
  std::vector<std::int32_t> cells;
  std::uint32_t label = 0;
};

class CheckedRows {
 public:
  explicit CheckedRows(std::uint32_t columns) : row_{.cells = std::vector<std::int32_t>(columns)} {}
  const Row& next() {
    for (std::int32_t& cell : row_.cells) cell = static_cast<std::int32_t>(stream_.below(1999999)) - 999999;
    row_.label = stream_.below(kClasses);
    return row_;
  }

 private:
  Stream stream_{{.seed = 1, .purpose = Purpose::kBench}};
  Row row_;
};

void append(std::int32_t cell, std::string& text) {
  const std::uint32_t size = static_cast<std::uint32_t>(std::abs(cell));
  if (cell < 0) text += '-';
  const fmt::format_int whole(size / 10000);
  text.append(whole.data(), whole.size());
  text += '.';
  for (std::uint32_t unit = 1000; unit > 0; unit /= 10) text += static_cast<char>('0' + size / unit % 10);
}

Result<std::uint64_t> write_table(const std::filesystem::path& path, const CsvBenchOptions& options) {
  std::ofstream file(path, std::ios::binary);
  std::string text;
  for (std::uint32_t c = 0; c < options.columns; ++c) text += fmt::format("f{},", c);
  text += "label\n";
  CheckedRows rows(options.columns);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < options.rows; ++i) {
    const Row& row = rows.next();
    for (const std::int32_t cell : row.cells) {
      append(cell, text);
      text += ',';
    }
    text += static_cast<char>('0' + row.label);
    text += '\n';
    if (text.size() > (1u << 20) || i + 1 == options.rows) {
      file.write(text.data(), static_cast<std::streamsize>(text.size()));
      bytes += text.size();
      text.clear();
    }
  }
  file.close();
  if (!file) return failure("{}: cannot write", path.string());
  return bytes;
}

std::size_t wrong_values(const RawData& data, const CsvBenchOptions& options) {
  if (data.train.size() != options.rows || data.train.shape.size() != options.columns) return options.rows;
  std::size_t wrong = 0;
  CheckedRows rows(options.columns);
  const float* at = data.train.floats.data();
  for (std::size_t i = 0; i < options.rows; ++i) {
    const Row& row = rows.next();
    for (const std::int32_t cell : row.cells) wrong += *at++ == static_cast<float>(cell / 10000.0) ? 0 : 1;
    wrong += data.train.labels[i] == static_cast<std::int32_t>(row.label) ? 0 : 1;
  }
  return wrong;
}

// What most would write: a line at a time, a number at a time. A tenth of the rows is enough to know its speed.
double reference_bytes_per_s(const std::filesystem::path& path, const CsvBenchOptions& options) {
  std::ifstream file(path);
  std::string line;
  std::vector<float> numbers;
  std::uint64_t bytes = 0;
  const double start = cpu_seconds();
  for (std::size_t i = 0; i <= options.rows / 10 + 1 && std::getline(file, line); ++i) {
    bytes += line.size() + 1;
    if (i == 0) continue;
    const char* at = line.c_str();
    for (char* end = nullptr;; at = end + 1) {
      numbers.push_back(std::strtof(at, &end));
      if (*end == '\0') break;
    }
  }
  return static_cast<double>(bytes) / (cpu_seconds() - start);
}

}  // namespace

Result<CsvBench> run_csv_bench(const CsvBenchOptions& options) {
  MUSTER_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
  const std::filesystem::path path = folder / "table.csv";
  if (options.say) options.say(fmt::format("writing {} rows of {} columns", options.rows, options.columns));
  CsvBench bench;
  MUSTER_ASSIGN(bench.bytes, write_table(path, options));
  if (options.say) options.say("reading them");
  const double start = cpu_seconds();
  MUSTER_ASSIGN(const RawData data, read_csv(path, {}));
  bench.seconds = cpu_seconds() - start;
  bench.bytes_per_s = static_cast<double>(bench.bytes) / bench.seconds;
  bench.rows_per_s = static_cast<double>(options.rows) / bench.seconds;
  bench.wrong = wrong_values(data, options);
  if (options.say) options.say("reading a tenth of them line by line");
  bench.reference_bytes_per_s = reference_bytes_per_s(path, options);
  bench.ratio = bench.bytes_per_s / bench.reference_bytes_per_s;
  return bench;
}

}  // namespace muster
