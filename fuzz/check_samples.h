// What every reader promises of the data it accepts; a broken promise stops the fuzzer.
#pragma once

#include <cmath>

#include "base/check.h"
#include "data/raw_data.h"

namespace muster {

inline void check_samples(const Samples& samples) {
  const std::size_t values = samples.storage == Samples::Storage::kBytes ? samples.bytes.size() : samples.floats.size();
  MUSTER_CHECK(values == samples.size() * samples.shape.size(), "{} values for {} samples of {}", values,
               samples.size(), samples.shape.size());
  for (const std::int32_t label : samples.labels) {
    MUSTER_CHECK(label >= 0 && static_cast<std::uint32_t>(label) < samples.classes, "label {} of {}", label,
                 samples.classes);
  }
  for (const float value : samples.floats) MUSTER_CHECK(std::isfinite(value), "{}", value);
}

inline void check_raw_data(const RawData& data) {
  check_samples(data.train);
  check_samples(data.test);
  MUSTER_CHECK(data.train.size() > 0, "no training samples");
  MUSTER_CHECK(data.train_clients.empty() || data.train_clients.size() == data.train.size(), "{} clients",
               data.train_clients.size());
  MUSTER_CHECK(data.test_clients.empty() || data.test_clients.size() == data.test.size(), "{} clients",
               data.test_clients.size());
  for (const auto* clients : {&data.train_clients, &data.test_clients}) {
    for (const std::uint32_t client : *clients) MUSTER_CHECK(client < data.client_names.size(), "client {}", client);
  }
  MUSTER_CHECK(data.class_names.empty() || data.class_names.size() == data.train.classes, "{} class names",
               data.class_names.size());
}

}  // namespace muster
