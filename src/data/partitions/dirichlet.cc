// dirichlet: Hsu, Qi and Brown 2019. Client k has a class mix q_k ~ Dir(alpha * 1) and draws its samples one by one,
// class by q_k, without replacement. alpha -> 0 is a law of its own: one class per client; inf: the uniform prior.
#include <algorithm>
#include <cmath>

#include "data/partitions/laws.h"

namespace muster {
namespace {

// The mix of one client over the classes that still have samples.
//
// A Dirichlet vector with some entries removed and the rest renormalised is again Dirichlet in the rest, independent of
// what was removed. So drawing only over the classes left is the renormalisation, and when rounding leaves no mass on
// them (tiny alpha), a fresh draw follows the same law: the loop always ends.
class Mix {
 public:
  Mix(double alpha, const ClassPools& pools) : alpha_(std::max(alpha, kSmallestAlpha)), pools_(pools) {}

  void draw(Stream& stream) {
    classes_.clear();
    for (std::uint32_t c = 0; c < pools_.classes(); ++c) {
      if (pools_.left(c) > 0) classes_.push_back(c);
    }
    shares_.assign(classes_.size(), 1.0);
    if (std::isfinite(alpha_)) {
      concentration_.assign(classes_.size(), alpha_);
      stream.dirichlet(concentration_, shares_);
    }
    sum();
  }

  [[nodiscard]] std::uint32_t open_classes() const { return static_cast<std::uint32_t>(classes_.size()); }

  // Precondition: some class has samples left.
  std::uint32_t next_class(Stream& stream) {
    double rest = stream.uniform() * mass_;
    std::size_t chosen = classes_.size();
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      if (shares_[i] <= 0) continue;
      chosen = i;
      if ((rest -= shares_[i]) < 0) break;
    }
    return classes_[chosen];
  }

  void exhausted(std::uint32_t label, Stream& stream) {
    shares_[static_cast<std::size_t>(std::ranges::find(classes_, label) - classes_.begin())] = 0;
    sum();
    if (!(mass_ > 0)) draw(stream);
  }

 private:
  void sum() {
    mass_ = 0;
    for (const double share : shares_) mass_ += share;
  }

  double alpha_;
  const ClassPools& pools_;
  std::vector<std::uint32_t> classes_;
  std::vector<double> concentration_;
  std::vector<double> shares_;
  double mass_ = 0;
};

void add_note(std::string& note, std::string more) {
  if (!note.empty()) note += "; ";
  note += more;
}

// One class per client. A client whose size no class can serve any more takes the fullest class whole.
void divide_pure(std::span<const std::uint32_t> sizes, ClassPools& pools, Stream& stream, Division& division) {
  std::vector<std::uint32_t> fitting;
  std::uint32_t short_clients = 0;
  for (const std::uint32_t size : sizes) {
    fitting.clear();
    std::uint32_t fullest = 0;
    for (std::uint32_t c = 0; c < pools.classes(); ++c) {
      if (pools.left(c) >= std::max(1u, size)) fitting.push_back(c);
      if (pools.left(c) > pools.left(fullest)) fullest = c;
    }
    const std::uint32_t label =
        fitting.empty() ? fullest : fitting[stream.below(static_cast<std::uint32_t>(fitting.size()))];
    if (pools.take(label, size, division.rows) < size) ++short_clients;
    division.close_client();
  }
  if (short_clients > 0) add_note(division.note, fmt::format("{} clients hold the rest of a class", short_clients));
}

}  // namespace

Result<Division> divide_dirichlet(const PartitionTask& task, const DataOptions& options, Stream& stream) {
  Division division;
  MUSTER_ASSIGN(const double alpha, dirichlet_alpha(options));
  MUSTER_ASSIGN(const std::vector<std::uint32_t> sizes, client_sizes(task, options, stream, division.note));
  ClassPools pools(task.labels, task.classes, stream);
  division.rows.reserve(task.labels.size());
  division.offsets.reserve(sizes.size() + 1);
  if (alpha == 0) {
    divide_pure(sizes, pools, stream, division);
    return division;
  }

  Mix mix(alpha, pools);
  std::uint32_t classes = 0;
  for (std::uint32_t c = 0; c < pools.classes(); ++c) classes += pools.left(c) > 0 ? 1 : 0;
  std::uint32_t renormalised = 0;
  for (const std::uint32_t size : sizes) {
    if (size > 0) mix.draw(stream);
    bool met_empty_pool = size > 0 && mix.open_classes() < classes;
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t label = mix.next_class(stream);
      pools.take(label, 1, division.rows);
      if (pools.left(label) == 0 && i + 1 < size) {
        mix.exhausted(label, stream);
        met_empty_pool = true;
      }
    }
    renormalised += met_empty_pool ? 1 : 0;
    division.close_client();
  }
  if (renormalised > 0) {
    add_note(division.note, fmt::format("{} clients met an empty class and drew from the others", renormalised));
  }
  return division;
}

}  // namespace muster
