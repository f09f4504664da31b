// `muster bench csv`: megabytes and rows per second of the table reader.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/bench_commands.h"
#include "app/bench_csv.h"
#include "record/json_text.h"

namespace muster {
namespace {

struct BenchCsvArguments {
  std::uint32_t rows = 1'000'000;
  std::uint32_t columns = 50;
  bool json = false;
};

Status bench_csv(const BenchCsvArguments& arguments) {
  const CsvBenchOptions options{
      .rows = arguments.rows, .columns = arguments.columns, .say = [](const std::string& text) {
        std::fprintf(stderr, "muster: %s\n", text.c_str());
      }};
  MUSTER_ASSIGN(const CsvBench bench, run_csv_bench(options));
  const double megabyte = 1e6;
  if (arguments.json) {
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"rows", arguments.rows},
                                                        {"columns", arguments.columns},
                                                        {"bytes", bench.bytes},
                                                        {"seconds", bench.seconds},
                                                        {"mb_per_s", bench.bytes_per_s / megabyte},
                                                        {"rows_per_s", bench.rows_per_s},
                                                        {"reference_mb_per_s", bench.reference_bytes_per_s / megabyte},
                                                        {"ratio", bench.ratio},
                                                        {"checked", bench.wrong == 0}}));
  } else {
    fmt::print(
        "{} rows of {} columns, {:.0f} MB: {:.2f} s of one core, {:.0f} MB/s, {:.0f} rows/s; {:.1f} times as fast "
        "as getline and strtof ({:.0f} MB/s)\n",
        arguments.rows, arguments.columns, static_cast<double>(bench.bytes) / megabyte, bench.seconds,
        bench.bytes_per_s / megabyte, bench.rows_per_s, bench.ratio, bench.reference_bytes_per_s / megabyte);
  }
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  if (bench.wrong > 0) return failure("{} values were read wrongly", bench.wrong);
  return {};
}

}  // namespace

void add_bench_csv_command(Command bench) {
  auto arguments = std::make_shared<BenchCsvArguments>();
  Command command = bench.add_command("csv", "Speed of reading a table, against getline and strtof");
  command.set_footer("Example:\n  muster bench csv --rows 100000 --json");
  command.add_option("--rows", arguments->rows, "Rows of the table").between(1, 100'000'000).show_default();
  command.add_option("--columns", arguments->columns, "Columns of numbers").between(1, 100'000).show_default();
  command.add_flag("--json", arguments->json, "As one JSON object");
  command.set_action([arguments] { return bench_csv(*arguments); });
}

}  // namespace muster
