#include "app/torch_reference.h"

#include <nlohmann/json.hpp>

#include "base/isa.h"
#include "record/json_text.h"

namespace muster {

extern const char kTorchReferenceScript[];

namespace {

using nlohmann::json;

// Importing PyTorch, and making a workload, on a busy machine.
constexpr double kPatience_s = 180;

using Environment = std::vector<std::pair<std::string, std::string>>;

// Debian's OpenBLAS and PyTorch do not recognise every new processor by themselves; these are the best settings.
Environment environment_of(TorchReference::Settings wanted) {
  Environment settings{{"OMP_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"}};  // one core against one core
  if (wanted == TorchReference::Settings::kInstalled) return settings;
  const Isa best = available_isas().back();
  if (best == Isa::kAvx512) {
    settings.emplace_back("OPENBLAS_CORETYPE", "SkylakeX");
    settings.emplace_back("ATEN_CPU_CAPABILITY", "avx512");
  } else if (best == Isa::kAvx2) {
    settings.emplace_back("OPENBLAS_CORETYPE", "Haswell");
    settings.emplace_back("ATEN_CPU_CAPABILITY", "avx2");
  }
  return settings;
}

Result<json> read_answer(ChildProcess& child, double patience_s) {
  MUSTER_ASSIGN(const std::string line, child.read_line(patience_s));
  json answer = json::parse(line, nullptr, false);
  if (!answer.is_object()) return failure("the PyTorch reference answered \"{}\"", line.substr(0, 80));
  if (answer.contains("error")) return failure("the PyTorch reference: {}", json_text(answer["error"]));
  return answer;
}

Result<json> ask(ChildProcess& child, const json& request, double patience_s) {
  MUSTER_TRY(child.write_line(json_text(request)));
  return read_answer(child, patience_s);
}

Error not_understood(const json& answer) {
  return failure("the PyTorch reference answered {}", json_text(answer));
}

}  // namespace

Result<TorchReference> TorchReference::start(Settings settings) {
  for (const char* python : {"/usr/bin/python3", "python3"}) {
    auto child = ChildProcess::start({python, "-I", "-c", kTorchReferenceScript}, environment_of(settings));
    if (!child) continue;
    auto hello = read_answer(*child, kPatience_s);
    if (!hello || !(*hello)["torch"].is_string() || !(*hello)["blas"].is_string()) continue;
    return TorchReference(std::move(child).value(), (*hello)["torch"].get<std::string>(),
                          (*hello)["blas"].get<std::string>());
  }
  return failure("no PyTorch to compare with; on Debian: apt-get install python3-torch libopenblas0-pthread");
}

Result<std::vector<double>> TorchReference::losses(std::string_view workload, const std::filesystem::path& weights,
                                                   const std::filesystem::path& batch, std::uint32_t steps) {
  MUSTER_ASSIGN(json answer, ask(child_,
                                 {{"do", "losses"},
                                  {"workload", workload},
                                  {"weights", weights.string()},
                                  {"batch", batch.string()},
                                  {"steps", steps}},
                                 kPatience_s));
  std::vector<double> values;
  for (const json& value : answer["losses"]) {
    if (!value.is_number()) return not_understood(answer);
    values.push_back(value.get<double>());
  }
  if (values.size() != steps) return not_understood(answer);
  return values;
}

Status TorchReference::prepare(std::string_view workload) {
  MUSTER_TRY(ask(child_, {{"do", "prepare"}, {"workload", workload}}, kPatience_s));
  return {};
}

Result<double> TorchReference::window(std::string_view mode, double seconds) {
  MUSTER_ASSIGN(json answer,
                ask(child_, {{"do", "window"}, {"mode", mode}, {"seconds", seconds}}, kPatience_s + 20 * seconds));
  const json& rate = answer["samples_per_s"];
  if (!rate.is_number() || !(rate.get<double>() > 0)) return not_understood(answer);
  return rate.get<double>();
}

}  // namespace muster
