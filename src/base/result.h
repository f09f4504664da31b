// Result<T>: a value, or an Error that says what is wrong in one line. Bad input and failed I/O travel as
// errors; only the command line turns them into text on stderr and an exit status.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace muster {

enum class ErrorCode {
  kUsage,   // bad flag, recipe or option value: exit status 2
  kFailed,  // I/O, a broken file, a missing data set: exit status 1
};

struct Error {
  ErrorCode code = ErrorCode::kFailed;
  std::string message;

  // Adds what only the caller knows, e.g. the file: "train.idx: truncated header".
  [[nodiscard]] Error within(std::string_view context) && { return {code, fmt::format("{}: {}", context, message)}; }
};

template <typename... Args>
[[nodiscard]] Error usage_error(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorCode::kUsage, fmt::format(format, std::forward<Args>(args)...)};
}

template <typename... Args>
[[nodiscard]] Error failure(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorCode::kFailed, fmt::format(format, std::forward<Args>(args)...)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Preconditions: ok().
  T& value() & { return require(), std::get<0>(content_); }
  const T& value() const& { return require(), std::get<0>(content_); }
  T&& value() && { return require(), std::get<0>(std::move(content_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Precondition: !ok().
  const Error& error() const& { return require_error(), std::get<1>(content_); }
  Error&& error() && { return require_error(), std::get<1>(std::move(content_)); }

 private:
  void require() const { MUSTER_CHECK(ok(), "value() of a failed result: {}", std::get<1>(content_).message); }
  void require_error() const { MUSTER_CHECK(!ok(), "error() of a result that has a value"); }
  std::variant<T, Error> content_;
};

// For work that has no value to return: success, or why not.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  // Precondition: !ok().
  const Error& error() const& { return require_error(), *error_; }
  Error&& error() && { return require_error(), std::move(*error_); }

 private:
  void require_error() const { MUSTER_CHECK(!ok(), "error() of a success"); }
  std::optional<Error> error_;
};

}  // namespace muster

// Assigns the value of a Result to `target`, or returns its error from the enclosing function.
#define MUSTER_ASSIGN(target, expression) MUSTER_ASSIGN_IMPL_(MUSTER_CONCAT_(result_, __LINE__), target, expression)
// Returns the error of a Status (or Result) from the enclosing function.
#define MUSTER_TRY(expression)                                                    \
  do {                                                                            \
    if (auto status_ = (expression); !status_) return std::move(status_).error(); \
  } while (false)

#define MUSTER_ASSIGN_IMPL_(temporary, target, expression) \
  auto temporary = (expression);                           \
  if (!temporary) return std::move(temporary).error();     \
  target = std::move(temporary).value()
#define MUSTER_CONCAT_IMPL_(a, b) a##b
#define MUSTER_CONCAT_(a, b) MUSTER_CONCAT_IMPL_(a, b)
