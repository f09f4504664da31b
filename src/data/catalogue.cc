#include <algorithm>

#include "base/names.h"
#include "data/blobs.h"
#include "data/federated_data.h"
#include "data/stored_data.h"
#include "data/synthetic_data.h"

namespace muster {
namespace {

const std::vector<std::string> kStoredKeys = {"partition", "clients", "test-fraction", "edges",
                                              "exemplars", "augment", "normalize"};
const std::vector<std::string> kSyntheticKeys = {"clients",     "alpha",         "beta",  "samples-min",
                                                 "samples-max", "test-fraction", "edges", "exemplars"};

}  // namespace

std::vector<CatalogueEntry> data_sources() {
  return {
      {"demo", "Fashion-MNIST where it is installed, else blobs", kStoredKeys},
      {"synthetic", "Synthetic(alpha, beta): virtual clients with models of their own, 60 features, 10 classes",
       kSyntheticKeys},
      {"synthetic-iid", "Synthetic-IID: the same with one model for all", kSyntheticKeys},
      {"blobs", "generated 28 x 28 images of soft spots, 10 classes, 12000 train, 2000 test", kStoredKeys},
  };
}

Result<std::unique_ptr<FederatedData>> make_federated_data(const DataOptions& options, std::uint64_t seed) {
  if (options.source == "synthetic") return make_synthetic_data(options, seed, false);
  if (options.source == "synthetic-iid") return make_synthetic_data(options, seed, true);
  if (options.source == "blobs" || options.source == "demo")
    return divide_among_clients(make_blobs(), options, seed, "blobs");
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : data_sources()) names.push_back(entry.name);
  return usage_error("data.source: {}", unknown_name("source", options.source, names));
}

Augmentation augmentation_of(const DataOptions& options) {
  return options.augment ? Augmentation{.crop_padding = 4, .flip = true} : Augmentation{};
}

}  // namespace muster
