#include "web/live_page.h"

#include <sys/random.h>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/hash.h"
#include "record/json_text.h"
#include "report/compare_runs.h"
#include "report/html_page.h"
#include "web/gate.h"
#include "web/member_pages.h"
#include "web/page_assets.h"
#include "web/run_looks.h"
#include "web/run_shelf.h"
#include "web/web_listener.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostCompared = 64;  // runs side by side
constexpr std::size_t kMostRosterRows = 500;
constexpr double kBeatS = 10;  // between two signs of life of a stream
constexpr auto kTick = std::chrono::milliseconds(250);

// Nothing but what this server sends, and nothing inline.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

std::string random_secret() {
  std::array<unsigned char, 32> bytes{};
  MUSTER_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "no random bytes");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

WebAnswer json_answer(std::string body) {
  return {.type = "application/json", .body = std::move(body)};
}

WebAnswer not_found(const std::string& why) {
  return {.status = 404, .type = "application/json", .body = json_text(Json{{"error", why}})};
}

std::string query_of(const WebRequest& request, const char* name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? std::string() : found->second;
}

template <typename T>
std::optional<T> number_in(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text, char between) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// A name that may be shown: ids and paths may hold any bytes.
std::string event(const char* name, std::uint64_t id, const std::string& data) {
  return fmt::format("event: {}\nid: {}\ndata: {}\n\n", name, id, data);
}

}  // namespace

struct LivePage::State {
  explicit State(LivePageOptions given)
      : options(std::move(given)),
        gate(options.token, random_secret(), is_loopback(options.address)),
        shelf(options.out) {}

  LivePageOptions options;
  Gate gate;
  RunShelf shelf;
  RunLooks looks;
  std::atomic<std::uint32_t> streams{0};
  std::atomic<bool> open{false};          // the gate knows its port
  std::unique_ptr<WebListener> listener;  // last: it uses all of the above

  WebAnswer answer(const WebRequest& request) {
    open.wait(false);
    WebAnswer given = routed(request);
    given.headers["Content-Security-Policy"] = kPolicy;
    given.headers["X-Content-Type-Options"] = "nosniff";
    given.headers["Referrer-Policy"] = "no-referrer";
    given.headers["Cross-Origin-Opener-Policy"] = "same-origin";
    given.headers["Cross-Origin-Resource-Policy"] = "same-origin";
    // What is the same as before is not sent again; nothing is used without asking.
    given.headers["Cache-Control"] = given.stream || given.status != 200 ? "no-store" : "no-cache";
    if (given.status == 200 && !given.stream) {
      const std::string tag = "\"" + hex16(hash_bytes(given.body.data(), given.body.size())) + "\"";
      given.headers["ETag"] = tag;
      if (request.if_none_match == tag) {
        given.status = 304;
        given.body.clear();
      }
    }
    return given;
  }

  WebAnswer routed(const WebRequest& request) {
    if (auto away = gate.turn_away(request)) return std::move(*away);
    const std::string& path = request.path;
    if (path == "/api/sign-in") return gate.sign_in(request, now_s());
    if (path.starts_with("/api/")) {
      if (auto refused = gate.refuse_data(request, now_s())) return std::move(*refused);
      return data(request);
    }
    if (path.starts_with("/assets/")) return asset(path.substr(8));
    if (path == "/favicon.ico") return asset("muster.svg");
    return {.type = "text/html; charset=utf-8", .body = std::string(page_html())};
  }

  static WebAnswer asset(const std::string& name) {
    for (const PageAsset& one : page_assets()) {
      if (one.name == name) return {.type = one.type, .body = std::string(one.text)};
    }
    return {.status = 404, .body = "no such file\n"};
  }

  WebAnswer data(const WebRequest& request) {
    const std::string& path = request.path;
    if (path == "/api/runs") return runs();
    if (path == "/api/events") return events(request);
    if (path == "/api/compare") return compare(request);
    const std::vector<std::string> parts = split(path, '/');  // "", "api", "run", ID, ...
    if (parts.size() < 4 || parts[2] != "run") return not_found("there is nothing here");
    const Result<StoredRun> run = shelf.find(parts[3]);
    if (!run) return not_found(run.error().message);
    if (parts.size() == 5 && parts[4] == "roster") return roster(*run);
    const auto look = looks.at(run->dir, run->condition == RunCondition::kRunning);
    if (!look) return not_found(look.error().message);
    return of_run(request, parts, *run, **look);
  }

  WebAnswer of_run(const WebRequest& request, const std::vector<std::string>& parts, const StoredRun& run,
                   const RunLook& look) {
    // Put together as text: the description is large, and is one already.
    if (parts.size() == 4) {
      return json_answer(fmt::format("{{\"row\":{},\"description\":{}}}", json_text(row_json(run)), look.description));
    }
    if (parts.size() == 5 && parts[4] == "clients") return clients(request, look.records);
    const auto number = number_in<std::uint32_t>(parts.back());
    if (parts.size() != 6 || !number || (parts[4] != "client" && parts[4] != "group")) {
      return not_found("there is nothing here");
    }
    const Result<Json> found =
        parts[4] == "client" ? describe_client(look.records, *number) : describe_group(look.records, *number);
    return found ? json_answer(json_text(*found)) : not_found(found.error().message);
  }

  WebAnswer runs() {
    const auto found = shelf.changes(0);
    if (!found)
      return {.status = 503, .type = "application/json", .body = json_text(Json{{"error", found.error().message}})};
    Json rows = Json::array();
    for (const StoredRun& run : found->runs) rows.push_back(row_json(run));
    return json_answer(
        json_text(Json{{"sequence", found->sequence}, {"out", options.out.string()}, {"runs", std::move(rows)}}));
  }

  WebAnswer clients(const WebRequest& request, const RunRecords& run) {
    ClientQuery query{.down = query_of(request, "down") == "1", .filter = query_of(request, "filter").substr(0, 200)};
    if (const std::string word = query_of(request, "sort"); !word.empty()) {
      const auto order = parse_client_order(word);
      if (!order)
        return {.status = 400, .type = "application/json", .body = json_text(Json{{"error", order.error().message}})};
      query.order = *order;
    }
    query.from = number_in<std::size_t>(query_of(request, "from")).value_or(0);
    query.count = number_in<std::size_t>(query_of(request, "count")).value_or(query.count);
    return json_answer(json_text(client_rows(run, query)));
  }

  WebAnswer roster(const StoredRun& run) {
    std::optional<PageRoster> found;
    if (options.roster) found = options.roster(run.id);
    const bool live = found.has_value();
    if (!found) found = looks.roster(run.dir, run.condition == RunCondition::kRunning);
    Json json = to_json(*found, kMostRosterRows);
    json["live"] = live;
    json["deployed"] = run.deployed || live;
    return json_answer(json_text(json));
  }

  WebAnswer compare(const WebRequest& request) {
    std::vector<std::filesystem::path> folders;
    Json missing = Json::array();
    for (const std::string& id : split(query_of(request, "runs"), '/')) {
      if (id.empty()) continue;
      const auto run = shelf.find(id);
      if (!run) {
        missing.push_back(id.substr(0, 200));
      } else if (folders.size() < kMostCompared) {
        folders.push_back(run->dir);
      }
    }
    if (folders.empty()) return not_found("none of these runs is here");
    auto described = describe_comparison(folders);
    if (!described) return not_found(described.error().message);
    return json_answer(json_text(Json{{"description", std::move(*described)}, {"missing", std::move(missing)}}));
  }

  // A stream asks the shelf for itself; nothing is queued, so a slow reader only misses what has been replaced since.
  WebAnswer events(const WebRequest& request) {
    if (streams.fetch_add(1) >= options.streams) {
      --streams;
      return {.status = 503, .body = "too many streams\n", .headers = {{"Retry-After", "5"}}};
    }
    struct Watcher {
      explicit Watcher(State& s) : state(s) {}
      ~Watcher() { --state.streams; }
      State& state;
      std::string run;
      std::uint64_t seen = 0;
      double wrote_s = 0;
      double looked_s = 0;
    };
    auto stream = std::make_shared<Watcher>(*this);
    stream->run = query_of(request, "run");
    const std::string last = request.last_event_id.empty() ? query_of(request, "after") : request.last_event_id;
    stream->seen = number_in<std::uint64_t>(last).value_or(0);
    return {.type = "text/event-stream",
            .headers = {{"X-Accel-Buffering", "no"}},
            .stream = [stream](const StreamWrite& write) {
              const double now = now_s();
              if (stream->wrote_s == 0) {
                stream->wrote_s = now;
                return write("retry: 2000\n: here\n\n");
              }
              std::this_thread::sleep_for(kTick);
              if (now - stream->looked_s >= 0.5) {
                stream->looked_s = now;
                if (const std::string news = stream->state.news(stream->run, stream->seen); !news.empty()) {
                  stream->wrote_s = now;
                  return write(news);
                }
              }
              if (now - stream->wrote_s < kBeatS) return write("");
              stream->wrote_s = now;
              return write(": still here\n\n");
            }};
  }

  // What has changed since `seen`, of all runs or of one; "": nothing.
  std::string news(const std::string& only, std::uint64_t& seen) {
    const auto found = shelf.changes(seen);
    if (!found) return "";
    const bool again = found->sequence < seen;  // another store
    Json rows = Json::array();
    Json gone = Json::array();
    for (const StoredRun& run : found->runs) {
      if (only.empty() || run.id == only) rows.push_back(row_json(run));
    }
    for (const std::string& id : found->gone) {
      if (only.empty() || id == only) gone.push_back(id);
    }
    seen = found->sequence;
    if (rows.empty() && gone.empty() && !again) return "";
    return event("runs", seen, json_text(Json{{"sequence", seen}, {"again", again}, {"runs", rows}, {"gone", gone}}));
  }
};

LivePage::LivePage(std::unique_ptr<State> state) : state_(std::move(state)) {}

LivePage::~LivePage() {
  state_->listener.reset();
}

Result<std::unique_ptr<LivePage>> LivePage::start(LivePageOptions options) {
  if (options.token.empty() && !is_loopback(options.address)) {
    return usage_error(
        "--listen {}: others could look, too; want a token, by --token-file or the environment variable "
        "MUSTER_UI_TOKEN, or an address of loopback",
        options.address);
  }
  auto state = std::make_unique<State>(std::move(options));
  WebListenerOptions listen{.address = state->options.address,
                            .port = state->options.port,
                            .connections = 48 + state->options.streams,
                            .niceness = state->options.niceness};
  const auto answer = [raw = state.get()](const WebRequest& request) { return raw->answer(request); };
  if (listen.port == 0 && state->options.preferred_port != 0) {
    listen.port = state->options.preferred_port;
    if (auto listener = WebListener::start(listen, answer)) state->listener = std::move(*listener);
    listen.port = 0;
  }
  if (!state->listener) {
    MUSTER_ASSIGN(state->listener, WebListener::start(listen, answer));
  }
  state->gate.set_port(state->listener->port());
  state->open = true;
  state->open.notify_all();
  return std::unique_ptr<LivePage>(new LivePage(std::move(state)));
}

std::uint16_t LivePage::port() const {
  return state_->listener->port();
}

std::string LivePage::url() const {
  const std::string& address = state_->options.address;
  const bool v6 = address.find(':') != std::string::npos;
  return fmt::format("http://{}:{}/", v6 ? "[" + address + "]" : address, port());
}

}  // namespace muster
