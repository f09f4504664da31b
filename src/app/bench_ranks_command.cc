// `muster bench ranks`: two ranks against two threads.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/bench_commands.h"
#include "app/bench_ranks.h"
#include "record/json_text.h"

namespace muster {
namespace {

struct BenchRanksArguments {
  RanksBenchOptions options;
  bool json = false;
};

Status bench_ranks(BenchRanksArguments arguments) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return failure("cannot find this program: {}", error.message());
  if (program.filename() != "muster-mpi") {
    return usage_error("bench ranks: this program was built without MPI; use `./muster --with mpi bench ranks`");
  }
  arguments.options.program = program.string();
  MUSTER_ASSIGN(const std::vector<RanksCase> cases, run_ranks_bench(arguments.options));
  if (arguments.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const RanksCase& c : cases) {
      list.push_back({{"case", c.name},
                      {"seconds", c.seconds},
                      {"at_most", c.at_most},
                      {"checked", c.checked},
                      {"exponent", nullptr},
                      {"ratio", c.ratio},
                      {"bytes", c.bytes},
                      {"bytes_at_most", c.bytes_at_most},
                      {"ordered_share", c.ordered_share},
                      {"extra_rank_mb", c.extra_rank_mb},
                      {"extra_rank_at_most_mb", c.extra_rank_at_most_mb},
                      {"ok", c.ok()}});
    }
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"cases", list}}));
  } else {
    for (const RanksCase& c : cases) {
      fmt::print("{:<4} {:<34} {:>8.3f} s (at most {:.3f}), {:.2f} of the speed of one process\n",
                 c.ok() ? "ok" : "over", c.name, c.seconds, c.at_most, c.ratio);
      fmt::print(
          "     {:.1f} MB travelled{}, {:.1f} % of rank 0's time in ordered sums\n"
          "     {:.0f} MB of the second rank's own (at most {:.0f}); {}\n",
          static_cast<double>(c.bytes) / 1e6,
          c.bytes_at_most > 0 ? fmt::format(" (at most {:.1f})", static_cast<double>(c.bytes_at_most) / 1e6) : "",
          100 * c.ordered_share, c.extra_rank_mb, c.extra_rank_at_most_mb, c.checked);
    }
  }
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  return {};
}

}  // namespace

void add_bench_ranks_command(Command bench) {
  auto arguments = std::make_shared<BenchRanksArguments>();
  arguments->options.say = [](const std::string& text) { std::fprintf(stderr, "muster: %s\n", text.c_str()); };
  Command command =
      bench.add_command("ranks", "Two MPI ranks with a thread each against one process with two: time, bytes, memory");
  command.add_option("--case", arguments->options.only, "Only the cases with this in their name, e.g. softmax");
  command.add_option("--repeats", arguments->options.repeats, "Pairs of runs, of which the one in the middle counts")
      .between(1, 100)
      .show_default();
  command.add_option("--scale", arguments->options.scale, "Of the rounds: 0.1 for a quick look")
      .at_least(0)
      .show_default();
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  command.set_footer("Example:\n  ./muster --with mpi bench ranks --case cnn");
  command.set_action([arguments] { return bench_ranks(*arguments); });
}

}  // namespace muster
