// `muster federate`, `cloud`, `edge` and `client`, as they are typed.
#include <nlohmann/json.hpp>

#include "command_line.h"

namespace muster {
namespace {

using testing::HasSubstr;

class Federate : public CommandLineTest {};

TEST_F(Federate, OverTlsWithEdgesHasTheSignatureOfItsSimulation) {
  const Finished finished = muster({"federate",  "fedgsp",
                                    "--edges",   "2",
                                    "--clients", "3",
                                    "--rounds",  "2",
                                    "--json",    "--quiet",
                                    "--out",     (scratch_.path() / "runs").string(),
                                    "--set",     "data.source=blobs",
                                    "--set",     "data.clients=20",
                                    "--set",     "data.samples-min=40",
                                    "--set",     "data.samples-max=60"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  const auto told = nlohmann::json::parse(finished.out);
  EXPECT_EQ(told["equal"], true);
  EXPECT_EQ(told["signature"], told["simulation_signature"]);
  EXPECT_EQ(told["edges"], 2);
  EXPECT_EQ(told["processes"], 6);
  EXPECT_EQ(told["rounds"], 2);
}

TEST_F(Federate, MistakesAreOneLine) {
  expect_error({"cloud", "--listen", "127.0.0.1:0", "--insecure"}, 2, HasSubstr("want a recipe, or --resume RUN"));
  expect_error({"cloud", "demo", "--listen", "127.0.0.1:0"}, 2, HasSubstr("--pki: missing"));
  expect_error({"cloud", "demo", "--listen", "0.0.0.0:0", "--insecure"}, 2,
               HasSubstr("loopback only, not for 0.0.0.0:0"));
  for (const char* const wrong : {"nonsense", "127.0.0.1:99999", "127.0.0.1:", ":7400", "127.0.0.1:7x"}) {
    expect_error({"cloud", "demo", "--listen", wrong, "--insecure"}, 2,
                 HasSubstr(std::string("--listen: ") + wrong + ", want host:port with a port from 0 to 65535"));
  }
  expect_error({"client", "--to", "127.0.0.1:0", "--clients", "0-3", "--insecure"}, 2,
               HasSubstr("a port from 1 to 65535"));
  expect_error({"client", "--to", "127.0.0.1:1", "--insecure"}, 2, HasSubstr("--clients: missing"));
  expect_error({"client", "--to", "127.0.0.1:1", "--clients", "9-3", "--insecure"}, 2, HasSubstr("9-3"));
  expect_error({"client", "--to", "127.0.0.1:1", "--clients", "0-3", "--insecure", "--patience", "0.1", "--quiet"}, 1,
               HasSubstr("127.0.0.1:1 cannot be reached"));
  expect_error({"federate", "no-such-recipe"}, 2, HasSubstr("no-such-recipe"));
  expect_error({"federate", "demo", "--edges", "1000"}, 2, HasSubstr("--edges"));
}

}  // namespace
}  // namespace muster
