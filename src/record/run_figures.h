// What is told of models besides accuracy and loss, as values: how clients differ, and how classes do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster {

// Accuracies of clients on their own samples, each client counting once. A percentile p is the nearest rank: of n
// accuracies in ascending order the one at place ceil(p / 100 * n), so always that of some client.
struct AccuracySpread {
  double worst = 0;
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
};

// Of a run's final models on every client's own test samples.
struct SiteFigures {
  std::uint32_t evaluated = 0;           // clients
  std::optional<double> accuracy;        // over all of their samples
  std::optional<AccuracySpread> spread;  // over the clients
  std::uint32_t worst_client = 0;        // the first of those with the lowest accuracy
  std::string worst_name;                // "" = it has none
  std::string skipped;                   // why nobody was evaluated; "" = somebody was
};

// How long clients were asked to train in a round, while that is adapted to their losses.
struct EpochFigures {
  struct OfClient {
    std::uint32_t client = 0;
    std::uint32_t samples = 0;  // it trains on
    double epochs = 0;
  };
  double min = 0;
  double mean = 0;
  double max = 0;
  std::vector<OfClient> clients;  // ascending; empty where there are very many
};

// Of one class. A share of nothing is none.
struct ClassFigures {
  std::string name;
  std::optional<double> precision;  // right among those taken for the class
  std::optional<double> recall;     // right among those of the class
  std::optional<double> f1;         // 2 * right / (of the class + taken for it)
  std::uint64_t samples = 0;        // of the class
};

struct PredictionFigures {
  std::optional<double> macro_f1;  // mean of f1 over the classes that have one
  std::optional<double> auc;       // of two classes
  std::vector<ClassFigures> classes;
  std::vector<std::vector<std::uint64_t>> confusion;  // a row per true class; empty = not told
};

}  // namespace muster
