// The checker of ledgers finds what it is for: a ledger that is right is accepted, and every way to doctor it is not.
#include "ledger_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using Line = nlohmann::json;
using Ledger = std::vector<Line>;
using Floats = std::vector<float>;

std::string hash_of_values(const Floats& values) {
  return hex16(hash_bytes(values.data(), values.size() * sizeof(float)));
}

// A run of two rounds: clients 0 and 1 in group 0, client 2 in group 1. The cloud dies after the first round, whose
// checkpoint it has written, and makes the second one twice.
class LedgerCheckTest : public testing::Test {
 protected:
  LedgerCheckTest() {
    start(1, 0, {0, 0});
    asks(1, 1);
    answers(1, 1);
    const Floats first = merge(1);
    add({{"event", "checkpoint"}, {"round", 1}});
    asks(2, 4);
    answers(1, 4);
    start(2, 1, first);
    asks(2, 1);
    add({{"event", "refused"}, {"number", 4}, {"incarnation", 1}, {"reason", "the cloud has started again"}});
    answers(2, 1);
    merge(2);
    add({{"event", "checkpoint"}, {"round", 2}});
    add({{"event", "end"}, {"rounds", 2}, {"stopped", "rounds"}, {"signature", "s"}});
    spit(scratch_ / "summary.json", R"({"signature": "s"})");
    spit(scratch_ / "rounds.jsonl",
         "{\"round\":1,\"participants\":3,\"dropped\":[]}\n{\"round\":2,\"participants\":3,\"dropped\":[]}\n");
  }

  void add(Line line) { ledger_.push_back(std::move(line)); }
  void start(int incarnation, int round, const Floats& model) {
    add({{"event", "start"},
         {"run", "r"},
         {"incarnation", incarnation},
         {"clients", 3},
         {"training", "parallel"},
         {"group_rounds", 1},
         {"in_group", "samples-weighted"},
         {"global", "samples-weighted"},
         {"quorum", 0.0}});
    add({{"event", "came"}, {"peer", "p"}, {"edge", false}, {"clients", {0, 1, 2}}});
    add({{"event", "from"}, {"round", round}});
    if (round > 0) ledger_.back()["model"] = hash_of_values(model);
  }
  static Line task(const char* event, int number, int round, int client) {
    return {{"event", event}, {"number", number}, {"round", round},
            {"part", 0},      {"client", client}, {"group", client == 2 ? 1 : 0}};
  }
  void asks(int round, int first) {
    round_ = round;
    for (int client = 0; client < 3; ++client) {
      add(task("ask", first + client, round, client));
      ledger_.back()["kind"] = "train";
    }
  }
  static Floats sent(int client, int round) { return {0.1f * static_cast<float>(client + round), 1.0f / 3}; }
  void answers(int incarnation, int first) {
    for (int client = 0; client < 3; ++client) {
      const Floats values = sent(client, round_);
      scratch_.write(fmt::format("vectors/{}-{}.f32", incarnation, first + client),
                     std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
      add(task("answer", first + client, round_, client));
      ledger_.back().update(Line{
          {"incarnation", incarnation}, {"used", true}, {"samples", 10 + client}, {"model", hash_of_values(values)}});
    }
  }
  static Floats mean(const Floats& a, double wa, const Floats& b, double wb) {
    Floats out;
    for (std::size_t i = 0; i < a.size(); ++i) out.push_back(static_cast<float>((wa * a[i] + wb * b[i]) / (wa + wb)));
    return out;
  }
  Floats merge(int round) {
    const Floats pair = mean(sent(0, round), 10, sent(1, round), 11);
    const Line none = Line::array();
    add({{"event", "merged"},
         {"round", round},
         {"group", 0},
         {"members", {{{"client", 0}, {"samples", 10}}, {{"client", 1}, {"samples", 11}}}},
         {"dropped", none},
         {"samples", 21},
         {"importance", 1.0},
         {"model", hash_of_values(pair)}});
    add({{"event", "merged"},
         {"round", round},
         {"group", 1},
         {"members", {{{"client", 2}, {"samples", 12}}}},
         {"dropped", none},
         {"samples", 12},
         {"importance", 1.0},
         {"model", hash_of_values(sent(2, round))}});
    Floats all = mean(pair, 21, sent(2, round), 12);
    add({{"event", "round"}, {"round", round}, {"participants", 3}, {"model", hash_of_values(all)}});
    return all;
  }

  // The first (or a later) line that tells of it.
  Line& line(const std::string& event, int nth = 0) {
    for (Line& one : ledger_) {
      if (one["event"] == event && nth-- == 0) return one;
    }
    ADD_FAILURE() << "no line " << event;
    return ledger_.front();
  }
  void erase(const std::string& event, int nth = 0) {
    ledger_.erase(ledger_.begin() + (&line(event, nth) - ledger_.data()));
  }
  void repeat(const std::string& event, int nth = 0) {
    const auto place = &line(event, nth) - ledger_.data();
    ledger_.insert(ledger_.begin() + place, Line(ledger_[static_cast<std::size_t>(place)]));
  }

  ledger_check::LedgerFindings check(bool lossless = false) {
    std::string text;
    for (const Line& one : ledger_) text += one.dump() + "\n";
    spit(scratch_ / "ledger.jsonl", text + cut_);
    return ledger_check::check_ledger({.run = scratch_.path(), .vectors = scratch_ / "vectors", .lossless = lossless});
  }
  void expect_fault(const std::string& what) { EXPECT_THAT(check().faults, Contains(HasSubstr(what))); }

  ScratchFolder scratch_;
  Ledger ledger_;
  int round_ = 0;
  std::string cut_;
};

TEST_F(LedgerCheckTest, AcceptsWhatIsRight) {
  const auto found = check(true);
  EXPECT_THAT(found.faults, IsEmpty());
  EXPECT_EQ(found.rounds, 2u);
  EXPECT_EQ(found.incarnations, 2u);
  EXPECT_EQ(found.answers, 9u);
  EXPECT_EQ(found.groups_recomputed, 4u);
  EXPECT_EQ(found.rounds_recomputed, 2u);
  EXPECT_TRUE(found.ended);
}

TEST_F(LedgerCheckTest, ALineThatWasCutShortDoesNotCount) {
  cut_ = R"({"event":"round","rou)";
  EXPECT_THAT(check().faults, IsEmpty());
}

TEST_F(LedgerCheckTest, FindsAClientThatIsCountedTwice) {
  line("merged", 1)["members"].push_back({{"client", 0}, {"samples", 10}});
  expect_fault("client 0 is counted twice");
}

TEST_F(LedgerCheckTest, FindsAnAnswerThatIsCountedTwice) {
  Line again = line("ask");
  again["number"] = 7;
  Line answer = line("answer");
  answer["number"] = 7;
  const auto before = &line("merged") - ledger_.data();
  ledger_.insert(ledger_.begin() + before, {again, answer});
  expect_fault("client 0 is counted twice");
}

TEST_F(LedgerCheckTest, FindsAnAnswerThatIsUsedAgain) {
  repeat("answer");
  expect_fault("which is not open");
}

TEST_F(LedgerCheckTest, FindsAnAnswerThatNobodyWaitedForAnyLonger) {
  const auto before = &line("answer") - ledger_.data();
  ledger_.insert(ledger_.begin() + before, Line{{"event", "missed"}, {"number", 1}, {"reason", "straggler"}});
  expect_fault("was given up");
}

TEST_F(LedgerCheckTest, FindsAStaleAnswer) {
  line("answer", 6)["incarnation"] = 1;
  expect_fault("a stale answer");
}

TEST_F(LedgerCheckTest, FindsAnAnswerOfAnotherRound) {
  line("answer", 6)["round"] = 1;
  expect_fault("for another task");
}

TEST_F(LedgerCheckTest, FindsAnAcknowledgedAnswerThatIsLost) {
  line("merged")["members"].erase(1);
  expect_fault("the acknowledged answer of client 1 is lost");
}

TEST_F(LedgerCheckTest, FindsAnAcknowledgedAnswerThatIsSaidToBeMissing) {
  Line& merged = line("merged");
  merged["members"].erase(1);
  merged["dropped"].push_back({{"client", 1}, {"reason", "unreachable"}});
  expect_fault("the acknowledged answer of client 1 is lost: unreachable");
}

TEST_F(LedgerCheckTest, FindsAMemberThatDidNotAnswer) {
  erase("answer", 1);
  expect_fault("client 1 is counted without an answer");
}

TEST_F(LedgerCheckTest, FindsACheckpointThatIsLost) {
  line("from", 1)["round"] = 0;
  expect_fault("an acknowledged checkpoint is lost");
}

TEST_F(LedgerCheckTest, FindsAGapBetweenIncarnations) {
  line("from", 1)["round"] = 2;
  expect_fault("a gap: goes on from round 2");
}

TEST_F(LedgerCheckTest, FindsARoundThatIsLeftOut) {
  line("round", 1)["round"] = 3;
  expect_fault("a gap: round 3, want 2");
}

TEST_F(LedgerCheckTest, FindsAModelThatCameFromNowhere) {
  line("from", 1)["model"] = "0000000000000000";
  expect_fault("goes on from another model");
}

TEST_F(LedgerCheckTest, FindsAClientInTwoGroups) {
  line("ask", 2)["client"] = 1;
  expect_fault("client 1 is in groups 0 and 1");
}

TEST_F(LedgerCheckTest, FindsAClientThatIsDroppedInAnotherGroup) {
  line("merged", 1)["dropped"].push_back({{"client", 1}, {"reason", "straggler"}});
  expect_fault("client 1 is in groups 0 and 1");
}

TEST_F(LedgerCheckTest, FindsAGroupWhoseModelIsNotItsMembers) {
  line("merged")["model"] = hash_of_values(sent(0, 1));
  expect_fault("the model of group 0 is not the weighted sum");
}

TEST_F(LedgerCheckTest, FindsAWrongSum) {
  line("round")["model"] = hash_of_values(sent(0, 1));
  expect_fault("the merged model is not the weighted sum");
}

TEST_F(LedgerCheckTest, FindsAWrongWeight) {
  line("answer", 1)["samples"] = 12;
  expect_fault("client 1 is counted otherwise than it answered");
}

TEST_F(LedgerCheckTest, FindsAVectorThatIsNotTheOneThatWasSent) {
  spit(scratch_ / "vectors/1-1.f32", "12345678");
  expect_fault("1-1.f32 is not what was answered");
}

TEST_F(LedgerCheckTest, FindsRecordsThatSayOtherwise) {
  spit(scratch_ / "rounds.jsonl", "{\"round\":1,\"participants\":3,\"dropped\":[]}\n");
  expect_fault("rounds.jsonl: 1 rounds");
  spit(scratch_ / "summary.json", R"({"signature": "t"})");
  expect_fault("another signature");
}

TEST_F(LedgerCheckTest, FindsWhatIsNoLedger) {
  ledger_.erase(ledger_.begin());
  expect_fault("nothing has started");
  ledger_.clear();
  cut_ = "no JSON\n";
  expect_fault("not a line of a ledger");
}

// Who is really lost is dropped with its reason, which is right, unless nobody may be.
TEST_F(LedgerCheckTest, AcceptsClientsThatAreLost) {
  const auto answer = &line("answer", 1) - ledger_.data();
  ledger_[static_cast<std::size_t>(answer)] = {{"event", "missed"}, {"number", 2}, {"reason", "straggler"}};
  Line& merged = line("merged");
  merged["members"].erase(1);
  merged["dropped"].push_back({{"client", 1}, {"reason", "straggler"}});
  merged["samples"] = 10;
  merged["model"] = hash_of_values(sent(0, 1));
  const std::string model = hash_of_values(mean(sent(0, 1), 10, sent(2, 1), 12));
  line("round")["model"] = model;
  line("round")["participants"] = 2;
  line("from", 1)["model"] = model;
  spit(scratch_ / "rounds.jsonl",
       "{\"round\":1,\"participants\":2,\"dropped\":[{\"client\":1}]}\n{\"round\":2,\"participants\":3,\"dropped\":[]}"
       "\n");
  EXPECT_THAT(check().faults, IsEmpty());
  EXPECT_THAT(check(true).faults, Contains(HasSubstr("client 1 is missing: straggler")));
}

}  // namespace
}  // namespace muster
