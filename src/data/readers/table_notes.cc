#include "data/readers/table_notes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/shown_text.h"

namespace muster {
namespace {

// What the values of a column have in common, so far.
struct Habit {
  bool whole = true;
  bool rising = true;  // strictly, as far as a float can tell
  bool falling = true;
  bool constant = true;
  float first = NAN;
  float last = NAN;
  float least = INFINITY;
  float most = -INFINITY;
  std::size_t count = 0;

  void add(float value) {
    if (std::isnan(value)) return;
    if (count++ == 0) {
      first = value;
    } else {
      constant = constant && value == first;
      // Above 2^24 neighbours may be the same float.
      const bool exact = std::abs(value) < 16777216.0f;
      rising = rising && (exact ? value > last : value >= last);
      falling = falling && (exact ? value < last : value <= last);
    }
    whole = whole && value == std::floor(value);
    last = value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return result;
}

bool named_like_id(std::string_view name) {
  if (name.ends_with("Id") || name.ends_with("ID")) return true;
  const std::string plain = lower(name);
  constexpr std::array<std::string_view, 8> kNames = {"id",   "index", "idx",    "uuid",
                                                      "guid", "rowid", "row_no", "unnamed: 0"};
  return std::ranges::find(kNames, plain) != kNames.end() || plain.ends_with("_id") || plain.ends_with("-id") ||
         plain.ends_with(" id") || plain.ends_with(".id") || plain.ends_with("uuid");
}

bool is_like_id(std::string_view name, const Habit& habit) {
  if (!habit.whole || habit.constant) return false;
  return named_like_id(name) || (habit.count >= 10 && (habit.rising || habit.falling));
}

// Seconds or milliseconds since 1970, of the years 1989 to 2039, or dates written as 20240531.
bool is_like_time(std::string_view name, const Habit& habit) {
  if (!habit.whole || habit.constant) return false;
  const auto within = [&](float low, float high) { return habit.least >= low && habit.most <= high; };
  if (within(6e8f, 2.2e9f) || within(6e11f, 2.2e12f)) return true;
  const std::string plain = lower(name);
  const bool named = plain.find("date") != std::string::npos || plain.find("day") != std::string::npos ||
                     plain.find("time") != std::string::npos;
  return named && within(19000101.0f, 21001231.0f);
}

// A few rows rule most columns out; all rows are looked at for the others.
std::vector<Habit> habits(std::span<const float> numbers, std::size_t width) {
  std::vector<Habit> all(width);
  const std::size_t rows = numbers.size() / width;
  const std::size_t few = std::min<std::size_t>(rows, 1000);
  for (std::size_t row = 0; row < few; ++row) {
    for (std::size_t i = 0; i < width; ++i) all[i].add(numbers[row * width + i]);
  }
  for (std::size_t i = 0; i < width; ++i) {
    for (std::size_t row = few; row < rows && (all[i].whole || all[i].constant); ++row) {
      all[i].add(numbers[row * width + i]);
    }
  }
  return all;
}

}  // namespace

std::string quoted_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += fmt::format("{}'{}'", i > 0 ? ", " : "", shown_text(names[i]));
  }
  if (names.size() > kShown) text += fmt::format(", ... ({})", names.size());
  return text;
}

std::vector<std::string> notes_on_numbers(const std::vector<std::string>& names, std::span<const float> numbers) {
  if (names.empty() || numbers.empty()) return {};
  std::vector<std::string> ids, times, constants;
  const std::vector<Habit> all = habits(numbers, names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (all[i].count >= 2 && all[i].constant) {
      constants.push_back(names[i]);
    } else if (is_like_time(names[i], all[i])) {
      times.push_back(names[i]);
    } else if (is_like_id(names[i], all[i])) {
      ids.push_back(names[i]);
    }
  }
  std::vector<std::string> notes;
  const auto add = [&](const std::vector<std::string>& some, const char* one, const char* several) {
    if (some.empty()) return;
    notes.push_back(fmt::format("{} {} {}; data.drop leaves {} out", some.size() == 1 ? "column" : "columns",
                                quoted_names(some), some.size() == 1 ? one : several,
                                some.size() == 1 ? "it" : "them"));
  };
  add(ids, "looks like an id and is used as a feature", "look like ids and are used as features");
  add(times, "looks like a time and is used as a feature", "look like times and are used as features");
  add(constants, "has the same value in all rows", "have the same value in all rows");
  return notes;
}

bool looks_like_time(std::string_view text) {
  text = text.substr(0, text.find_first_of(" T"));
  std::array<std::size_t, 3> digits{};
  std::size_t group = 0;
  char separator = '\0';
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      ++digits[group];
    } else if ((c == '-' || c == '/' || c == '.') && (separator == '\0' || c == separator) && group < 2) {
      separator = c;
      ++group;
    } else {
      return false;
    }
  }
  const auto is_short = [](std::size_t count) { return count == 1 || count == 2; };
  return group == 2 && ((digits[0] == 4 && is_short(digits[1]) && is_short(digits[2])) ||
                        (is_short(digits[0]) && is_short(digits[1]) && (digits[2] == 2 || digits[2] == 4)));
}

void note_many_labels(const std::string& label, RawData& data) {
  const std::size_t rows = data.train.size() + data.test.size();
  const std::size_t classes = data.train.classes;
  if (classes <= 20 || classes * 2 <= rows) return;
  data.notes.push_back(
      fmt::format("the label '{}' has {} different values in {} rows: is it an id, or a number to predict? "
                  "Each value is a class of its own",
                  shown_text(label), classes, rows));
}

}  // namespace muster
