# Sourced by tests that take several steps, which set `me` (their own name) and have a function `fail`.

skip() {
  echo "$me: SKIPPED: $*"
  exit 77
}
say() { printf '%s: %3d s: %s\n' "$me" "$SECONDS" "$*"; }
# wait_for SECONDS WHAT CONDITION...: until the condition, a command, holds.
wait_for() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    ((SECONDS < end)) || fail "$what: not within time"
    sleep 0.1
  done
}
