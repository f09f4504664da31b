// The commands of a deployment in a line each, the same in every program, whether it can do them or not.
#pragma once

#include <array>

namespace muster {

struct NetworkSummary {
  const char* name;
  const char* text;
};

inline constexpr NetworkSummary kPkiSummary{"pki", "Make, list and revoke the certificates of a deployment"};
inline constexpr NetworkSummary kCloudSummary{"cloud", "Run a recipe with clients that are reached over the network"};
inline constexpr NetworkSummary kEdgeSummary{"edge", "Host groups between the cloud and their clients"};
inline constexpr NetworkSummary kClientSummary{"client", "Take part in a deployment with data that stay here"};
inline constexpr NetworkSummary kFederateSummary{
    "federate", "Run cloud, edges and clients as processes on this machine, and compare with the simulation"};

// Under `bench`.
inline constexpr NetworkSummary kBenchNetworkSummary{
    "network", "A deployment on this machine: transfer of models, time against the simulation, memory of connections"};

inline constexpr std::array kNetworkSummaries{kPkiSummary, kCloudSummary, kEdgeSummary, kClientSummary,
                                              kFederateSummary};

}  // namespace muster
