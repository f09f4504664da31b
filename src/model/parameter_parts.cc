#include "model/parameter_parts.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace muster {
namespace {

ParameterRanges in_order(ParameterRanges ranges) {
  std::ranges::sort(ranges, {}, &ParameterRange::offset);
  ParameterRanges result;
  for (const ParameterRange& range : ranges) {
    if (range.size == 0) continue;
    if (result.empty() || result.back().offset + result.back().size < range.offset) {
      result.push_back(range);
    } else {
      ParameterRange& last = result.back();
      last.size = std::max(last.offset + last.size, range.offset + range.size) - last.offset;
    }
  }
  return result;
}

// The layer, or one inside it: names are made of those of the layers around, with dots.
bool belongs_to(const ParameterTensor& tensor, const std::string& layer) {
  return tensor.name.size() > layer.size() && tensor.name[layer.size()] == '.' && tensor.name.starts_with(layer);
}

template <typename Belongs>
ParameterRanges tensors_that(const Network& network, const Belongs& belongs) {
  ParameterRanges ranges;
  for (const ParameterTensor& tensor : network.tensors()) {
    if (belongs(tensor)) ranges.push_back(tensor.range);
  }
  return in_order(std::move(ranges));
}

ParameterRanges part_of(const Network& network, const std::string& name) {
  if (name == "head") return in_order({network.last_layer()});
  if (name == "classifier") return in_order({network.classifier()});
  if (name == "body" && network.external()) return {};  // all but nothing
  if (name == "body") return all_but(network, in_order({network.last_layer()}));
  if (name == "all") return {{0, network.size()}};
  if (name == "norm") return tensors_that(network, [](const ParameterTensor& tensor) { return tensor.normalises; });
  return tensors_that(network, [&](const ParameterTensor& tensor) {
    return belongs_to(tensor, name) || (network.external() && tensor.name == name);
  });
}

std::vector<std::string> layer_names(const Network& network) {
  std::vector<std::string> names;
  for (const ParameterTensor& tensor : network.tensors()) {
    std::string name = tensor.name.substr(0, tensor.name.rfind('.'));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

Error no_such_part(const Network& network, const std::string& name, const std::string& key) {
  if (network.external()) {
    return usage_error("{}: \"{}\" is no part of an external model; want all, or what names of tensors begin with: {}",
                       key, name, fmt::join(layer_names(network), ", "));
  }
  if (name == "norm") return usage_error("{}: \"norm\" has no effect: the network has no normalisation layer", key);
  if (name == "body") return usage_error("{}: \"body\" has no effect: the network has one layer, its head", key);
  std::vector<std::string> accepted;
  for (const PartEntry& entry : part_words()) accepted.push_back(entry.name);
  return usage_error("{}: \"{}\" is no part of the network; want {} or a layer: {}", key, name,
                     fmt::join(accepted, " | "), fmt::join(layer_names(network), ", "));
}

}  // namespace

const std::vector<PartEntry>& part_words() {
  static const std::vector<PartEntry> list{
      {"head", "the output layer"},
      {"classifier", "the dense layers at the end"},
      {"body", "all but the head, running statistics included"},
      {"norm", "normalisation layers, running statistics included"},
      {"all", "the whole model"},
  };
  return list;
}

Result<ParameterRanges> parts_of(const Network& network, std::span<const std::string> names, const std::string& key) {
  ParameterRanges all;
  for (const std::string& name : names) {
    const ParameterRanges part = part_of(network, name);
    if (part.empty()) return no_such_part(network, name, key);
    all.insert(all.end(), part.begin(), part.end());
  }
  return in_order(std::move(all));
}

ParameterRanges all_but(const Network& network, std::span<const ParameterRange> ranges) {
  ParameterRanges others;
  std::size_t at = 0;
  for (const ParameterRange& range : ranges) {
    others.push_back({at, range.offset - at});
    at = range.offset + range.size;
  }
  others.push_back({at, network.size() - at});
  return in_order(std::move(others));
}

ParameterRanges joined(std::span<const ParameterRange> a, std::span<const ParameterRange> b) {
  ParameterRanges all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return in_order(std::move(all));
}

std::size_t count_of(std::span<const ParameterRange> ranges) {
  std::size_t count = 0;
  for (const ParameterRange& range : ranges) count += range.size;
  return count;
}

std::size_t count_before(std::span<const ParameterRange> ranges, std::size_t end) {
  std::size_t count = 0;
  for (const ParameterRange& range : ranges) {
    count += std::clamp(end, range.offset, range.offset + range.size) - range.offset;
  }
  return count;
}

std::vector<DenseRanges> dense_ranges(const Network& network) {
  // A dense layer is a matrix and the vector after it.
  std::vector<DenseRanges> dense;
  for (const ParameterTensor& tensor : network.tensors()) {
    if (!tensor.trained || tensor.range.offset < network.classifier().offset) continue;
    if (tensor.shape.size() >= 2) {
      dense.push_back({tensor.range, tensor.range});
    } else if (!dense.empty()) {
      dense.back().with_bias.size += tensor.range.size;
    }
  }
  return dense;
}

std::vector<float> gather_ranges(std::span<const float> flat, std::span<const ParameterRange> ranges) {
  std::vector<float> values;
  values.reserve(count_of(ranges));
  for (const ParameterRange& range : ranges) {
    const std::span<const float> part = flat.subspan(range.offset, range.size);
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

void scatter_ranges(std::span<const float> values, std::span<const ParameterRange> ranges, std::span<float> flat) {
  for (const ParameterRange& range : ranges) {
    std::ranges::copy(values.first(range.size), flat.subspan(range.offset).begin());
    values = values.subspan(range.size);
  }
}

void copy_ranges(std::span<const float> from, std::span<const ParameterRange> ranges, std::span<float> to) {
  for (const ParameterRange& range : ranges) {
    const std::size_t begin = std::min(range.offset, to.size());
    const std::size_t end = std::min(range.offset + range.size, to.size());
    std::ranges::copy(from.subspan(begin, end - begin), to.subspan(begin).begin());
  }
}

void clear_ranges(std::span<const ParameterRange> ranges, std::span<float> flat) {
  for (const ParameterRange& range : ranges) {
    const std::size_t begin = std::min(range.offset, flat.size());
    const std::size_t end = std::min(range.offset + range.size, flat.size());
    std::ranges::fill(flat.subspan(begin, end - begin), 0.0f);
  }
}

}  // namespace muster
