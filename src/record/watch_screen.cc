#include "record/watch_screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace muster {
namespace {

constexpr std::uint32_t kLabel = 8;    // columns left of the curve
constexpr std::uint32_t kLeast = 24;   // columns of a terminal that is drawn on
constexpr std::uint32_t kHeight = 10;  // lines of the curve, where there is room
constexpr std::size_t kMostPoints = 4096;

constexpr const char* kCurve = "\x1b[36m";
constexpr const char* kBars = "\x1b[33m";
constexpr const char* kPlain = "\x1b[0m";

std::string coloured(std::string text, const char* colour, const WatchStyle& style) {
  return style.colour && !text.empty() ? colour + std::move(text) + kPlain : text;
}

std::string utf8(std::uint32_t letter) {
  return {static_cast<char>(0xe0 | letter >> 12), static_cast<char>(0x80 | (letter >> 6 & 0x3f)),
          static_cast<char>(0x80 | (letter & 0x3f))};
}

// Of very many, every second is forgotten: a screen has few columns.
void thin(std::vector<WatchedRounds::Point>& points) {
  if (points.size() <= kMostPoints) return;
  for (std::size_t i = 0; 2 * i < points.size(); ++i) points[i] = points[2 * i];
  points.resize((points.size() + 1) / 2);
}

struct Range {
  double low, high;
};

Range range_of(const std::vector<WatchedRounds::Point>& points) {
  Range range{points.front().value, points.front().value};
  for (const auto& point : points) {
    range.low = std::min(range.low, point.value);
    range.high = std::max(range.high, point.value);
  }
  if (range.high - range.low < 0.01) range = {range.low - 0.005, range.high + 0.005};
  return range;
}

// Two dots across and four down in a letter of Braille; one star in a letter without.
class DotCanvas {
 public:
  DotCanvas(std::uint32_t columns, std::uint32_t rows, bool unicode)
      : columns_(columns), rows_(rows), unicode_(unicode), cells_(std::size_t{columns} * rows) {}
  [[nodiscard]] std::uint32_t width() const { return unicode_ ? 2 * columns_ : columns_; }
  [[nodiscard]] std::uint32_t height() const { return unicode_ ? 4 * rows_ : rows_; }

  void set(std::uint32_t x, std::uint32_t y) {
    constexpr std::uint8_t kDots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x >= width() || y >= height()) return;
    std::uint8_t& cell =
        unicode_ ? cells_[std::size_t{y / 4} * columns_ + x / 2] : cells_[std::size_t{y} * columns_ + x];
    cell = static_cast<std::uint8_t>(cell | (unicode_ ? kDots[y % 4][x % 2] : 1));
  }
  [[nodiscard]] std::string row(std::uint32_t index) const {
    std::string text;
    for (std::uint32_t c = 0; c < columns_; ++c) {
      const std::uint8_t cell = cells_[std::size_t{index} * columns_ + c];
      text += !unicode_ ? std::string(1, cell ? '*' : ' ') : cell ? utf8(0x2800u + cell) : " ";
    }
    return text;
  }

 private:
  std::uint32_t columns_;
  std::uint32_t rows_;
  bool unicode_;
  std::vector<std::uint8_t> cells_;
};

void draw_curve(const std::vector<WatchedRounds::Point>& points, const Range& range, DotCanvas& canvas) {
  const double first = points.front().round;
  const double last = std::max<double>(points.back().round, first + 1);
  const auto place = [&](const WatchedRounds::Point& point) {
    const double x = (point.round - first) / (last - first) * (canvas.width() - 1);
    const double y = (range.high - point.value) / (range.high - range.low) * (canvas.height() - 1);
    return std::pair(x, y);
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto [x1, y1] = place(points[i]);
    const auto [x0, y0] = place(points[i == 0 ? 0 : i - 1]);
    const int steps = std::max(1, static_cast<int>(std::ceil(std::max(std::abs(x1 - x0), std::abs(y1 - y0)))));
    for (int s = 0; s <= steps; ++s) {
      const double share = static_cast<double>(s) / steps;
      canvas.set(static_cast<std::uint32_t>(std::lround(x0 + (x1 - x0) * share)),
                 static_cast<std::uint32_t>(std::lround(y0 + (y1 - y0) * share)));
    }
  }
}

// A bar per column, as high as the most groups of the rounds that fall on it.
std::string small_bars(const std::vector<WatchedRounds::Point>& points, std::uint32_t columns, bool unicode) {
  const std::size_t count = std::min<std::size_t>(columns, points.size());
  std::vector<double> values(count, 0);
  for (std::size_t i = 0; i < points.size(); ++i) {
    double& value = values[i * count / points.size()];
    value = std::max(value, points[i].value);
  }
  const double highest = std::max(1.0, *std::max_element(values.begin(), values.end()));
  constexpr std::string_view kStairs = "_.:-=+*#";
  std::string text;
  for (const double value : values) {
    const auto level = static_cast<std::uint32_t>(std::clamp(std::lround(value / highest * 7), 0L, 7L));
    text += unicode ? utf8(0x2581 + level) : std::string(1, kStairs[level]);
  }
  return text;
}

}  // namespace

WatchStyle watch_style(const std::function<const char*(const char*)>& environment) {
  const auto value = [&](const char* name) {
    const char* const found = environment(name);
    return std::string_view(found ? found : "");
  };
  WatchStyle style{.colour = value("NO_COLOR").empty()};
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = value(name);
    if (locale.empty()) continue;
    style.unicode = locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
    break;
  }
  return style;
}

void WatchedRounds::add(const RoundRecord& record) {
  if (record.accuracy && std::isfinite(*record.accuracy)) accuracy.push_back({record.round, *record.accuracy});
  now.clear();
  if (record.group_size_max > 1) {
    groups.push_back({record.round, static_cast<double>(record.groups_formed)});
    now = fmt::format("{} formed, {} drawn, largest of {}", record.groups_formed, record.groups, record.group_size_max);
    if (record.idle > 0) now += fmt::format(", {} idle", record.idle);
  }
  thin(accuracy);
  thin(groups);
}

std::vector<std::string> watch_lines(const WatchedRounds& rounds, std::uint32_t columns, std::uint32_t height,
                                     const WatchStyle& style) {
  std::vector<std::string> lines;
  if (columns < kLeast || height == 0) return lines;
  const std::uint32_t width = columns - kLabel - 1;  // the last column stays free
  if (!rounds.accuracy.empty()) {
    const Range range = range_of(rounds.accuracy);
    DotCanvas canvas(width, height, style.unicode);
    draw_curve(rounds.accuracy, range, canvas);
    for (std::uint32_t row = 0; row < height; ++row) {
      const double value = range.high - (range.high - range.low) * (height == 1 ? 0 : row / (height - 1.0));
      const bool labelled = row == 0 || row + 1 == height || row == height / 2;
      std::string curve = canvas.row(row);
      curve.erase(curve.find_last_not_of(' ') + 1);
      lines.push_back((labelled ? fmt::format("{:5.1f} % ", 100 * value) : std::string(kLabel, ' ')) +
                      coloured(std::move(curve), kCurve, style));
    }
    const std::string last = fmt::format("{}", rounds.accuracy.back().round);
    const std::string first = fmt::format("round {}", rounds.accuracy.front().round);
    const std::size_t between = width > first.size() + last.size() ? width - first.size() - last.size() : 1;
    const std::string name = between > 10 ? "accuracy" : "";
    const std::size_t before = (between - name.size()) / 2;
    lines.push_back(std::string(kLabel, ' ') + first + std::string(before, ' ') + name +
                    std::string(between - name.size() - before, ' ') + last);
  }
  if (!rounds.groups.empty()) {
    const std::uint32_t room =
        width > rounds.now.size() + 12 ? width - static_cast<std::uint32_t>(rounds.now.size()) - 2 : 0;
    std::string line = fmt::format("{:<{}}", "groups", kLabel);
    if (room > 0) line += coloured(small_bars(rounds.groups, room, style.unicode), kBars, style) + "  ";
    lines.push_back(line + rounds.now.substr(0, width));
  }
  return lines;
}

std::uint32_t stderr_rows() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return known ? std::uint32_t{size.ws_row} : std::uint32_t{24};
}

WatchScreen::WatchScreen(ProgressSink terminal, std::function<std::uint32_t()> rows, WatchStyle style,
                         const std::atomic<bool>* interrupt)
    : terminal_(std::move(terminal)), rows_(std::move(rows)), style_(style), interrupt_(interrupt) {}

ProgressSink WatchScreen::sink() {
  ProgressSink sink = terminal_;
  if (terminal_.terminal) sink.write = [this](std::string_view text) { write(text); };
  return sink;
}

// Progress draws its line over itself, clears it, or ends it.
void WatchScreen::write(std::string_view text) {
  terminal_.write(text);
  line_ = text == "\n" ? std::string() : std::string(text);
  if (text == "\n") drawn_lines_ = 0;
}

void WatchScreen::record(const RoundRecord& record) {
  rounds_.add(record);
  if (terminal_.terminal) draw();
}

void WatchScreen::note(std::string_view text) {
  if (terminal_.terminal) erase();
  terminal_.write(fmt::format("{}\n", text));
  if (terminal_.terminal) draw();
}

void WatchScreen::erase() {
  if (drawn_lines_ > 0) terminal_.write(fmt::format("\r\x1b[{}A\x1b[J", drawn_lines_));
  if (drawn_lines_ == 0) terminal_.write("\r\x1b[K");
  drawn_lines_ = 0;
}

void WatchScreen::draw() {
  const std::uint32_t columns = terminal_.width();
  // What was drawn is elsewhere now: it begins anew below.
  const bool resized = columns != columns_ && drawn_lines_ > 0;
  const bool disturbed = interrupt_ && *interrupt_ && !interrupted_;
  if (disturbed) interrupted_ = true;
  if (resized || disturbed) {
    terminal_.write("\n");
    drawn_lines_ = 0;
  }
  columns_ = columns;
  const std::uint32_t rows = rows_();
  const std::uint32_t height = rows > 8 ? std::min(kHeight, rows - 6) : 0;
  const std::vector<std::string> lines = watch_lines(rounds_, columns, height, style_);
  std::string text;
  if (drawn_lines_ > 0) text += fmt::format("\r\x1b[{}A", drawn_lines_);
  text += "\r\x1b[J";
  for (const std::string& line : lines) text += line + "\n";
  terminal_.write(text + line_);
  drawn_lines_ = lines.size();
}

}  // namespace muster
