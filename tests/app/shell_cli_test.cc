// What the shell and `man` are told about the command line.
#include <nlohmann/json.hpp>
#include <set>

#include "command_line.h"

namespace muster {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

bool installed(const char* program) {
  return std::system(fmt::format("command -v {} > /dev/null 2>&1", program).c_str()) == 0;
}

class Shell : public CommandLineTest {
 protected:
  // What bash offers for the last of these words.
  std::vector<std::string> completed(const Words& words) const {
    std::string quoted;
    for (const std::string& word : words) quoted += " '" + word + "'";
    const std::string script = fmt::format(
        "eval \"$({} completion bash)\"; COMP_WORDS=({}); COMP_CWORD={}; _muster; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        MUSTER_BINARY, quoted, words.size() - 1);
    const Finished finished = Process(scratch_, {"/bin/bash", "-c", script}).wait();
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
    std::vector<std::string> lines;
    std::istringstream in(finished.out);
    for (std::string line; std::getline(in, line);) {
      if (!line.empty()) lines.push_back(line);
    }
    return lines;
  }
};

TEST_F(Shell, BashCompletesCommandsOptionsRecipesAndKeys) {
  EXPECT_THAT(completed({"muster", ""}), IsSupersetOf({"run", "list", "show", "group", "data", "bench", "completion",
                                                       "pki", "cloud", "edge", "client", "federate"}));
  EXPECT_THAT(completed({"muster", "compl"}), ElementsAre("completion"));
  EXPECT_THAT(completed({"muster", "run", "--r"}), ElementsAre("--rounds", "--resume"));
  EXPECT_THAT(completed({"muster", "run", "fedseqi"}), IsSupersetOf({"fedseqinter", "fedseqinter-feddyn"}));
  EXPECT_THAT(completed({"muster", "run", "fedavg", "--set", "local.learning-rate"}),
              ElementsAre("local.learning-rate=", "local.learning-rate-decay="));
  EXPECT_THAT(completed({"muster", "run", "--set", "x=1", "--json", "--qu"}), ElementsAre("--quiet"));
  EXPECT_THAT(completed({"muster", "data", "p"}), ElementsAre("partition"));
  EXPECT_THAT(completed({"muster", "data", "partition", "--pl"}), ElementsAre("--plot"));
  EXPECT_THAT(completed({"muster", "data", "inspect", "fashion"}), Contains("fashion-mnist"));
  EXPECT_THAT(completed({"muster", "group", "inter"}), ElementsAre("inter-cluster"));
  EXPECT_THAT(completed({"muster", "group", "random", "--set", "min-s"}), Contains("min-size="));
  EXPECT_THAT(completed({"muster", "data", "inspect", "x", "--set", "local"}), ElementsAre());
  EXPECT_THAT(completed({"muster", "list", "rec"}), ElementsAre("recipes"));
  EXPECT_THAT(completed({"muster", "run", "--seed", ""}), ElementsAre()) << "a number: nothing to offer";
}

TEST_F(Shell, BashKnowsAllRecipesAndKeys) {
  const auto listed = nlohmann::json::parse(muster({"list", "--json"}).out);
  std::set<std::string> recipes;
  for (const auto& entry : listed["recipes"]) recipes.insert(entry["name"]);
  const std::vector<std::string> offered = completed({"muster", "show", ""});
  for (const std::string& recipe : recipes) EXPECT_THAT(offered, Contains(recipe));
  const std::vector<std::string> keys = completed({"muster", "show", "x", "--set", ""});
  for (const auto& entry : listed["keys"]) {
    const std::string key = entry["name"];
    if (key == "base" || key == "task") continue;  // no settings
    EXPECT_THAT(keys, Contains(key + "="));
  }
  EXPECT_THAT(completed({"muster", "run", "fedavg", "--task", "mnist-w"}), ElementsAre("mnist-writers"));
}

TEST_F(Shell, ZshScriptIsUnderstood) {
  const std::string script = file("_muster", muster({"completion", "zsh"}).out);
  std::ifstream in(script);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(text.starts_with("#compdef muster\n"));
  for (const char* part : {"'muster data partition'", "'run:Simulate one federation", "fedseqinter", "local.mu="}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  if (!installed("zsh")) GTEST_SKIP() << "zsh is not installed: its script is not run";
  const Finished checked = Process(scratch_, {"/bin/sh", "-c", "zsh -n " + script}).wait();
  EXPECT_EQ(checked.status, 0) << checked.err;
  // compadd and _describe only say what they are given.
  const std::string trial = fmt::format(
      "compdef() {{ :; }}; compadd() {{ print -l -- $@; }}; _describe() {{ print -l -- ${{(P)argv[-1]}}; }}; "
      "_files() {{ print files; }}; source {}; words=(muster run --set ''); CURRENT=4; _muster; "
      "words=(muster run --ro); CURRENT=3; _muster; words=(muster ''); CURRENT=2; _muster",
      script);
  const Finished ran = Process(scratch_, {"/bin/sh", "-c", "zsh -f -c '" + trial + "'"}).wait();
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  for (const char* part : {"local.mu=", "--rounds:Rounds of training", "run:Simulate one federation"}) {
    EXPECT_THAT(ran.out, HasSubstr(part));
  }
}

TEST_F(Shell, ThePlainProgramNamesWhatNeedsTheNetwork) {
  for (const char* command : {"pki", "cloud", "edge", "client", "federate"}) {
    for (const Words& words : {Words{command}, Words{command, "x", "--y", "z"}, Words{command, "--pki", "a"}}) {
      expect_error(words, 2, HasSubstr(fmt::format("built without the network; use `./muster {} ...`", command)));
    }
    EXPECT_THAT(muster({command, "--help"}).out, HasSubstr("Needs the network"));
  }
}

TEST_F(Shell, AnUnknownShellIsRefused) {
  expect_error({"completion", "fish"}, 2, HasSubstr("accepted: bash, zsh"));
}

// Every option of every command, from the help itself.
std::set<std::string> options_in(const std::string& help) {
  std::set<std::string> options;
  std::istringstream in(help);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("  --")) options.insert(line.substr(2, line.find_first_of(" ,", 2) - 2));
  }
  return options;
}

TEST_F(Shell, TheManPageHasAllHelp) {
  const Finished page = muster({"man"});
  ASSERT_EQ(page.status, 0) << page.err;
  EXPECT_TRUE(page.out.starts_with(".TH MUSTER 1 "));
  for (const char* part : {"\n.SH NAME\n", "\n.SH SYNOPSIS\n", "\n.SH DESCRIPTION\n", "\n.SH COMMANDS\n", "\n.SS run\n",
                           "\n.SS data partition\n", "Exit status"}) {
    EXPECT_THAT(page.out, HasSubstr(part));
  }
  std::string plain = page.out;
  for (std::size_t at; (at = plain.find("\\-")) != std::string::npos;) plain.erase(at, 1);
  for (const Words& words : {Words{"run", "--help"}, Words{"group", "--help"}, Words{"data", "partition", "--help"}}) {
    const std::set<std::string> options = options_in(muster(words).out);
    EXPECT_GE(options.size(), 3u);
    for (const std::string& option : options) EXPECT_THAT(plain, HasSubstr("\\fB" + option + "\\fR")) << words[0];
  }
  EXPECT_THAT(plain, HasSubstr("muster run fedavg --rounds 20 --set local.epochs=2 --json\n"));
}

TEST_F(Shell, TheManPageIsReadWithoutComplaint) {
  if (!installed("groff")) GTEST_SKIP() << "groff is not installed: the manual page is not set";
  const std::string page = file("muster.1", muster({"man"}).out);
  const Finished set = Process(scratch_, {"/bin/sh", "-c", "groff -man -Tascii -ww -P-c " + page}).wait();
  EXPECT_EQ(set.status, 0);
  EXPECT_EQ(set.err, "");
  EXPECT_THAT(set.out, HasSubstr("--rounds"));
  EXPECT_THAT(set.out, HasSubstr("muster run fedavg --rounds 20 --set local.epochs=2 --json"));
}

}  // namespace
}  // namespace muster
