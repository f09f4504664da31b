#include "record/run_record.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "record/json_text.h"
#include "record/quality_json.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::vector<ClassFigures>& classes) {
  Json list = Json::array();
  for (const ClassFigures& c : classes) {
    list.push_back({{"name", c.name},
                    {"precision", json_number(c.precision)},
                    {"recall", json_number(c.recall)},
                    {"f1", json_number(c.f1)},
                    {"samples", c.samples}});
  }
  return list;
}

Json to_json(const PredictionFigures& m) {
  return {{"macro_f1", json_number(m.macro_f1)},
          {"auc", json_number(m.auc)},
          {"classes", to_json(m.classes)},
          {"confusion", m.confusion}};
}

Json to_json(const SiteFigures& s) {
  const auto of_spread = [&](double AccuracySpread::*figure) {
    return s.spread ? json_number((*s.spread).*figure) : Json(nullptr);
  };
  Json worst_client(nullptr);
  if (s.evaluated > 0) worst_client = s.worst_name.empty() ? Json(s.worst_client) : Json(s.worst_name);
  return {{"evaluated", s.evaluated},
          {"accuracy", json_number(s.accuracy)},
          {"worst", of_spread(&AccuracySpread::worst)},
          {"worst_client", std::move(worst_client)},
          {"p10", of_spread(&AccuracySpread::p10)},
          {"p50", of_spread(&AccuracySpread::p50)},
          {"p90", of_spread(&AccuracySpread::p90)},
          {"skipped", s.skipped.empty() ? Json(nullptr) : Json(s.skipped)}};
}

Json to_json(const SumFigures& figures) {
  Json lost = Json::array();
  for (const LostMember& member : figures.lost) {
    lost.push_back({{"client", member.client.value}, {"phase", name(member.phase)}});
  }
  return {{"sums", figures.sums},
          {"abandoned", figures.abandoned},
          {"lost", std::move(lost)},
          {"bytes_up", figures.bytes_up},
          {"bytes_down", figures.bytes_down}};
}

Json to_json(const EpochFigures& e) {
  Json json{{"min", json_number(e.min)}, {"mean", json_number(e.mean)}, {"max", json_number(e.max)}};
  if (!e.clients.empty()) json["clients"] = Json::array();
  for (const EpochFigures::OfClient& c : e.clients) {
    json["clients"].push_back({{"client", c.client}, {"samples", c.samples}, {"epochs", json_number(c.epochs)}});
  }
  return json;
}

Json to_json(const FilteredRecord& filtered) {
  Json json = Json::object();
  if (filtered.client) json["client"] = filtered.client->value;
  if (filtered.group) json["group"] = filtered.group->value;
  json["reason"] = name(filtered.reason);
  if (filtered.visits > 1) json["visits"] = filtered.visits;
  return json;
}

void add_merge(Json& json, const MergeRecord& merge) {
  json["filtered"] = Json::array();
  for (const FilteredRecord& filtered : merge.filtered) json["filtered"].push_back(to_json(filtered));
  json["clipped"] = merge.clipped;
  json["fell_back"] = Json::array();
  for (const auto& group : merge.fell_back) json["fell_back"].push_back(group ? Json(group->value) : Json("groups"));
}

// What an evaluation found beyond accuracy and loss, where it was asked for.
void add_evaluation(Json& json, const RoundRecord& r) {
  if (r.covered) json["covered"] = json_number(r.covered);
  if (r.client_accuracy) json["client_accuracy"] = json_number(r.client_accuracy);
  if (r.client_spread) {
    json["client_worst"] = json_number(r.client_spread->worst);
    json["client_p10"] = json_number(r.client_spread->p10);
    json["client_p50"] = json_number(r.client_spread->p50);
    json["client_p90"] = json_number(r.client_spread->p90);
  }
  if (!r.group_accuracy.empty()) {
    Json list = Json::array();
    for (const double accuracy : r.group_accuracy) list.push_back(json_number(accuracy));
    json["group_accuracy"] = std::move(list);
  }
  if (r.metrics.macro_f1) json["macro_f1"] = json_number(r.metrics.macro_f1);
  if (r.metrics.auc) json["auc"] = json_number(r.metrics.auc);
  if (!r.metrics.classes.empty()) json["classes"] = to_json(r.metrics.classes);
  if (!r.metrics.confusion.empty()) json["confusion"] = r.metrics.confusion;
  if (r.validation_accuracy) json["validation_accuracy"] = json_number(r.validation_accuracy);
  if (r.validation_loss) json["validation_loss"] = json_number(r.validation_loss);
  if (r.validation_covered) json["validation_covered"] = json_number(r.validation_covered);
}

}  // namespace

std::string_view name(StopReason reason) {
  switch (reason) {
    case StopReason::kRounds:
      return "rounds";
    case StopReason::kTarget:
      return "target";
    case StopReason::kBudget:
      return "budget";
    case StopReason::kPatience:
      return "patience";
    case StopReason::kDiverged:
      return "diverged";
    case StopReason::kInterrupted:
      return "interrupted";
  }
  return "?";
}

std::string to_json(const RoundRecord& r) {
  Json dropped = Json::array();
  for (const Dropped& d : r.dropped) dropped.push_back({{"client", d.client.value}, {"reason", name(d.reason)}});
  Json json{{"round", r.round},
            {"accuracy", json_number(r.accuracy)},
            {"loss", json_number(r.loss)},
            {"train_loss", json_number(r.train_loss)},
            {"participants", r.participants},
            {"dropped", std::move(dropped)},
            {"groups", r.groups},
            {"idle", r.idle},
            {"models", r.models},
            {"discrepancy", json_number(r.discrepancy)},
            {"bytes_up", r.bytes_up},
            {"bytes_down", r.bytes_down},
            {"bytes_client_server", r.links.client_server},
            {"bytes_relay", r.links.relay},
            {"bytes_edge_cloud", r.links.edge_cloud},
            {"cost_s", json_number(r.compute_s + r.comm_s)},
            {"compute_s", json_number(r.compute_s)},
            {"comm_s", json_number(r.comm_s)},
            {"cost_total_s", json_number(r.cost_total_s)},
            {"wall_s", json_number(r.wall_s)}};
  if (r.loss_variance) json["loss_variance"] = json_number(r.loss_variance);
  if (r.secure) json["secure"] = to_json(*r.secure);
  if (r.epochs) json["epochs"] = to_json(*r.epochs);
  if (r.merge) add_merge(json, *r.merge);
  if (r.attacked) json["attack_success"] = json_number(r.attack_success);
  if (r.epsilon) json["epsilon"] = json_number(r.epsilon);
  add_evaluation(json, r);
  return json_text(json);
}

std::string to_json(const RunSummary& s) {
  Json json{
      {"run", s.run},
      {"recipe", s.recipe},
      {"seed", s.seed},
      {"rounds", s.rounds},
      {"stopped", name(s.stopped)},
      {"signature", s.signature},
      {"accuracy",
       {{"last", json_number(s.accuracy_last)}, {"best", json_number(s.accuracy_best)}, {"best_round", s.best_round}}},
      {"loss", {{"last", json_number(s.loss_last)}}},
      {"target",
       {{"accuracy", json_number(s.target_accuracy)},
        {"round", s.target_round ? Json(*s.target_round) : Json(nullptr)}}},
      {"clients", s.clients},
      {"models", s.models},
      {"groups",
       {{"count", s.groups},
        {"idle", s.idle},
        {"size_min", s.group_size_min},
        {"size_mean", s.group_size_mean},
        {"size_max", s.group_size_max}}},
      {"quality", quality_json(s.quality, s.client_quality)},
      {"cost",
       {{"compute_s", json_number(s.compute_s)},
        {"comm_s", json_number(s.comm_s)},
        {"bytes_up", s.bytes_up},
        {"bytes_down", s.bytes_down},
        {"bytes_client_server", s.links.client_server},
        {"bytes_relay", s.links.relay},
        {"bytes_edge_cloud", s.links.edge_cloud},
        {"group_s", json_number(s.group_s)}}},
      {"time",
       {{"wall_s", json_number(s.wall_s)},
        {"setup_s", json_number(s.setup_s)},
        {"profile_s", json_number(s.profile_s)},
        {"group_s", json_number(s.group_s)},
        {"train_s", json_number(s.train_s)},
        {"eval_s", json_number(s.eval_s)},
        {"samples_trained", s.samples_trained},
        {"samples_per_s", json_number(s.samples_per_s())}}},
      {"peak_rss_bytes", s.peak_rss_bytes},
      {"dir", s.dir.string()},
      {"data", s.data},
      {"parameters", s.parameters},
      {"initial_model", s.initial_model},
      {"kept_round", s.kept_round},
      {"validation", s.validated
                         ? Json{{"best", json_number(s.validation_best)}, {"best_round", s.validation_best_round}}
                         : Json(nullptr)},
      {"sites", to_json(s.sites)},
      {"metrics", s.metrics ? to_json(*s.metrics) : Json(nullptr)}};
  if (s.epsilon) json["privacy"] = {{"epsilon", json_number(s.epsilon)}, {"delta", json_number(s.delta)}};
  if (s.sums > 0) json["secure"] = {{"sums", s.sums}, {"abandoned", s.sums_abandoned}};
  if (s.attack) {
    Json clients = Json::array();
    for (const ClientId client : s.attack->clients) clients.push_back(client.value);
    json["attack"] = {
        {"kind", s.attack->kind}, {"clients", std::move(clients)}, {"success", json_number(s.attack->success)}};
  }
  if (s.truth) {
    json["clusters"] = {
        {"groups", s.groups}, {"round", s.groups_since}, {"right", s.truth->correct}, {"clients", s.truth->clients}};
  }
  return json_text(json);
}

}  // namespace muster
