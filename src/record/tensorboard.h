// EventWriter: what TensorBoard shows of a run, in an event file: scalars per round, pictures, and the recipe's keys
// for its table of hyperparameters. Each becomes one framed Event record.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

class ProtobufMessage;

class EventWriter {
 public:
  // Starts a new event file in `folder`, which is created. A resumed run says its first round: TensorBoard then drops
  // what earlier files hold from that round on, the rounds that were lost with the interruption.
  [[nodiscard]] static Result<EventWriter> open(const std::filesystem::path& folder, std::uint32_t first_round = 1);

  EventWriter(EventWriter&&) noexcept;
  EventWriter& operator=(EventWriter&&) noexcept;
  ~EventWriter();  // flushes; call flush() to learn whether that worked

  // Buffered; fails only if the buffer was full and could not be written.
  [[nodiscard]] Status scalar(std::uint32_t round, std::string_view tag, double value);
  // A PNG file's content.
  [[nodiscard]] Status image(std::uint32_t round, std::string_view tag, std::string_view png);
  // The run for the hyperparameters plugin: its keys when it begins, then how it ended. A value that is a number or a
  // truth value is written as such.
  [[nodiscard]] Status begin_session(const std::map<std::string, std::string>& keys);
  [[nodiscard]] Status end_session();
  // Hands the events so far to the system, so that a running TensorBoard sees them.
  [[nodiscard]] Status flush();

  [[nodiscard]] const std::filesystem::path& path() const;

 private:
  struct File;
  [[nodiscard]] Status add(const ProtobufMessage& event);
  explicit EventWriter(std::unique_ptr<File> file);
  std::unique_ptr<File> file_;
};

}  // namespace muster
