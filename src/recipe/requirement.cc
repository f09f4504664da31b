#include "recipe/requirement.h"

#include "recipe/keys.h"

namespace muster {

Status check_requirement(const std::string& wanted) {
  Recipe any;
  Status status = apply_setting(any, wanted);
  if (status) return {};
  constexpr std::string_view kOther = "--set";
  Error error = std::move(status).error();
  if (error.message.starts_with(kOther)) error.message.replace(0, kOther.size(), "--require");
  return error;
}

Status meet_requirement(const Recipe& recipe, const std::string& wanted) {
  Recipe other = recipe;
  MUSTER_TRY(apply_setting(other, wanted));
  if (other == recipe) return {};
  const std::string name = wanted.substr(0, wanted.find('='));
  const Key* const key = find_key(name);
  const std::string has = key ? key->get(recipe) : "";
  return failure("the cloud's recipe has {}, and this client requires {}",
                 has.empty() ? "no " + name : fmt::format("{} = {}", name, has), wanted);
}

}  // namespace muster
