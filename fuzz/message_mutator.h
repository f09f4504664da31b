// Changes messages as libFuzzer changes bytes: a field here, a message in a message there. So most inputs get past the
// parser, to what decides. What is drawn depends on the seed alone.
#pragma once

#include <google/protobuf/message.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"

namespace muster {

class MessageMutator {
 public:
  explicit MessageMutator(std::uint32_t seed) : stream_({.seed = seed, .purpose = Purpose::kTest}) {}

  std::uint32_t below(std::uint32_t bound) { return stream_.below(bound); }

  void mutate(google::protobuf::Message& message) {
    const auto& fields = *message.GetDescriptor();
    if (fields.field_count() == 0) return;
    std::vector<const Field*> there;
    message.GetReflection()->ListFields(message, &there);
    const bool known = !there.empty() && below(4) != 0;
    const Field& field =
        known ? *there[below(static_cast<std::uint32_t>(there.size()))] : *fields.field(below(fields.field_count()));
    field.is_repeated() ? mutate_list(message, field) : mutate_one(message, field);
  }

 private:
  using Field = google::protobuf::FieldDescriptor;
  using Message = google::protobuf::Message;

  // What a check may compare with, small numbers above all.
  std::uint64_t number() {
    constexpr std::array<std::uint64_t, 12> kEdges{63,         64,
                                                   65,         255,
                                                   256,        1 << 18,
                                                   INT32_MAX,  std::uint64_t{1} << 31,
                                                   UINT32_MAX, std::uint64_t{1} << 34,
                                                   INT64_MAX,  UINT64_MAX};
    return below(4) != 0 ? below(9) : kEdges[below(kEdges.size())];
  }
  double real() {
    constexpr std::array<double, 10> kEdges{0.0,
                                            0.5,
                                            1.0,
                                            -1.0,
                                            1e-300,
                                            1e300,
                                            std::numeric_limits<double>::infinity(),
                                            -std::numeric_limits<double>::infinity(),
                                            std::numeric_limits<double>::quiet_NaN(),
                                            std::numeric_limits<double>::denorm_min()};
    return kEdges[below(kEdges.size())];
  }
  std::string text() {
    const std::array<std::string, 8> words{
        "", "r", "losses", "none", "client-1", "\x1b[2Jtwo\nlines", "\xc3\xa9", std::string(200, 'x')};
    return words[below(words.size())];
  }
  std::string bytes() {
    std::string drawn(4 * below(6), '\0');
    for (char& one : drawn) {
      if (below(2) == 0) one = static_cast<char>(below(256));
    }
    if (below(8) == 0) drawn.push_back('x');
    return drawn;
  }

  void mutate_one(Message& message, const Field& field) {
    const auto& reflection = *message.GetReflection();
    if (field.cpp_type() == Field::CPPTYPE_MESSAGE) {
      const bool there = reflection.HasField(message, &field);
      if (there && below(8) == 0) return reflection.ClearField(&message, &field);
      Message& inner = *reflection.MutableMessage(&message, &field);
      if (there || below(4) != 0) mutate(inner);
      return;
    }
    if (below(16) == 0) return reflection.ClearField(&message, &field);
    switch (field.cpp_type()) {
      case Field::CPPTYPE_UINT32:
        return reflection.SetUInt32(&message, &field, static_cast<std::uint32_t>(number()));
      case Field::CPPTYPE_UINT64:
        return reflection.SetUInt64(&message, &field, number());
      case Field::CPPTYPE_DOUBLE:
        return reflection.SetDouble(&message, &field, real());
      case Field::CPPTYPE_BOOL:
        return reflection.SetBool(&message, &field, below(2) == 0);
      case Field::CPPTYPE_ENUM:
        return reflection.SetEnumValue(&message, &field, static_cast<int>(below(9)));
      case Field::CPPTYPE_STRING:
        return reflection.SetString(&message, &field, field.type() == Field::TYPE_BYTES ? bytes() : text());
      default:
        return;
    }
  }

  void mutate_list(Message& message, const Field& field) {
    const auto& reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, &field);
    const std::uint32_t kind = below(8);
    if (size > 0 && kind == 0) return reflection.RemoveLast(&message, &field);
    if (size > 1 && kind == 1) {
      return reflection.SwapElements(&message, &field, static_cast<int>(below(static_cast<std::uint32_t>(size))),
                                     static_cast<int>(below(static_cast<std::uint32_t>(size))));
    }
    const bool add = size == 0 || (kind < 5 && size < 40);
    const int at = add ? size : static_cast<int>(below(static_cast<std::uint32_t>(size)));
    switch (field.cpp_type()) {
      case Field::CPPTYPE_MESSAGE:
        return mutate(add ? *reflection.AddMessage(&message, &field)
                          : *reflection.MutableRepeatedMessage(&message, &field, at));
      case Field::CPPTYPE_UINT32:
        if (add) return reflection.AddUInt32(&message, &field, static_cast<std::uint32_t>(number()));
        return reflection.SetRepeatedUInt32(&message, &field, at, static_cast<std::uint32_t>(number()));
      case Field::CPPTYPE_UINT64:
        if (add) return reflection.AddUInt64(&message, &field, number());
        return reflection.SetRepeatedUInt64(&message, &field, at, number());
      case Field::CPPTYPE_DOUBLE:
        if (add) return reflection.AddDouble(&message, &field, real());
        return reflection.SetRepeatedDouble(&message, &field, at, real());
      case Field::CPPTYPE_STRING:
        if (add) return reflection.AddString(&message, &field, text());
        return reflection.SetRepeatedString(&message, &field, at, text());
      default:
        return;
    }
  }

  Stream stream_;
};

}  // namespace muster
