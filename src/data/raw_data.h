// RawData: what a reader gives — the samples of a source before they are divided among clients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/feature_sums.h"
#include "data/preparation.h"
#include "data/samples.h"

namespace muster {

struct RawData {
  Samples train;
  Samples test;  // may be empty

  // The source's own clients (writers, users, speakers): an index into client_names per sample; empty if it has none.
  // test_clients may be empty although train_clients is not: then the test set is the server's.
  std::vector<std::uint32_t> train_clients;
  std::vector<std::uint32_t> test_clients;
  std::vector<std::string> client_names;

  std::vector<std::string> class_names;  // empty, or one per class

  bool normalized = false;  // features were standardised
  // Of each feature over the training rows, client after client, where a table was read to be standardised; those of
  // one-hot features are empty.
  std::vector<FeatureSums> sums;

  // Of a table: its columns and how they were read. The rest is filled in when the source is known as a whole.
  Preparation preparation;
  // What the user should know about the data, a line each.
  std::vector<std::string> notes;
};

}  // namespace muster
