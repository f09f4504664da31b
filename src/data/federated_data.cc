#include "data/federated_data.h"

namespace muster {

const Preparation& FederatedData::preparation() const {
  static const Preparation unknown;
  return unknown;
}

std::string FederatedData::class_name(std::uint32_t label) const {
  const std::vector<std::string>& names = preparation().classes;
  return label < names.size() ? names[label] : fmt::format("{}", label);
}

Result<std::shared_ptr<const SharedMemory>> FederatedData::share() {
  return std::shared_ptr<const SharedMemory>();
}

DataOptions FederatedData::resolved(DataOptions options) const {
  return options;
}

}  // namespace muster
