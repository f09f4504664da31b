// examples/python_client as its page says: a real cloud over TLS, with clients in Python and in C++ beside each other
// on a network of Muster's, and with clients in Python alone on a model that the cloud knows as tensors only.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "app/background_process.h"
#include "command_line.h"
#include "python_with.h"

namespace muster {
namespace {

using testing::HasSubstr;

const std::filesystem::path kExample = std::filesystem::path(MUSTER_SOURCE_DIR) / "examples/python_client";
constexpr char kNames[] = "abcd";

// Points around the corners of a triangle, in a plane of four dimensions; each client has mostly one corner's.
std::string own_table(int client) {
  std::mt19937 draws(static_cast<unsigned>(client) + 1);
  std::normal_distribution<double> noise(0, 0.6);
  std::string table = "east,north,up,age,finding,test\n";
  constexpr const char* kFindings[] = {"ill", "sound", "unclear"};
  constexpr double kCorners[][2] = {{0, 2}, {2, -1}, {-2, -1}};
  for (int row = 0; row < 60; ++row) {
    const int finding = row % 2 == 0 ? client % 3 : row / 2 % 3;
    const double x = kCorners[finding][0] + noise(draws);
    const double y = kCorners[finding][1] + noise(draws);
    table += fmt::format("{:.4f},{:.4f},{:.4f},{:.4f},{},{}\n", x, y, 100 * (x + y), 50 + 5 * noise(draws),
                         kFindings[finding], row % 4 == 3 ? 1 : 0);
  }
  return table;
}

class PythonClient : public CommandLineTest {
 protected:
  void SetUp() override {
    python_ = python_with("grpc, google.protobuf, numpy, xxhash, tomllib");
    if (python_.empty()) {
      GTEST_SKIP() << "Python lacks modules of examples/python_client "
                      "(Debian: python3-grpcio python3-protobuf python3-numpy python3-xxhash)";
    }
    // As the page says, but into a folder of the test's own.
    const std::string stubs = fmt::format("protoc -I '{}/proto' --python_out='{}' muster/v1/federation.proto",
                                          MUSTER_SOURCE_DIR, scratch_.path().string());
    ASSERT_EQ(std::system(stubs.c_str()), 0) << stubs;
    ::setenv("PYTHONPATH", (scratch_.path().string() + ":" + kExample.string()).c_str(), 1);
    ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    ::setenv("OMP_NUM_THREADS", "1", 1);
    ASSERT_EQ(muster({"pki", "init", at("pki")}).status, 0);
    ASSERT_EQ(muster({"pki", "issue", at("pki"), "--role", "cloud", "--name", "main"}).status, 0);
    for (int i = 0; i < 4; ++i) {
      const std::string name(1, kNames[i]);
      ASSERT_EQ(muster({"pki", "issue", at("pki"), "--role", "client", "--name", name}).status, 0);
      file(name + ".csv", own_table(i));
    }
  }

  [[nodiscard]] std::string at(const std::string& name) const { return (scratch_.path() / name).string(); }
  [[nodiscard]] std::string log(const std::string& name) const {
    std::ifstream in(at(name + ".log"));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void launch(const std::string& name, const Words& words) {
    auto started = BackgroundProcess::start(words, at(name + ".log"));
    ASSERT_TRUE(started.ok()) << started.error().message;
    processes_.insert_or_assign(name, std::move(started).value());
  }
  void start_cloud(const std::string& recipe) {
    launch("cloud", {MUSTER_BINARY, "cloud", file("recipe.toml", recipe), "--listen", "127.0.0.1:0", "--announce",
                     at("address"), "--pki", at("pki/cloud-main"), "--out", at("runs"), "--json"});
    for (int i = 0; i < 1000 && !std::filesystem::exists(at("address")); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::ifstream(at("address")) >> address_;
    ASSERT_FALSE(address_.empty()) << log("cloud");
  }
  void start_python(const std::string& name, const Words& more = {}) {
    Words words{python_,  (kExample / "muster_client.py").string(),
                "--to",   address_,
                "--pki",  at("pki/client-" + name),
                "--name", name,
                "--data", at(name + ".csv")};
    words.insert(words.end(), more.begin(), more.end());
    launch(name, words);
  }
  [[nodiscard]] std::vector<nlohmann::json> rounds() const {
    std::vector<nlohmann::json> lines;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(at("runs"), none)) {
      std::ifstream in(entry.path() / "rounds.jsonl");
      for (std::string line; std::getline(in, line);) {
        if (auto read = nlohmann::json::parse(line, nullptr, false); read.is_object()) lines.push_back(read);
      }
    }
    return lines;
  }
  // Waits until everybody has ended well; what the cloud printed.
  nlohmann::json result() {
    EXPECT_EQ(processes_.at("cloud").wait(100), 0) << log("cloud");
    for (auto& [name, process] : processes_) {
      if (name == "cloud") continue;
      EXPECT_EQ(process.wait(30), 0) << name << ": " << log(name);
    }
    const std::string said = log("cloud");
    const std::size_t begin = said.rfind("{\"run\"");
    return begin == std::string::npos ? nlohmann::json() : nlohmann::json::parse(said.substr(begin), nullptr, false);
  }

  std::string python_;
  std::string address_;
  std::map<std::string, BackgroundProcess> processes_;
};

constexpr char kRecipe[] = R"(
[data]
source = "csv"
clients = 4
label = "finding"
split = "test"
[local]
epochs = 2
batch-size = 8
learning-rate = 0.2
[deployment]
round-deadline-s = 60
)";

TEST_F(PythonClient, TrainsBesideClientsInCppAndGoesOnWhenItWasKilled) {
  constexpr std::size_t kRounds = 150;  // so many that there is time to kill somebody
  start_cloud(fmt::format("name = \"mixed\"\nrounds = {}\n", kRounds) + kRecipe + R"(
[model]
name = "softmax"
[profile]
kind = "label-histogram"
[grouping]
method = "mediator"
size = 2
)");
  for (const std::string name : {"a", "b"}) {
    launch(name,
           {MUSTER_BINARY, "client", "--to", address_, "--pki", at("pki/client-" + name), "--data", at(name + ".csv")});
  }
  start_python("c");
  start_python("d");
  for (int i = 0; i < 3000 && rounds().size() < 3; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(processes_.at("d").id(), SIGKILL);
  (void)processes_.at("d").wait(10);
  const std::size_t killed_after = rounds().size();
  start_python("d");
  const nlohmann::json told = result();
  ASSERT_TRUE(told.is_object()) << log("cloud");
  EXPECT_LT(killed_after, kRounds) << "the run was over before anybody was killed";
  EXPECT_EQ(told["clients"], 4);
  EXPECT_EQ(told["groups"]["count"], 2);
  EXPECT_GT(told["accuracy"]["last"], 0.8);
  ASSERT_EQ(rounds().size(), kRounds);
  for (const nlohmann::json& round : rounds()) {
    EXPECT_EQ(round["participants"], 4) << round;
    EXPECT_TRUE(round["dropped"].empty()) << round;
    EXPECT_EQ(round["covered"], 1.0) << round;
  }
}

// Nobody marks tests: everybody sets rows of its own aside, for tests and for validation, as many as the cloud expects.
TEST_F(PythonClient, SetsTestsAndValidationSamplesAside) {
  for (const std::string name : {"a", "b", "c", "d"}) {
    std::ifstream in(at(name + ".csv"));
    std::string unmarked;
    for (std::string line; std::getline(in, line);) unmarked += line.substr(0, line.rfind(',')) + "\n";
    file(name + ".csv", unmarked);
  }
  start_cloud(R"(
name = "aside"
rounds = 4
[data]
source = "csv"
clients = 4
label = "finding"
test-fraction = 0.2
validation-fraction = 0.25
[model]
name = "softmax"
[local]
epochs = 1
batch-size = 8
learning-rate = 0.2
[stop]
patience = 50
[deployment]
round-deadline-s = 60
)");
  launch("a", {MUSTER_BINARY, "client", "--to", address_, "--pki", at("pki/client-a"), "--data", at("a.csv")});
  for (const std::string name : {"b", "c", "d"}) start_python(name);
  const nlohmann::json told = result();
  ASSERT_TRUE(told.is_object()) << log("cloud");
  ASSERT_EQ(rounds().size(), 4u);
  for (const nlohmann::json& round : rounds()) {
    EXPECT_EQ(round["participants"], 4) << round;
    EXPECT_EQ(round["covered"], 1.0) << round;
    EXPECT_TRUE(round["validation_accuracy"].is_number()) << round;
  }
}

// names -> shapes
nlohmann::json tensors_in(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::uint64_t length = 0;
  in.read(reinterpret_cast<char*>(&length), sizeof length);
  std::string text(length, ' ');
  in.read(text.data(), static_cast<std::streamsize>(length));
  const auto header = nlohmann::json::parse(text, nullptr, false);
  nlohmann::json shapes = nlohmann::json::object();
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") shapes[name] = entry["shape"];
  }
  return shapes;
}

TEST_F(PythonClient, BringsAModelOfItsOwn) {
  const bool torch = python_with("torch") == python_;
  const std::string model = torch ? "torch_network" : "network";
  const Words first{python_,
                    (kExample / "first_model.py").string(),
                    "--model",
                    model,
                    "--features",
                    "4",
                    "--classes",
                    "3",
                    at("first.safetensors")};
  ASSERT_EQ(Process(scratch_, first).wait().status, 0);
  start_cloud("name = \"own-model\"\nrounds = 12\n" + std::string(kRecipe) + R"(
[model]
name = "external"
path = "first.safetensors"
[profile]
kind = "update-direction"
steps = 5
[grouping]
method = "decomposed-cosine"
groups = 2
)");
  for (const std::string name : {"a", "b", "c", "d"}) start_python(name, {"--model", model});
  const nlohmann::json told = result();
  ASSERT_TRUE(told.is_object()) << log("cloud");
  ASSERT_EQ(rounds().size(), 12u);
  EXPECT_LT(told["loss"]["last"], 0.7 * rounds()[0]["loss"].get<double>());
  EXPECT_GT(told["accuracy"]["last"], 0.8);
  const std::string run = told["dir"];
  EXPECT_EQ(tensors_in(run + "/model.safetensors"), tensors_in(at("first.safetensors")));
  EXPECT_EQ(tensors_in(run + "/model.safetensors").size(), 4u);
  const Finished exported = muster({"export", run, "--to", at("again.npz")});
  EXPECT_EQ(exported.status, 0) << exported.err;
  expect_error({"export", run, "--to", at("again.onnx")}, 2, HasSubstr("know its layers"));
  expect_error({"run", at("recipe.toml"), "--quiet"}, 2, HasSubstr("cannot be simulated; run it with `muster cloud`"));
}

TEST(PythonClientPage, HasAClientOfTwoHundredLines) {
  std::ifstream in(kExample / "muster_client.py");
  ASSERT_TRUE(in);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) EXPECT_LE(line.size(), 120u) << line;
  EXPECT_LE(lines, 200);
}

}  // namespace
}  // namespace muster
