// Every message of a secure sum, from any bytes: within its bounds, and read back as it is written.
#include "base/check.h"
#include "secure/sum_messages.h"

namespace muster {
namespace {

template <typename T>
void check_read_back(const Result<T>& read, const SumMessage& message) {
  if (read) MUSTER_CHECK(pack(*read) == message, "{} bytes are written in another way", message.size());
}

void read(int kind, const SumMessage& message) {
  SumTerms terms{.run = "fuzz", .round = 1, .members = {{1}, {2}, {3}, {5}, {8}}, .threshold = 3, .words = 4};
  terms.format = *choose_fixed_point(32, 5, 4);
  switch (kind) {
    case 0:
      return check_read_back(unpack_terms(message), message);
    case 1:
      return check_read_back(unpack_keys(message), message);
    case 2:
      return check_read_back(unpack_key_list(message, terms), message);
    case 3:
      return check_read_back(unpack_share_list(message, terms), message);
    case 4:
      return check_read_back(unpack_words(message, terms), message);
    case 5:
      return check_read_back(unpack_survivors(message, terms), message);
    case 6:
      return check_read_back(unpack_opening_ask(message, terms), message);
    case 7:
      return check_read_back(unpack_openings(message, terms), message);
    default:
      if (const auto signature = unpack_signature(message))
        MUSTER_CHECK(pack_signature(*signature) == message, "other bytes");
  }
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  muster::SumMessage message(size - 1);
  for (std::size_t i = 1; i < size; ++i) message[i - 1] = static_cast<std::byte>(data[i]);
  muster::read(data[0] % 9, message);
  return 0;
}
