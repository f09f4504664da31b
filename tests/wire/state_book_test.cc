#include "wire/state_book.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(StateBook, AClientGoesOnFromWhatWasUsedLast) {
  StateBook book;
  EXPECT_EQ(book.memory_of({3}).basis, StateVersion{});
  book.used({3}, {1, 0});
  book.used({3}, {2, 1});
  EXPECT_EQ(book.memory_of({3}).basis, (StateVersion{2, 1}));
  EXPECT_TRUE(book.memory_of({3}).keep.empty()) << "nothing was saved that could be gone back to";
}

TEST(StateBook, WhatTheLastThreeSavesMeantIsKept) {
  StateBook book;
  for (std::uint32_t round = 1; round <= 5; ++round) {
    book.used({3}, {round, 0});
    (void)book.save();
  }
  book.used({3}, {6, 0});
  EXPECT_EQ(book.memory_of({3}).keep, (std::vector<StateVersion>{{3, 0}, {4, 0}, {5, 0}}));
}

TEST(StateBook, ARestoredOneGoesBack) {
  StateBook book;
  book.used({3}, {1, 0});
  book.used({4}, {1, 1});
  const std::string saved = book.save();
  book.used({3}, {2, 0});
  ASSERT_TRUE(book.restore(saved, 5).ok());
  EXPECT_EQ(book.memory_of({3}).basis, (StateVersion{1, 0}));
  EXPECT_EQ(book.memory_of({4}).basis, (StateVersion{1, 1}));
  book.used({3}, {2, 0});
  EXPECT_EQ(book.memory_of({3}).keep, (std::vector<StateVersion>{{1, 0}}));
}

TEST(StateBook, RefusesWhatItDidNotSave) {
  StateBook book;
  book.used({3}, {7, 0});
  const std::string saved = book.save();
  EXPECT_FALSE(book.restore(saved, 3).ok()) << "a client that there is not";
  EXPECT_FALSE(book.restore(std::string_view(saved).substr(1), 9).ok());
  EXPECT_FALSE(book.restore(std::string(12, '\0'), 9).ok()) << "round 0";
  EXPECT_EQ(book.memory_of({3}).basis, (StateVersion{7, 0})) << "it stayed as it was";
}

TEST(StateBook, OneThatBeginsWithAnothersWordKeepsTheBeginning) {
  StateBook book;
  book.begin({3}, {.basis = {4, 0}, .keep = {{2, 0}}});
  book.used({3}, {5, 0});
  EXPECT_EQ(book.memory_of({3}).basis, (StateVersion{5, 0}));
  EXPECT_EQ(book.memory_of({3}).keep, (std::vector<StateVersion>{{2, 0}, {4, 0}}));
}

}  // namespace
}  // namespace muster
