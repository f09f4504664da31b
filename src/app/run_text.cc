#include "app/run_text.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "app/log_lines.h"
#include "app/print_field.h"
#include "base/names.h"
#include "base/shell_word.h"
#include "data/shown_text.h"
#include "data/wrapped_text.h"
#include "report/run_records.h"

namespace muster {
namespace {

constexpr std::size_t kLongName = 40;  // letters of a name that are shown

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f} %", 100 * *share) : std::string("-");
}

// What became of the run, after "RUN: N clients, ".
std::string ending(const RunSummary& s) {
  switch (s.stopped) {
    case StopReason::kRounds:
      return s.rounds == 1 ? std::string("1 round done") : fmt::format("all {} rounds done", s.rounds);
    case StopReason::kTarget:
      return fmt::format("stopped after round {}: target reached", s.rounds);
    case StopReason::kBudget:
      return fmt::format("stopped after round {}: {}budget spent", s.rounds, s.privacy_spent ? "privacy " : "");
    case StopReason::kPatience:
      return fmt::format("stopped after round {}: validation accuracy no longer rises", s.rounds);
    case StopReason::kDiverged:
      // Either the loss was seen, or no client sends anything that could be merged.
      return fmt::format("stopped after round {}: {} no longer finite", s.rounds,
                         s.loss_last && !std::isfinite(*s.loss_last) ? "the loss is" : "the clients' updates are");
    case StopReason::kInterrupted:
      return fmt::format("interrupted after round {}", s.rounds);
  }
  return {};
}

std::string accuracy_line(const RunSummary& s) {
  if (s.evaluated_round == 0) {
    return s.stopped == StopReason::kInterrupted ? "not evaluated yet" : "not evaluated: there are no test samples";
  }
  std::string line = fmt::format("last {}  best {}", percent(s.accuracy_last), percent(s.accuracy_best));
  if (s.accuracy_best) line += fmt::format(" (round {})", s.best_round);
  return line;
}

// What went wrong with the result, in a word, and what to do about it; empty where nothing did.
struct Trouble {
  std::string_view what;
  std::string_view advice;
};
Trouble trouble(const RunSummary& s) {
  if (s.stopped == StopReason::kInterrupted) return {};
  if (s.stopped == StopReason::kDiverged) {
    return {"diverged", "lower local.learning-rate, or try data.normalize=true"};
  }
  if (s.evaluated_round == 0) return {"evaluated", "nothing; test samples need data.test-fraction or a split column"};
  return {};
}

// "4 of 20 to 30 clients (mean 25.5), 3 idle, CoV 0.42, 4 models". Where clients keep their labels to themselves nobody
// knows how even the groups are.
std::string groups_line(const RunSummary& s) {
  return fmt::format("{} of {}, {} idle, {}{}", s.groups,
                     sizes_text(s.group_size_min, s.group_size_mean, s.group_size_max), s.idle,
                     std::isnan(s.quality.cov_mean) ? "" : fmt::format("CoV {:.2f}, ", s.quality.cov_mean),
                     counted(s.models, "model"));
}

std::string sites_line(const SiteFigures& sites, const AccuracySpread& spread) {
  const std::string worst =
      sites.worst_name.empty() ? fmt::format("client {}", sites.worst_client) : shown_name(sites.worst_name, kLongName);
  return fmt::format("of {}: worst {} ({}), a tenth at most {}, median {}, nine tenths at most {}", sites.evaluated,
                     percent(spread.worst), worst, percent(spread.p10), percent(spread.p50), percent(spread.p90));
}

// A sum of which too few members are left leaves its group's model as it was.
std::string sums_line(const RunSummary& s) {
  if (s.sums_abandoned == 0) return fmt::format("{}, none abandoned", counted(s.sums, "sum"));
  return fmt::format("{} of {} abandoned: too few members were left to open them", s.sums_abandoned,
                     counted(s.sums, "sum"));
}

// How the final models do from client to client, and from class to class.
void print_figures(const RunSummary& s) {
  if (s.kept_round > 0 && s.kept_round < s.rounds) {
    print_field("kept", fmt::format("the models of round {}, the best on validation samples ({})", s.kept_round,
                                    percent(s.validation_best)));
  }
  if (s.sites.spread && s.sites.evaluated > 1) print_field("sites", sites_line(s.sites, *s.sites.spread));
  if (!s.metrics || !s.metrics->macro_f1) return;
  std::string line = fmt::format("macro-F1 {}", percent(s.metrics->macro_f1));
  const ClassFigures* worst = nullptr;
  for (const ClassFigures& one : s.metrics->classes) {
    if (one.f1 && (!worst || *one.f1 < *worst->f1)) worst = &one;
  }
  if (worst) line += fmt::format(", worst {} ({})", percent(worst->f1), shown_name(worst->name, kLongName));
  if (s.metrics->auc) line += fmt::format(", AUC {:.4f}", *s.metrics->auc);
  print_field("classes", line);
}

// Phases that took no time are left out.
std::string time_line(const RunSummary& s) {
  std::string line = fmt::format("{:.2f} s", s.wall_s);
  const char* between = ": ";
  for (const auto& [phase, seconds] : {std::pair{"setup", s.setup_s},
                                       {"profiles", s.profile_s},
                                       {"grouping", s.group_s},
                                       {"training", s.train_s},
                                       {"evaluation", s.eval_s}}) {
    if (seconds >= 0.005) line += fmt::format("{}{} {:.2f}", std::exchange(between, ", "), phase, seconds);
  }
  return line;
}

}  // namespace

std::string sizes_text(double smallest, double mean, double largest) {
  return smallest == largest ? fmt::format("{} clients", smallest)
                             : fmt::format("{} to {} clients (mean {:.1f})", smallest, largest, mean);
}

void print_summary(const RunSummary& s) {
  std::string indent;
  const std::string head = fmt::format("{}: {}, {}", shown_text(s.run), counted(s.clients, "client"), ending(s));
  for (const std::string& line : wrapped(head, kTerminalColumns - 2)) {
    fmt::print("{}{}\n", std::exchange(indent, "  "), line);
  }
  print_field("accuracy", accuracy_line(s));
  print_figures(s);
  if (s.epsilon) {
    print_field("privacy", fmt::format("epsilon {:.3f} at delta {:g}, of each client", *s.epsilon, s.delta));
  }
  if (s.sums > 0) print_field("secure", sums_line(s));
  if (s.attack) {
    print_field("attack",
                fmt::format("{} by {}: {}", s.attack->kind, counted(s.attack->clients.size(), "client"),
                            s.attack->success ? "succeeds with " + percent(s.attack->success) + " of its samples"
                                              : std::string("its success is not measured")));
  }
  if (s.target_accuracy) {
    print_field("target", fmt::format("{}: {}", percent(s.target_accuracy),
                                      s.target_round ? fmt::format("reached in round {}", *s.target_round)
                                                     : std::string("not reached")));
  }
  if (s.groups > 1 && s.group_size_max > 1) print_field("groups", groups_line(s));
  if (s.truth) {
    print_field("clusters", fmt::format("{} formed in round {}: {} of {} clients right", s.groups, s.groups_since,
                                        s.truth->correct, s.truth->clients));
  }
  print_field("trained", fmt::format("{} samples, {:.0f} per second", s.samples_trained, s.samples_per_s()));
  print_field("time", time_line(s));
  print_field("simulated",
              fmt::format("{:.1f} s of computing, {:.1f} s of sending {:.1f} MB up and {:.1f} MB down", s.compute_s,
                          s.comm_s, static_cast<double>(s.bytes_up) / 1e6, static_cast<double>(s.bytes_down) / 1e6));
  print_field("signature", s.signature);
  fmt::print("  {:<10} {}\n", "folder", shown_text(s.dir.string()));  // in one piece, to be copied
  if (const Trouble found = trouble(s); !found.what.empty()) print_field(found.what, found.advice);
}

void print_advice(const RunSummary& s, bool json, const char* again) {
  const Trouble found = trouble(s);
  if (s.stopped == StopReason::kInterrupted) {
    log_line(LogLevel::kInfo, fmt::format("saved after round {}; continue with: {} {}", s.rounds, again,
                                          shown_text(shell_word(s.dir.string()))));
  } else if (json && s.stopped == StopReason::kDiverged) {
    log_line(LogLevel::kWarning, fmt::format("the run diverged; {}", found.advice));
  } else if (json && !found.what.empty()) {
    log_line(LogLevel::kWarning, fmt::format("evaluated {}", found.advice));
  }
}

}  // namespace muster
