#include "app/log_lines.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

TEST(LogLines, AreOneJsonObjectEach) {
  const std::string line = log_json(1795000000042, "cloud", LogLevel::kWarning, "all is well", {{"round", 7}});
  EXPECT_EQ(line, R"({"time":"2026-11-18T11:06:40.042Z","role":"cloud","level":"warning","message":"all is well",)"
                  R"("round":7})");
}

TEST(LogLines, HoldAnyBytes) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  every += "\r\n{\"level\":\"error\"}\xe2\x80\xa8";
  const std::string line = log_json(0, "edge", LogLevel::kInfo, every, nlohmann::ordered_json::object());
  for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  const nlohmann::json read = nlohmann::json::parse(line, nullptr, false);
  ASSERT_TRUE(read.is_object());
  EXPECT_EQ(read.size(), 4u);
  EXPECT_EQ(read["level"], "info");
  EXPECT_EQ(read["time"], "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(read["message"].get<std::string>().substr(0, 128), every.substr(0, 128));
}

}  // namespace
}  // namespace muster
