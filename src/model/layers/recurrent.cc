#include "model/layers/recurrent.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster {
namespace {

DenseShape matrix(std::uint32_t in, std::uint32_t out) {
  return {.in = in, .out = out, .out_padded = static_cast<std::uint32_t>(padded(out)), .block = in};
}

}  // namespace

Recurrent::Recurrent(std::string name, Shape input, std::uint32_t units, bool every_word, Form form)
    : Layer(std::move(name)),
      words_(input.width),
      units_(units),
      every_word_(every_word),
      form_(form),
      input_(matrix(input.channels, form.gates * units)),
      recurrent_(matrix(units, form.gates * units)) {}

std::uint64_t Recurrent::forward_macs() const {
  return std::uint64_t{words_} * form_.gates * units_ * (std::uint64_t{input_.in} + units_);
}

std::vector<TensorSpec> Recurrent::tensors() const {
  const std::uint32_t gates = input_.out;
  const std::uint32_t fan_in = input_.in + units_;
  std::vector<TensorSpec> list{
      {name() + ".input_weight", {input_.in, gates}, TensorRole::kWeight, units_, fan_in, gates},
      {name() + ".recurrent_weight", {units_, gates}, TensorRole::kWeight, units_, fan_in, gates},
      {name() + ".bias", {gates}, TensorRole::kBias, units_, fan_in, gates}};
  if (form_.recurrent_bias) {
    list.push_back({name() + ".recurrent_bias", {units_}, TensorRole::kBias, units_, fan_in, gates});
  }
  return list;
}

std::size_t Recurrent::packed_size() const {
  return input_.packed() + recurrent_.packed() + input_.out_padded + (form_.recurrent_bias ? padded(units_) : 0);
}

void Recurrent::pack(const float* flat, float* packed) const {
  const std::size_t gates = input_.out;
  dense_kernels().pack(input_, flat, packed);
  dense_kernels().pack(recurrent_, flat + input_.in * gates, packed + input_.packed());
  float* bias = packed + input_.packed() + recurrent_.packed();
  std::fill(bias, packed + packed_size(), 0.0f);
  const float* from = flat + (input_.in + units_) * gates;
  std::memcpy(bias, from, gates * sizeof(float));
  if (form_.recurrent_bias) std::memcpy(bias + input_.out_padded, from + gates, units_ * sizeof(float));
}

void Recurrent::unpack(const float* packed, float* flat) const {
  const std::size_t gates = input_.out;
  dense_kernels().unpack(input_, packed, flat);
  dense_kernels().unpack(recurrent_, packed + input_.packed(), flat + input_.in * gates);
  const float* bias = packed + input_.packed() + recurrent_.packed();
  float* to = flat + (input_.in + units_) * gates;
  std::memcpy(to, bias, gates * sizeof(float));
  if (form_.recurrent_bias) std::memcpy(to + gates, bias + input_.out_padded, units_ * sizeof(float));
}

}  // namespace muster
