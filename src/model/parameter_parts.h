// Parts of a network by name, as ranges of its flat vector: which parameters are meant where a recipe says "head",
// "norm" or the name of a layer. Ranges are ascending and disjoint, and neighbours are joined.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/network.h"

namespace muster {

using ParameterRanges = std::vector<ParameterRange>;

// The words of parts, and what each means: head, classifier, body, norm, all.
struct PartEntry {
  std::string name;
  std::string summary;
};
[[nodiscard]] const std::vector<PartEntry>& part_words();

// All parameters of the named parts, running statistics included. A name is a word of part_words() or a layer, which
// stands for the layers inside it, too. An error, which begins with `key`, for a name that the network does not have.
[[nodiscard]] Result<ParameterRanges> parts_of(const Network& network, std::span<const std::string> names,
                                               const std::string& key);

// Everything else.
[[nodiscard]] ParameterRanges all_but(const Network& network, std::span<const ParameterRange> ranges);
[[nodiscard]] ParameterRanges joined(std::span<const ParameterRange> a, std::span<const ParameterRange> b);

// How many numbers, and how many of them come before `end` in the flat vector.
[[nodiscard]] std::size_t count_of(std::span<const ParameterRange> ranges);
[[nodiscard]] std::size_t count_before(std::span<const ParameterRange> ranges, std::size_t end);

// The weights of a dense layer at the network's end, in order, and the same with its bias.
struct DenseRanges {
  ParameterRange weight;
  ParameterRange with_bias;
};
[[nodiscard]] std::vector<DenseRanges> dense_ranges(const Network& network);

// The numbers of these parts, one after the other; and back to their places.
[[nodiscard]] std::vector<float> gather_ranges(std::span<const float> flat, std::span<const ParameterRange> ranges);
void scatter_ranges(std::span<const float> values, std::span<const ParameterRange> ranges, std::span<float> flat);
// From one flat vector to another, and zeros. What lies beyond `to` is left out.
void copy_ranges(std::span<const float> from, std::span<const ParameterRange> ranges, std::span<float> to);
void clear_ranges(std::span<const ParameterRange> ranges, std::span<float> flat);

}  // namespace muster
