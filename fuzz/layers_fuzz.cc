#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "model/executor.h"
#include "model/network.h"

namespace {

// Multiply-adds, and values: kernels are compiled without optimisation.
constexpr std::uint64_t kMostWork = 500'000;

// Lines up to one that is ".": a line that begins with "residual" holds those that follow.
muster::LayerList read_list(std::string_view& text, int depth) {
  muster::LayerList list;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    muster::LayerItem item{std::string(text.substr(0, end))};
    text.remove_prefix(std::min(text.size(), end + 1));
    if (item.words == ".") break;
    if (item.words.starts_with("residual") && depth < 8) item.inside = read_list(text, depth + 1);
    list.push_back(std::move(item));
  }
  return list;
}

// What was accepted runs: a step, an evaluation, and the parameters out as they went in.
void run(const std::shared_ptr<const muster::Network>& network) {
  muster::Executor executor(network, 3);
  std::vector<float> flat(network->size(), 0.01f);
  executor.load(flat);
  std::vector<float> stored(network->size());
  executor.store(stored);
  MUSTER_CHECK(stored == flat, "parameters did not survive");
  for (const std::uint32_t batch : {3u, 1u}) {
    float* input = executor.input(batch);
    for (std::size_t i = 0; i < batch * network->input().size(); ++i) input[i] = static_cast<float>(i % 7) - 1;
    std::fill_n(executor.labels(batch), batch, 1);
    (void)executor.train(batch, {});
    (void)executor.evaluate(batch);
  }
}

}  // namespace

// Three bytes are the data's shape, the rest is a list.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const auto extent = [&](int i) { return 1u + data[i] % 40u; };
  const muster::Shape shape{extent(0), extent(1), extent(2)};
  std::string_view text(reinterpret_cast<const char*>(data) + 3, size - 3);
  const auto network = muster::make_network({.name = "layers", .layers = read_list(text, 0)}, shape, 3);
  if (!network) {
    MUSTER_CHECK(network.error().message.find('\n') == std::string::npos, "{}", network.error().message);
    return 0;
  }
  MUSTER_CHECK(!muster::describe_network(**network).empty(), "no description");
  std::size_t values = (*network)->size();
  for (const muster::LayerFace& face : (*network)->description()) values += face.output.size();
  if ((*network)->forward_macs() < kMostWork && values < kMostWork) run(*network);
  return 0;
}
