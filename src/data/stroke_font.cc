#include "data/stroke_font.h"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr int kColumns = 5;
constexpr int kAbove = 3;  // rows for accents, above the seven of a capital letter
constexpr int kRows = 12;  // and two below the line
// Of the text's size.
constexpr double kColumnPitch = 0.108;
constexpr double kRowPitch = 0.12;
constexpr double kGap = 0.19;  // between two letters
constexpr double kSpace = 0.33;
constexpr double kStroke = 0.092;

struct Glyph {
  char32_t letter;
  std::string_view rows;  // of capital letters' seven, then those below the line; each five columns and a blank
};

constexpr Glyph kGlyphs[] = {
    {U'!', "..#.. ..#.. ..#.. ..#.. ..#.. ..... ..#.."},
    {U'"', ".#.#. .#.#. ..... ..... ..... ..... ....."},
    {U'#', ".#.#. .#.#. ##### .#.#. ##### .#.#. .#.#."},
    {U'$', "..#.. .#### #.#.. .###. ..#.# ####. ..#.."},
    {U'%', "##... ##..# ...#. ..#.. .#... #..## ...##"},
    {U'&', ".##.. #..#. #.#.. .#... #.#.# #..#. .##.#"},
    {U'\'', "..#.. ..#.. ..... ..... ..... ..... ....."},
    {U'(', "...#. ..#.. .#... .#... .#... ..#.. ...#."},
    {U')', ".#... ..#.. ...#. ...#. ...#. ..#.. .#..."},
    {U'*', "..... ..#.. #.#.# .###. #.#.# ..#.. ....."},
    {U'+', "..... ..#.. ..#.. ##### ..#.. ..#.. ....."},
    {U',', "..... ..... ..... ..... ..... ..... ..#.. .#..."},
    {U'-', "..... ..... ..... .###. ..... ..... ....."},
    {U'.', "..... ..... ..... ..... ..... ..... ..#.."},
    {U'/', "....# ....# ...#. ..#.. .#... #.... #...."},
    {U'0', ".##.. #..#. #..#. #..#. #..#. #..#. .##.."},
    {U'1', "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###."},
    {U'2', ".###. #...# ....# ...#. ..#.. .#... #####"},
    {U'3', ".###. #...# ....# ..##. ....# #...# .###."},
    {U'4', "...#. ..##. .#.#. #..#. ##### ...#. ...#."},
    {U'5', "##### #.... ####. ....# ....# #...# .###."},
    {U'6', ".###. #.... #.... ####. #...# #...# .###."},
    {U'7', "##### ....# ...#. ..#.. ..#.. ..#.. ..#.."},
    {U'8', ".###. #...# #...# .###. #...# #...# .###."},
    {U'9', ".###. #...# #...# .#### ....# ....# .###."},
    {U':', "..... ..... ..#.. ..... ..... ..#.. ....."},
    {U';', "..... ..... ..#.. ..... ..... ..... ..#.. .#..."},
    {U'<', "....# ...#. ..#.. .#... ..#.. ...#. ....#"},
    {U'=', "..... ..... ##### ..... ##### ..... ....."},
    {U'>', "#.... .#... ..#.. ...#. ..#.. .#... #...."},
    {U'?', ".###. #...# ....# ...#. ..#.. ..... ..#.."},
    {U'@', ".###. #...# #..## #.#.# #..## #.... .###."},
    {U'A', "..#.. .#.#. #...# #...# ##### #...# #...#"},
    {U'B', "####. #...# #...# ####. #...# #...# ####."},
    {U'C', ".###. #...# #.... #.... #.... #...# .###."},
    {U'D', "####. #...# #...# #...# #...# #...# ####."},
    {U'E', "##### #.... #.... ####. #.... #.... #####"},
    {U'F', "##### #.... #.... ####. #.... #.... #...."},
    {U'G', ".###. #...# #.... #..## #...# #...# .###."},
    {U'H', "#...# #...# #...# ##### #...# #...# #...#"},
    {U'I', "..#.. ..#.. ..#.. ..#.. ..#.. ..#.. ..#.."},
    {U'J', "....# ....# ....# ....# ....# #...# .###."},
    {U'K', "#...# #..#. #.#.. ##... #.#.. #..#. #...#"},
    {U'L', "#.... #.... #.... #.... #.... #.... #####"},
    {U'M', "#...# ##.## #.#.# #...# #...# #...# #...#"},
    {U'N', "#...# #...# ##..# #.#.# #..## #...# #...#"},
    {U'O', ".###. #...# #...# #...# #...# #...# .###."},
    {U'P', "####. #...# #...# ####. #.... #.... #...."},
    {U'Q', ".###. #...# #...# #...# #.#.# #..#. .##.#"},
    {U'R', "####. #...# #...# ####. #.#.. #..#. #...#"},
    {U'S', ".###. #...# #.... .###. ....# #...# .###."},
    {U'T', "##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#.."},
    {U'U', "#...# #...# #...# #...# #...# #...# .###."},
    {U'V', "#...# #...# #...# .#.#. .#.#. .#.#. ..#.."},
    {U'W', "#...# #...# #...# #...# #.#.# ##.## #...#"},
    {U'X', "#...# #...# .#.#. ..#.. .#.#. #...# #...#"},
    {U'Y', "#...# #...# .#.#. ..#.. ..#.. ..#.. ..#.."},
    {U'Z', "##### ....# ...#. ..#.. .#... #.... #####"},
    {U'[', ".##.. .#... .#... .#... .#... .#... .##.."},
    {U'\\', "#.... #.... .#... ..#.. ...#. ....# ....#"},
    {U']', "..##. ...#. ...#. ...#. ...#. ...#. ..##."},
    {U'^', "..#.. .#.#. #...# ..... ..... ..... ....."},
    {U'_', "..... ..... ..... ..... ..... ..... ..... #####"},
    {U'`', ".#... ..#.. ..... ..... ..... ..... ....."},
    {U'a', "..... ..... .###. ....# .#### #...# .####"},
    {U'b', "#.... #.... ####. #...# #...# #...# ####."},
    {U'c', "..... ..... .###. #.... #.... #.... .###."},
    {U'd', "....# ....# .#### #...# #...# #...# .####"},
    {U'e', "..... ..... .###. #...# ##### #.... .###."},
    {U'f', "...## ..#.. ..#.. .###. ..#.. ..#.. ..#.."},
    {U'g', "..... ..... .#### #...# #...# #...# .#### ....# .###."},
    {U'h', "#.... #.... ####. #...# #...# #...# #...#"},
    {U'i', "..#.. ..... ..#.. ..#.. ..#.. ..#.. ..#.."},
    {U'j', "..#.. ..... ..#.. ..#.. ..#.. ..#.. ..#.. ..#.. ##..."},
    {U'k', "#.... #.... #..#. #.#.. ##... #.#.. #..#."},
    {U'l', "..#.. ..#.. ..#.. ..#.. ..#.. ..#.. ..##."},
    {U'm', "..... ..... ##.#. #.#.# #.#.# #.#.# #.#.#"},
    {U'n', "..... ..... ####. #...# #...# #...# #...#"},
    {U'o', "..... ..... .###. #...# #...# #...# .###."},
    {U'p', "..... ..... ####. #...# #...# #...# ####. #.... #...."},
    {U'q', "..... ..... .#### #...# #...# #...# .#### ....# ....#"},
    {U'r', "..... ..... #.##. ##... #.... #.... #...."},
    {U's', "..... ..... .#### #.... .###. ....# ####."},
    {U't', "..#.. ..#.. .###. ..#.. ..#.. ..#.. ...##"},
    {U'u', "..... ..... #...# #...# #...# #...# .####"},
    {U'v', "..... ..... #...# #...# .#.#. .#.#. ..#.."},
    {U'w', "..... ..... #...# #...# #.#.# #.#.# .#.#."},
    {U'x', "..... ..... #...# .#.#. ..#.. .#.#. #...#"},
    {U'y', "..... ..... #...# #...# #...# #...# .#### ....# .###."},
    {U'z', "..... ..... ##### ...#. ..#.. .#... #####"},
    {U'{', "...## ..#.. ..#.. .#... ..#.. ..#.. ...##"},
    {U'|', "..#.. ..#.. ..#.. ..#.. ..#.. ..#.. ..#.. ..#.."},
    {U'}', "##... ..#.. ..#.. ...#. ..#.. ..#.. ##..."},
    {U'~', "..... ..... .#..# #.#.# #..#. ..... ....."},
    {U'\u00b0', ".##.. #..#. .##.. ..... ..... ..... ....."},
    {U'\u00b7', "..... ..... ..... ..#.. ..... ..... ....."},
    {U'\u00d7', "..... ..... #...# .#.#. ..#.. .#.#. #...#"},
    {U'\u00b5', "..... ..... #...# #...# #...# ##.## #.#.. #.... #...."},
    {U'\u00df', ".##.. #..#. #..#. #.#.. #..#. #...# #.##."},
    {U'\u00e6', "..... ..... ##.#. ..#.# ##### #.#.. .#.##"},
    {U'\u00f8', "....# ...#. .###. #..## #.#.# ##..# .###. #...."},
    {U'\u00d8', ".###. #...# #..## #.#.# ##..# #...# .###."},
    {U'\u0142', ".##.. ..#.. ..##. ..#.. .##.. ..#.. ..##."},
    {U'\u03b1', "..... ..... .##.# #..#. #..#. #..#. .##.#"},
    {U'\u03b2', ".##.. #..#. #.#.. #..#. #...# #...# #.##. #...."},
    {U'\u03bc', "..... ..... #...# #...# #...# ##.## #.#.. #.... #...."},
    {U'\u2013', "..... ..... ..... ##### ..... ..... ....."},
    {U'\u2014', "..... ..... ..... ##### ..... ..... ....."},
    {U'\u2026', "..... ..... ..... ..... ..... ..... #.#.#"},
};
constexpr std::string_view kBox = "##### #...# #...# #...# #...# #...# #####";

// Three rows that end where a capital letter begins, or two below the line.
enum Accent { kAcute, kGrave, kCircumflex, kTilde, kDiaeresis, kRing, kCaron, kDoubleAcute, kDot, kBreve, kCedilla };
constexpr std::array<std::string_view, 11> kAccents = {"...#. ..#.. .....", ".#... ..#.. .....", "..#.. .#.#. .....",
                                                       ".#.#. #.#.. .....", ".#.#. ..... .....", "..#.. .#.#. ..#..",
                                                       ".#.#. ..#.. .....", "..#.# .#.#. .....", "..#.. ..... .....",
                                                       "#...# .###. .....", "..#.. .##.."};

struct Accented {
  Accent accent;
  std::string_view bases;
  std::u32string_view letters;  // the bases with the accent
};
constexpr Accented kAccented[] = {
    {kAcute, "AEIOUYaeiouyCNSZcnsz", U"ÁÉÍÓÚÝáéíóúýĆŃŚŹćńśź"},
    {kGrave, "AEIOUaeiou", U"ÀÈÌÒÙàèìòù"},
    {kCircumflex, "AEIOUaeiou", U"ÂÊÎÔÛâêîôû"},
    {kTilde, "ANOano", U"ÃÑÕãñõ"},
    {kDiaeresis, "AEIOUYaeiouy", U"ÄËÏÖÜŸäëïöüÿ"},
    {kRing, "AUau", U"ÅŮåů"},
    {kCaron, "CDENRSTZcenrsz", U"ČĎĚŇŘŠŤŽčěňřšž"},
    {kDoubleAcute, "OUou", U"ŐŰőű"},
    {kDot, "EIZez", U"ĖİŻėż"},
    {kBreve, "AGag", U"ĂĞăğ"},
    {kCedilla, "CSTcstEAea", U"ÇŞŢçşţĘĄęą"},
};

// The dots of a letter, with room above and below.
struct Dots {
  bool set[kRows][kColumns] = {};

  void put(std::string_view rows, int first) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const int row = first + static_cast<int>(i) / (kColumns + 1);
      if (rows[i] == '#' && row >= 0 && row < kRows) set[row][i % (kColumns + 1)] = true;
    }
  }
  bool at(int row, int column) const {
    return row >= 0 && row < kRows && column >= 0 && column < kColumns && set[row][column];
  }
  bool column_used(int column) const {
    for (int row = kAbove; row < kRows; ++row) {
      if (set[row][column]) return true;
    }
    return false;
  }
};

const Glyph* glyph_of(char32_t letter) {
  const auto* const found = std::ranges::find(kGlyphs, letter, &Glyph::letter);
  return found == std::end(kGlyphs) ? nullptr : found;
}

Dots dots_of(char32_t letter) {
  Dots dots;
  if (const Glyph* const glyph = glyph_of(letter)) {
    dots.put(glyph->rows, kAbove);
    return dots;
  }
  for (const Accented& accented : kAccented) {
    const std::size_t place = accented.letters.find(letter);
    if (place == std::u32string_view::npos) continue;
    const char base = accented.bases[place];
    const bool small = base >= 'a' && base != 'i';
    std::string rows(glyph_of(static_cast<char32_t>(base))->rows);
    if (base == 'i') rows.replace(0, 5, ".....");  // the accent takes the place of the dot
    dots.put(rows, kAbove);
    if (accented.accent == kCedilla) {
      dots.put(kAccents[kCedilla], kAbove + 7);
    } else {
      dots.put(kAccents[accented.accent], small || base == 'i' ? kAbove - 1 : kAbove - 3);
    }
    return dots;
  }
  dots.put(kBox, kAbove);
  return dots;
}

struct Placed {
  double x = 0;  // of the first column
  Dots dots;
};

// Letters one after the other, each as wide as its dots are, in units of the size; and the width of all.
double lay_out(std::string_view text, std::vector<Placed>* placed) {
  double x = 0;
  double end = 0;
  for (const char32_t letter : letters_of(text)) {
    if (letter <= U' ' || letter == U'\u00a0') {
      x += kSpace;
      end = x;
      continue;
    }
    const Dots dots = dots_of(letter);
    int first = 0;
    int last = kColumns - 1;
    while (first < last && !dots.column_used(first)) ++first;
    while (last > first && !dots.column_used(last)) --last;
    if (placed) placed->push_back({x + kStroke / 2 - first * kColumnPitch, dots});
    end = x + kStroke + (last - first) * kColumnPitch;
    x = end + kGap - kStroke;
  }
  return end;
}

}  // namespace

std::u32string letters_of(std::string_view text) {
  std::u32string letters;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    char32_t letter = length == 1 ? first : first & (0x7fu >> length);
    bool good = length > 0 && first < 0xf5 && i + length <= text.size();
    for (std::size_t j = 1; good && j < length; ++j) {
      const auto next = static_cast<unsigned char>(text[i + j]);
      good = (next & 0xc0) == 0x80;
      letter = letter << 6 | (next & 0x3fu);
    }
    constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
    good = good && letter >= kLeast[length] && letter <= 0x10ffff && (letter < 0xd800 || letter > 0xdfff);
    letters += good ? letter : U'\ufffd';
    i += good ? length : 1;
  }
  return letters;
}

void append_utf8(std::string& text, char32_t letter) {
  if (letter < 0x80) {
    text += static_cast<char>(letter);
    return;
  }
  const int more = letter < 0x800 ? 1 : letter < 0x10000 ? 2 : 3;
  text += static_cast<char>((0xff00u >> (more + 1) & 0xff) | letter >> (6 * more));
  for (int j = more - 1; j >= 0; --j) text += static_cast<char>(0x80 | (letter >> (6 * j) & 0x3f));
}

std::vector<Stroke> strokes_of(std::string_view text, double size) {
  std::vector<Placed> letters;
  lay_out(text, &letters);
  std::vector<Stroke> strokes;
  for (const Placed& letter : letters) {
    const double x = letter.x;  // not by a binding: clang 14 captures none
    const auto& dots = letter.dots;
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < kColumns; ++column) {
        if (!dots.at(row, column)) continue;
        bool joined = false;
        const auto join = [&](int to_row, int to_column, bool draw) {
          if (!dots.at(to_row, to_column)) return;
          joined = true;
          const auto at_x = [&](int c) { return size * (x + c * kColumnPitch); };
          const auto at_y = [&](int r) { return size * (r - kAbove - 3) * kRowPitch; };
          if (draw) strokes.push_back({at_x(column), at_y(row), at_x(to_column), at_y(to_row)});
        };
        // Each pair once, from above or from the left; slantwise only where no way round has dots.
        join(row, column + 1, true);
        join(row + 1, column, true);
        join(row - 1, column, false);
        join(row, column - 1, false);
        for (const int side : {-1, 1}) {
          if (!dots.at(row, column + side) && !dots.at(row + 1, column)) join(row + 1, column + side, true);
          if (!dots.at(row, column + side) && !dots.at(row - 1, column)) join(row - 1, column + side, false);
        }
        if (!joined) {
          const double dot_x = size * (x + column * kColumnPitch);
          const double dot_y = size * (row - kAbove - 3) * kRowPitch;
          strokes.push_back({dot_x, dot_y, dot_x, dot_y});
        }
      }
    }
  }
  return strokes;
}

double stroke_width(double size) {
  return kStroke * size;
}

double strokes_width(std::string_view text, double size) {
  return lay_out(text, nullptr) * size;
}

}  // namespace muster
