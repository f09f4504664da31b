#include "ledger_check.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ledger_check {
namespace {

using Json = nlohmann::json;

std::string hash_of(const std::vector<float>& values) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(values.data(), values.size() * sizeof(float))));
  return text;
}

// A weighted mean in double, in the order of add().
class DoubleMean {
 public:
  void add(const std::vector<float>& values, double weight) {
    if (sum_.empty()) sum_.assign(values.size(), 0.0);
    for (std::size_t i = 0; i < std::min(sum_.size(), values.size()); ++i) sum_[i] += weight * values[i];
    weight_ += weight;
  }
  [[nodiscard]] std::vector<float> mean() const {
    std::vector<float> out(sum_.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(sum_[i] / weight_);
    return out;
  }

 private:
  std::vector<double> sum_;
  double weight_ = 0;
};

struct TaskKey {
  std::uint64_t round = 0;
  std::uint64_t group = 0;
  std::uint64_t client = 0;
  std::uint64_t part = 0;
  bool operator==(const TaskKey&) const = default;
};

struct OpenAsk {
  std::string kind;
  TaskKey key;
  std::vector<std::uint64_t> members;  // of a group
  std::string phase;                   // of a secure sum
};

// An answer that was used in the round that is being made.
struct UsedAnswer {
  std::uint64_t number = 0;
  std::uint64_t group = 0;
  std::uint64_t samples = 0;
  std::string model;
  bool by_edge = false;
  bool merged = false;
  bool summed = false;  // what it sent is in a secure sum, and nobody has it
};

struct MergedGroup {
  std::uint64_t group = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> members;  // client, samples
  std::vector<std::pair<std::uint64_t, std::string>> dropped;    // client, why
  std::uint64_t samples = 0;
  double importance = 1;
  std::string model;
};

struct MadeRound {
  std::string model;
  std::uint64_t participants = 0;
  std::vector<std::pair<std::uint64_t, std::string>> dropped;
};

class Checker {
 public:
  explicit Checker(const LedgerQuestion& question) : question_(question) {}

  LedgerFindings run() {
    std::ifstream in(question_.run / "ledger.jsonl", std::ios::binary);
    if (!in) fault("no ledger.jsonl");
    for (std::string line; std::getline(in, line);) {
      ++line_;
      if (in.eof()) break;  // cut short: nothing that counts was in it
      try {
        take(Json::parse(line));
      } catch (const Json::exception& wrong) {
        fault(std::string("not a line of a ledger: ") + wrong.what());
      }
    }
    line_ = 0;
    if (question_.lossless) {
      for (std::size_t r = 0; r < made_.size(); ++r) {
        for (const auto& [client, why] : made_[r].dropped) {
          if (why == "unreachable" || why == "straggler") {
            fault(of_round(r + 1) + "client " + std::to_string(client) + " is missing: " + why);
          }
        }
      }
    }
    compare_records();
    found_.rounds = made_.size();
    return std::move(found_);
  }

 private:
  static std::string of_round(std::uint64_t round) { return "round " + std::to_string(round) + ": "; }

  void fault(const std::string& what) {
    if (found_.faults.size() > 50) return;
    found_.faults.push_back(line_ > 0 ? "line " + std::to_string(line_) + ": " + what : what);
  }

  [[nodiscard]] std::uint64_t now() const { return made_.size() + 1; }

  void take(const Json& line) {
    const std::string event = line.at("event");
    if (event == "start") return start(line);
    if (incarnation_ == 0) return fault("nothing has started");
    if (event == "came" || event == "went") return;
    if (event == "refused") {
      ++found_.refused;
      return;
    }
    if (event == "from") return from(line);
    if (!going_) return fault("the incarnation has not said from which round it goes on");
    if (event == "ask") return ask(line);
    if (event == "answer") return answer(line);
    if (event == "missed") return missed(line);
    if (event == "merged") return merged(line);
    if (event == "round") return round(line);
    if (event == "checkpoint") return checkpoint(line);
    if (event == "end") return end(line);
    fault("unknown event " + event);
  }

  void start(const Json& line) {
    const std::uint64_t incarnation = line.at("incarnation");
    if (incarnation <= incarnation_) fault("incarnation " + std::to_string(incarnation) + " does not rise");
    const std::string run = line.at("run");
    if (!run_.empty() && run != run_) fault("the ledger of another run: " + run);
    run_ = run;
    incarnation_ = incarnation;
    ++found_.incarnations;
    sealed_ = line.value("relay", "plain") == "sealed";
    parallel_ = line.at("training") == "parallel" && line.at("group_rounds") == 1;
    in_group_ = line.at("in_group");
    global_ = line.at("global");
    private_ = line.value("private", false);
    hides_samples_ = line.value("samples", "told") == "hidden";
    quorum_ = line.at("quorum");
    going_ = false;
    open_.clear();
    last_number_ = 0;
    forget_round();
  }

  void from(const Json& line) {
    const std::uint64_t round = line.at("round");
    const std::string model = line.value("model", "");
    if (going_) fault("the incarnation goes on from two rounds");
    going_ = true;
    if (round < saved_) {
      fault("goes on from round " + std::to_string(round) + ", but the checkpoint of round " + std::to_string(saved_) +
            " was written: an acknowledged checkpoint is lost");
    }
    if (round > made_.size()) {
      fault("a gap: goes on from round " + std::to_string(round) + ", but " + std::to_string(made_.size()) +
            " rounds are known");
      made_.resize(round, {.model = model});
    }
    made_.resize(round);
    saved_ = round;
    if (round > 0 && !model.empty() && !made_.back().model.empty() && made_.back().model != model) {
      fault(of_round(round) + "goes on from another model than the round had");
    }
  }

  static TaskKey key_of(const Json& line) {
    return {line.at("round"), line.at("group"), line.at("client"), line.at("part")};
  }

  void ask(const Json& line) {
    const std::uint64_t number = line.at("number");
    OpenAsk asked{line.at("kind"), key_of(line), {}, line.value("phase", "")};
    if (number <= last_number_) fault("ask " + std::to_string(number) + " does not rise");
    last_number_ = std::max(last_number_, number);
    if (asked.kind == "group") asked.members = line.at("asked").get<std::vector<std::uint64_t>>();
    if (asked.kind == "train" || asked.kind == "sum") asked.members = {asked.key.client};
    if (!asked.members.empty()) {
      if (asked.key.round != now())
        fault("a gap: round " + std::to_string(asked.key.round) + " is asked for, want " + std::to_string(now()));
      for (const std::uint64_t client : asked.members) put_in_group(client, asked.key.group);
    }
    open_[number] = std::move(asked);
  }

  void put_in_group(std::uint64_t client, std::uint64_t group) {
    const auto [known, fresh] = group_of_.emplace(client, group);
    if (!fresh && known->second != group) {
      fault(of_round(now()) + "client " + std::to_string(client) + " is in groups " + std::to_string(known->second) +
            " and " + std::to_string(group));
    }
  }

  void answer(const Json& line) {
    const std::uint64_t number = line.at("number");
    if (line.at("incarnation") != incarnation_) {
      fault("a stale answer: of incarnation " + line.at("incarnation").dump() + ", want " +
            std::to_string(incarnation_));
    }
    const auto found = open_.find(number);
    if (found == open_.end()) {
      return fault("an answer to ask " + std::to_string(number) +
                   ", which is not open: it was not asked, has been "
                   "answered, or was given up");
    }
    const OpenAsk asked = std::move(found->second);
    open_.erase(found);
    if (!(key_of(line) == asked.key)) fault("an answer to ask " + std::to_string(number) + " for another task");
    if (!line.at("used").get<bool>()) return;
    ++found_.answers;
    if (asked.members.empty() || (asked.kind == "sum" && asked.phase != "input")) return;
    if (asked.key.round != now()) {
      return fault("a stale answer: of round " + std::to_string(asked.key.round) + ", while " + std::to_string(now()) +
                   " is being made");
    }
    UsedAnswer used{.number = number,
                    .group = asked.key.group,
                    .samples = hides_samples_ && asked.kind == "sum" ? 0 : line.at("samples").get<std::uint64_t>(),
                    .model = line.value("model", ""),
                    .by_edge = asked.kind == "group",
                    .summed = asked.kind == "sum"};
    if (!used.by_edge) return use(asked.key.client, asked.key.part, std::move(used));
    for (const Json& member : line.at("members")) {
      UsedAnswer own = used;
      own.samples = member.at("samples");
      const std::uint64_t client = member.at("client");
      if (std::ranges::find(asked.members, client) == asked.members.end()) {
        fault("the edge tells of client " + std::to_string(client) + ", which is not in the group");
      }
      use(client, 0, std::move(own));
    }
  }

  void use(std::uint64_t client, std::uint64_t part, UsedAnswer used) {
    const bool fresh = visits_.emplace(client, part).second;
    if (!fresh) fault(of_round(now()) + "client " + std::to_string(client) + " is counted twice");
    used_[client] = std::move(used);
  }

  void missed(const Json& line) {
    ++found_.missed;
    if (open_.erase(line.at("number").get<std::uint64_t>()) == 0) {
      fault("gives up ask " + line.at("number").dump() + ", which is not open");
    }
  }

  void merged(const Json& line) {
    if (line.at("round") != now()) {
      fault("a gap: a group of round " + line.at("round").dump() + ", want " + std::to_string(now()));
    }
    MergedGroup group{.group = line.at("group")};
    if (!merged_groups_.insert(group.group).second) {
      fault(of_round(now()) + "group " + std::to_string(group.group) + " is merged twice");
    }
    std::uint64_t samples = 0;
    for (const Json& one : line.at("members")) {
      const std::uint64_t client = one.at("client");
      group.members.emplace_back(client, one.at("samples"));
      samples += group.members.back().second;
      count(client, group.group);
      const auto used = used_.find(client);
      if (used == used_.end()) {
        fault(of_round(now()) + "client " + std::to_string(client) + " is counted without an answer");
        continue;
      }
      used->second.merged = true;
      // Where samples are hidden, what a member counts is its share of a sum that nobody else has told.
      const bool told = !hides_samples_ || used->second.by_edge;
      if ((told && used->second.samples != group.members.back().second) || used->second.group != group.group) {
        fault(of_round(now()) + "client " + std::to_string(client) + " is counted otherwise than it answered");
      }
    }
    for (const Json& one : line.at("dropped")) {
      const std::uint64_t client = one.at("client");
      group.dropped.emplace_back(client, one.at("reason"));
      count(client, group.group);
      const auto used = used_.find(client);
      if (used == used_.end()) continue;
      used->second.merged = true;
      const std::string& why = group.dropped.back().second;
      const bool left_out = quorum_ > 0 && group.members.empty();
      // Of a secure sum that was abandoned nothing is left, also of those who had answered.
      const bool abandoned = used->second.summed && (group.members.empty() || !parallel_);
      if (why != "non-finite" && why != "malformed" && !left_out && !abandoned && !(sealed_ && why == "unreachable")) {
        fault(of_round(now()) + "the acknowledged answer of client " + std::to_string(client) + " is lost: " + why);
      }
    }
    if (!group.members.empty()) {
      group.samples = line.at("samples");
      group.importance = line.at("importance");
      group.model = line.value("model", "");
      if (group.samples != samples)
        fault(of_round(now()) + "the samples of group " + std::to_string(group.group) + " do not add up");
    }
    merged_.push_back(std::move(group));
  }

  void count(std::uint64_t client, std::uint64_t group) {
    put_in_group(client, group);
    if (!counted_.insert(client).second) {
      fault(of_round(now()) + "client " + std::to_string(client) + " is counted twice");
    }
  }

  void round(const Json& line) {
    const std::uint64_t number = line.at("round");
    if (number != now()) fault("a gap: round " + std::to_string(number) + ", want " + std::to_string(now()));
    MadeRound made{.model = line.at("model"), .participants = line.at("participants")};
    std::uint64_t members = 0;
    for (const MergedGroup& group : merged_) {
      members += group.members.size();
      made.dropped.insert(made.dropped.end(), group.dropped.begin(), group.dropped.end());
    }
    if (members != made.participants) fault(of_round(number) + "the participants are not the members that were merged");
    for (const auto& [client, used] : used_) {
      if (!used.merged) {
        fault(of_round(number) + "the acknowledged answer of client " + std::to_string(client) + " is lost");
      }
    }
    if (!question_.vectors.empty()) recompute(made.model);
    made_.push_back(std::move(made));
    forget_round();
  }

  void forget_round() {
    group_of_.clear();
    visits_.clear();
    used_.clear();
    counted_.clear();
    merged_.clear();
    merged_groups_.clear();
  }

  // The values that were sent with an answer, if they are those that the ledger tells of.
  std::optional<std::vector<float>> vector_of(const UsedAnswer& used) {
    return vector_in(std::to_string(used.number), used.model);
  }

  std::optional<std::vector<float>> vector_in(const std::string& name, const std::string& hash) {
    const std::filesystem::path path = question_.vectors / (std::to_string(incarnation_) + "-" + name + ".f32");
    std::ifstream in(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::vector<float> values(bytes.size() / sizeof(float));
    std::copy(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(values.size() * sizeof(float)),
              reinterpret_cast<char*>(values.data()));
    if (!in || values.empty() || hash_of(values) != hash) {
      fault(of_round(now()) + path.filename().string() + " is not what was answered");
      return std::nullopt;
    }
    return values;
  }

  std::optional<std::vector<float>> model_of(const MergedGroup& group) {
    if (in_group_ == "secure-sum") {  // what it came to: nobody has what it was added up from
      return vector_in("round-" + std::to_string(now()) + "-group-" + std::to_string(group.group), group.model);
    }
    DoubleMean mean;
    for (const auto& [client, samples] : group.members) {
      const auto used = used_.find(client);
      if (used == used_.end()) return std::nullopt;
      const auto values = vector_of(used->second);
      if (!values || used->second.by_edge) return values;
      mean.add(*values, in_group_ == "samples-weighted" ? static_cast<double>(samples) : 1.0);
    }
    return mean.mean();
  }

  void recompute(const std::string& model) {
    if (!parallel_ || private_) return;  // changes are shortened and have noise on them
    DoubleMean all;
    bool any = false;
    for (const MergedGroup& group : merged_) {
      if (group.members.empty() || group.model.empty()) continue;
      const auto own = model_of(group);
      if (!own) return;
      ++found_.groups_recomputed;
      if (hash_of(*own) != group.model) {
        fault(of_round(now()) + "the model of group " + std::to_string(group.group) +
              " is not the weighted sum of its members' answers");
      }
      all.add(*own, global_ == "uniform" ? 1.0 : static_cast<double>(group.samples) * group.importance);
      any = true;
    }
    if (global_ != "samples-weighted" && global_ != "uniform") return;
    ++found_.rounds_recomputed;
    if (!any && made_.empty()) return;  // the model that the run began with is not in the ledger
    if ((any ? hash_of(all.mean()) : made_.back().model) != model) {
      fault(of_round(now()) + "the merged model is not the weighted sum of the accepted answers");
    }
  }

  void checkpoint(const Json& line) {
    if (line.at("round") != made_.size()) {
      fault("a checkpoint of round " + line.at("round").dump() + " after round " + std::to_string(made_.size()));
    }
    saved_ = std::min(line.at("round").get<std::uint64_t>(), std::uint64_t{made_.size()});
  }

  void end(const Json& line) {
    if (line.at("rounds") != made_.size()) {
      fault("ends after " + line.at("rounds").dump() + " rounds, but " + std::to_string(made_.size()) + " are known");
    }
    found_.ended = line.at("stopped") != "interrupted";
    if (found_.ended) signature_ = line.at("signature");
  }

  void compare_records() {
    std::ifstream rounds(question_.run / "rounds.jsonl", std::ios::binary);
    std::uint64_t number = 0;
    for (std::string line; std::getline(rounds, line);) {
      const Json told = Json::parse(line, nullptr, false);
      ++number;
      if (!told.is_object() || told.value("round", std::uint64_t{0}) != number) {
        return fault("rounds.jsonl: line " + std::to_string(number) + " is not round " + std::to_string(number));
      }
      if (number > made_.size())
        return fault("rounds.jsonl: round " + std::to_string(number) + " is not in the ledger");
      const MadeRound& made = made_[number - 1];
      std::set<std::uint64_t> dropped;
      for (const Json& one : told.at("dropped")) dropped.insert(one.at("client").get<std::uint64_t>());
      const bool all_dropped =
          std::ranges::all_of(made.dropped, [&](const auto& one) { return dropped.contains(one.first); });
      if (told.at("participants") != made.participants || !all_dropped) {
        fault("rounds.jsonl: round " + std::to_string(number) + " has other participants than the ledger");
      }
    }
    if (!found_.ended) return;
    if (number != made_.size())
      fault("rounds.jsonl: " + std::to_string(number) + " rounds, the ledger has " + std::to_string(made_.size()));
    std::ifstream in(question_.run / "summary.json", std::ios::binary);
    const Json summary = Json::parse(in, nullptr, false);
    if (!summary.is_object() || summary.value("signature", "") != signature_) {
      fault("summary.json: has another signature than the ledger's end");
    }
  }

  const LedgerQuestion& question_;
  LedgerFindings found_;
  std::uint64_t line_ = 0;
  std::string run_;
  std::uint64_t incarnation_ = 0;
  bool parallel_ = false;
  bool sealed_ = false;  // models that only clients can read may be lost with them
  std::string in_group_;
  bool private_ = false;
  bool hides_samples_ = false;
  std::string global_;
  double quorum_ = 0;
  bool going_ = false;
  std::map<std::uint64_t, OpenAsk> open_;
  std::uint64_t last_number_ = 0;
  std::vector<MadeRound> made_;  // rounds that count
  std::uint64_t saved_ = 0;
  std::string signature_;
  // Of the round that is being made.
  std::map<std::uint64_t, std::uint64_t> group_of_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> visits_;  // client, part
  std::map<std::uint64_t, UsedAnswer> used_;                  // by client
  std::set<std::uint64_t> counted_;
  std::vector<MergedGroup> merged_;
  std::set<std::uint64_t> merged_groups_;
};

}  // namespace

LedgerFindings check_ledger(const LedgerQuestion& question) {
  return Checker(question).run();
}

}  // namespace ledger_check
