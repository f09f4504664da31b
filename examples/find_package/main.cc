// shares CLASSES ALPHA: draws how one client's samples spread over CLASSES classes under Dirichlet(ALPHA), and prints
// the shares. Shows Muster used as a library: a random stream named by what it is for, and a Result instead of an exit.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace {

struct Request {
  unsigned classes = 10;
  double alpha = 0.5;
};

muster::Result<Request> parse(int argc, char** argv) {
  Request request;
  if (argc != 3) return muster::usage_error("want two arguments, CLASSES and ALPHA, got {}", argc - 1);
  const std::string_view classes = argv[1];
  const std::string_view alpha = argv[2];
  auto parsed = std::from_chars(classes.begin(), classes.end(), request.classes);
  if (parsed.ec != std::errc() || parsed.ptr != classes.end() || request.classes < 2 || request.classes > 1000) {
    return muster::usage_error("CLASSES: '{}', want 2 to 1000", classes);
  }
  parsed = std::from_chars(alpha.begin(), alpha.end(), request.alpha);
  if (parsed.ec != std::errc() || parsed.ptr != alpha.end() || !(request.alpha > 0) || !std::isfinite(request.alpha)) {
    return muster::usage_error("ALPHA: '{}', want a number above 0", alpha);
  }
  return request;
}

}  // namespace

int main(int argc, char** argv) {
  const muster::Result<Request> request = parse(argc, argv);
  if (!request) {
    fmt::print(stderr, "shares: {}\n", request.error().message);
    return 2;
  }
  muster::Stream stream({.seed = 1, .purpose = muster::Purpose::kPartition});
  const std::vector<double> concentration(request->classes, request->alpha);
  std::vector<double> shares(request->classes);
  stream.dirichlet(concentration, shares);
  fmt::print("{:.4f}\n", fmt::join(shares, " "));
}
