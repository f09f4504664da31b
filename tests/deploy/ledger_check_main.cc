// ledger_check RUN [--vectors DIR] [--lossless]: prints what was found in the ledger of a run's folder. The exit status
// is 0 if it is accepted, 1 if not.
#include <cstdio>
#include <string_view>

#include "ledger_check.h"

int main(int argc, char** argv) {
  ledger_check::LedgerQuestion question;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--lossless") {
      question.lossless = true;
    } else if (word == "--vectors" && i + 1 < argc) {
      question.vectors = argv[++i];
    } else {
      question.run = word;
    }
  }
  const ledger_check::LedgerFindings found = ledger_check::check_ledger(question);
  for (const std::string& fault : found.faults) std::printf("%s\n", fault.c_str());
  const auto shown = [](std::uint64_t number) { return static_cast<unsigned long long>(number); };
  std::printf(
      "%s: %llu rounds, %llu incarnations, %llu answers used, %llu missed, %llu refused; %llu groups and %llu rounds "
      "recomputed\n",
      found.faults.empty() ? "accepted" : "NOT accepted", shown(found.rounds), shown(found.incarnations),
      shown(found.answers), shown(found.missed), shown(found.refused), shown(found.groups_recomputed),
      shown(found.rounds_recomputed));
  return found.faults.empty() ? 0 : 1;
}
