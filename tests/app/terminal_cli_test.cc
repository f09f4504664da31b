// What a run looks like on a terminal: one of a size that changes, one that is interrupted or loses its process, one
// that knows no colours, and a pipe.
#include <pty.h>
#include <termios.h>
#include <utmp.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <sstream>

#include "command_line.h"
#include "data/wrapped_text.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// A program on a terminal of its own.
class OnTerminal {
 public:
  OnTerminal(Words words, std::uint16_t columns, const std::map<std::string, std::string>& environment) {
    winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    int program_side = -1;
    EXPECT_EQ(::openpty(&terminal_, &program_side, nullptr, nullptr, &size), 0);
    ::tcgetattr(terminal_, &modes_);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    child_ = ::fork();
    if (child_ == 0) {
      ::login_tty(program_side);
      for (const char* name : {"NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"}) ::unsetenv(name);
      ::setenv("TERM", "xterm-256color", 1);
      for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(program_side);
  }
  ~OnTerminal() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::close(terminal_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  // What is written from now on until `enough` holds of it, the program ends, or half a minute has passed.
  std::string read_until(const std::function<bool(const std::string&)>& enough) {
    std::string text;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!enough(text) && std::chrono::steady_clock::now() < end) {
      char bytes[4096];
      const ssize_t count = ::read(terminal_, bytes, sizeof bytes);
      if (count <= 0) break;  // EIO: nobody has the other side open
      text.append(bytes, static_cast<std::size_t>(count));
    }
    return text;
  }
  std::string rest() {
    return read_until([](const std::string&) { return false; });
  }
  void resize(std::uint16_t columns) const {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(terminal_, TIOCSWINSZ, &size);
  }
  void type(char key) const { EXPECT_EQ(::write(terminal_, &key, 1), 1); }
  void kill() const { ::kill(child_, SIGKILL); }
  int status() {
    int status = 0;
    ::waitpid(std::exchange(child_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // Echo, lines, signals: as they were when the terminal was opened.
  bool as_it_was() const {
    termios now{};
    ::tcgetattr(terminal_, &now);
    return now.c_iflag == modes_.c_iflag && now.c_oflag == modes_.c_oflag && now.c_lflag == modes_.c_lflag &&
           now.c_cflag == modes_.c_cflag;
  }

 private:
  int terminal_ = -1;
  pid_t child_ = -1;
  termios modes_{};
};

class TerminalCli : public CommandLineTest {
 protected:
  Words run_words(const Words& more) const {
    Words words{MUSTER_BINARY, "run", "fedgsp", "--threads", "1", "--out", (scratch_.path() / "runs").string()};
    for (const char* setting : {"data.source=blobs", "data.clients=20", "model.name=softmax"}) {
      words.insert(words.end(), {"--set", setting});
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Without what moves the cursor, clears or colours: what is left has no control character, and every line fits.
  static void expect_fits(const std::string& text, std::size_t columns) {
    std::string line;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text.compare(i, 2, "\x1b[") == 0) {
        i += 2;
        while (i < text.size() && (std::isdigit(static_cast<unsigned char>(text[i])) || text[i] == ';')) ++i;
        if (i == text.size()) break;
        EXPECT_THAT(std::string("AJKm"), HasSubstr(std::string(1, text[i]))) << "a mode of the terminal is changed";
      } else if (text[i] == '\n' || text[i] == '\r') {
        const bool told = line.starts_with("muster: ") || line.starts_with("^C");
        EXPECT_TRUE(told || shown_columns(line) < columns) << line;
        line.clear();
      } else {
        EXPECT_TRUE(static_cast<unsigned char>(text[i]) >= 0x20 && text[i] != 0x7f) << int{text[i]};
        line += text[i];
      }
    }
  }
  static auto rounds_drawn(std::size_t count) {
    return [count](const std::string& text) {
      std::size_t found = 0;
      for (std::size_t at = text.find("accuracy  "); at != std::string::npos; at = text.find("accuracy  ", at + 1))
        ++found;
      return found >= count;
    };
  }
};

TEST_F(TerminalCli, WatchFitsATerminalThatChangesAndLeavesItAsItWas) {
  OnTerminal terminal(run_words({"--watch", "--rounds", "100000", "--set", "checkpoint-every=100000"}), 80,
                      {{"LANG", "C.UTF-8"}});
  const std::string first = terminal.read_until(rounds_drawn(3));
  EXPECT_THAT(first, AllOf(HasSubstr("\x1b[36m"), HasSubstr("\xe2\xa0"), HasSubstr("groups"))) << "a curve in colour";
  expect_fits(first, 80);
  terminal.resize(60);
  (void)terminal.read_until(rounds_drawn(2));  // one that was begun, and the first of the new size
  const std::string narrow = terminal.read_until(rounds_drawn(3));
  EXPECT_TRUE(rounds_drawn(3)(narrow)) << narrow;
  expect_fits(narrow.substr(narrow.find('\n') + 1), 60);
  terminal.type(3);  // Ctrl-C
  const std::string last = terminal.rest();
  EXPECT_THAT(last, AllOf(HasSubstr("saved after round"), HasSubstr("run --resume")));
  EXPECT_TRUE(last.ends_with("\r\n")) << "the prompt begins a line";
  EXPECT_TRUE(terminal.as_it_was());
  EXPECT_EQ(terminal.status(), 130);
}

TEST_F(TerminalCli, AKilledWatchLeavesTheTerminalAsItWas) {
  OnTerminal terminal(run_words({"--watch", "--rounds", "100000"}), 60, {{"NO_COLOR", "1"}});
  const std::string text = terminal.read_until(rounds_drawn(2));
  terminal.kill();
  EXPECT_EQ(terminal.status(), 128 + SIGKILL);
  EXPECT_TRUE(terminal.as_it_was());
  expect_fits(text, 60);
  EXPECT_THAT(text, AllOf(HasSubstr("*"), Not(HasSubstr("\x1b[3")), Not(HasSubstr("\x1b[0m"))));
}

TEST_F(TerminalCli, PlainWhereItCannotBeDrawn) {
  OnTerminal dumb(run_words({"--watch", "--rounds", "5"}), 80, {{"TERM", "dumb"}});
  const std::string text = dumb.rest();
  EXPECT_EQ(dumb.status(), 0);
  EXPECT_THAT(text, AllOf(HasSubstr("round 5/5"), Not(HasSubstr("\x1b"))));
  Words words = run_words({"--watch", "--rounds", "5"});
  words.erase(words.begin());
  const Finished piped = muster(words);
  EXPECT_EQ(piped.status, 0);
  for (const std::string& told : {piped.err, piped.out}) {
    EXPECT_TRUE(std::ranges::all_of(told, [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= 0x20; }))
        << told;
  }
  EXPECT_THAT(piped.err, HasSubstr("round 5/5"));
}

// The table at the end, of whatever is run and however sites and classes are called.
TEST_F(TerminalCli, TheFinalTableIsAsWideAsATerminal) {
  const auto expect_narrow = [&](const Words& words) {
    const Finished finished = muster(words);
    EXPECT_EQ(finished.status, 0) << finished.err;
    std::istringstream lines(finished.out);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("  folder     ")) continue;  // to be copied in one piece
      EXPECT_LE(shown_columns(line), kTerminalColumns) << line;
      EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; }));
    }
  };
  std::string table = "x,y,finding,clinic\n";
  for (int row = 0; row < 80; ++row) {
    const std::string name = row % 2 == 0
                                 ? std::string(300, 'w')
                                 : "\x1b[31m東京大学医学部附属病院東京大学医学部附属病院東京大学医学部附属病院";
    table += fmt::format("{},{},\"{} {}\",\"{} {}\"\n", row % 7, row % 5, name, row % 3, name, row % 4);
  }
  const std::string out = (scratch_.path() / "runs").string();
  const std::string data = "data.path=" + file("names.csv", table);
  expect_narrow({"run", "fedavg", "--rounds", "2", "--quiet", "--out", out, "--set", "data.source=csv", "--set", data,
                 "--set", "data.label=finding", "--set", "data.client=clinic", "--set",
                 "name=" + std::string(500, 'n')});
  for (const Words& more :
       std::vector<Words>{{"fedgsp"},
                          {"autocfl"},
                          {"fedavg-uniform", "--set", "dp.clip=1.0", "--set", "dp.noise-multiplier=1.0"},
                          {"fedavg", "--set", "attack.kind=sign-flip", "--set", "attack.clients=0.2"},
                          {"group-fel-private", "--set", "faults.drop=0.5"},
                          {"scaffold", "--set", "target-accuracy=0.99", "--seed", "9223372036854775807"},
                          {"fedgsp", "--dry-run"}}) {
    Words words{"run"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--task", "synthetic", "--rounds", "2", "--out", out});
    if (more.back() != "--dry-run") words.push_back("--quiet");
    expect_narrow(words);
  }
}

}  // namespace
}  // namespace muster
