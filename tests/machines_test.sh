#!/usr/bin/env bash
# machines_test.sh ROOT PROGRAM: docs/deploy.md on three machines. A machine is a network namespace with a name, a hosts
# file and a folder of its own; a bridge in a fourth one joins them. The commands are those of the document, read from it
# (blocks "```sh MACHINE" below "On several machines"), and the run must end with the signature of its simulation.
# With MUSTER_MACHINES=all also: the cable of the clients' machine is pulled and put back; the cloud sees it within ten
# seconds, the clients come back by themselves, and the signature is the same. PROGRAM is muster-net.
# Exit status 77: skipped, and the line says why.
set -u
root=$(readlink -f -- "$1")
program=$(readlink -f -- "$2")

me=machines_test
source "$(dirname -- "${BASH_SOURCE[0]}")/steps.sh"
(($(id -u) == 0)) || skip "needs root, for network namespaces"
for command in unshare nsenter mount; do command -v "$command" >/dev/null || skip "$command is not installed (util-linux)"; done
if ! command -v ip >/dev/null; then
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends iproute2 >/dev/null 2>&1
  command -v ip >/dev/null || skip "ip is not installed: apt-get install iproute2"
fi
unshare --net --mount --uts ip link add name v0 type veth peer name v1 2>/dev/null || skip "network namespaces or veth pairs cannot be made here"
unshare --net ip link add name b0 type bridge 2>/dev/null || skip "a bridge cannot be made here"

folder=$(mktemp -d /tmp/muster-machines.XXXXXX)
pids=() # of what is started here: the first process of each machine, and what runs there
cleanup() {
  { kill -9 "${pids[@]}" && wait; } 2>/dev/null
  rm -rf -- "$folder"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

fail() {
  echo "$me: FAILED: $*"
  for log in "$folder"/*.log; do [[ -s $log ]] && echo "--- ${log##*/}" && tail -n 25 -- "$log"; done
  exit 1
}

# --- Machines.

cloud=cloud.example.org
edge=edge.example.org
clients=clients.example.org
printf '127.0.0.1 localhost\n10.77.0.1 %s\n10.77.0.2 %s\n10.77.0.3 %s\n' $cloud $edge $clients >"$folder/hosts"
: >"$folder/resolv.conf"
declare -A first # process of each
another() { [[ -e /proc/$1/ns/net && $(readlink "/proc/$1/ns/net") != "$(readlink /proc/self/ns/net)" ]]; }

# start_machine NAME COMMAND: a process in namespaces of its own, from which COMMAND has been run.
start_machine() {
  unshare --net --mount --uts sh -c "$2 && touch '$folder/$1.up' && exec sleep 600" >"$folder/$1.log" 2>&1 &
  first[$1]=$!
  pids+=($!)
  wait_for 10 "$1" test -e "$folder/$1.up"
  another "${first[$1]}" || fail "$1 shares this machine's network"
}
start_machine hub 'ip link add name br0 type bridge && ip link set br0 up'
number=0
for name in $cloud $edge $clients; do
  number=$((number + 1))
  start_machine $name "hostname $name && mount --bind '$folder/hosts' /etc/hosts && { [ ! -e /etc/resolv.conf ] || mount --bind '$folder/resolv.conf' /etc/resolv.conf; } && ip link set lo up"
  nsenter -t "${first[hub]}" -n ip link add name "v$number" type veth peer name eth0 netns "${first[$name]}" &&
    nsenter -t "${first[hub]}" -n ip link set "v$number" master br0 up &&
    nsenter -t "${first[$name]}" -n ip addr add "10.77.0.$number/24" dev eth0 &&
    nsenter -t "${first[$name]}" -n ip link set eth0 up || fail "the cable of $name"
done
say "three machines are up"

# --- The document's commands. ./muster is the program under test, scp copies to a machine's folder.

mkdir "$folder"/{authority,bin}
printf '#!/bin/sh\nexec "%s" "$@"\n' "$program" >"$folder/muster"
printf '#!/bin/sh\n[ "$1" = -r ] && cp -r "$2" "%s/${3%%:}/"\n' "$folder" >"$folder/bin/scp"
chmod +x "$folder/muster" "$folder/bin/scp"
for name in authority $cloud $edge $clients; do
  mkdir -p "$folder/$name"
  cp "$folder/muster" "$folder/$name/"
done
# commands_of MACHINE: what the document says there.
commands_of() {
  awk -v machine="$1" '/^## / { here = $0 == "## On several machines" }
    here && $1 == "```sh" && $2 == machine { inside = 1; next }
    inside && $1 == "```" { exit }
    inside { sub(/^ +/, ""); print }' "$root/docs/deploy.md"
}
# on MACHINE LOG COMMANDS: in the background; sets `started`.
on() {
  [[ -n $3 ]] || fail "docs/deploy.md has no commands for $1"
  nsenter -t "${first[$1]}" -n -m -u --wd="$folder/$1" sh -ec "$3" >"$folder/$2.log" 2>&1 &
  started=$!
  pids+=($!)
}
# ended PROCESS NAME: with status 0, soon.
ended() {
  wait_for "$3" "the end of $2" bash -c "! kill -0 $1 2>/dev/null"
  wait "$1" || fail "$2 ended with status $?"
}
signature() { grep -oP '(?<=signature  )[0-9a-f]{16}' "$1"; }

commands=$(commands_of authority)
[[ -n $commands ]] || fail "docs/deploy.md has no commands for the authority"
(cd "$folder/authority" && PATH=$folder/bin:$PATH sh -ec "$commands") >"$folder/authority.log" 2>&1 || fail "the certificates"
(cd "$folder" && "$program" run demo --quiet --out alone) >"$folder/simulation.log" 2>&1 || fail "the simulation"
wanted=$(signature "$folder/simulation.log")
[[ -n $wanted ]] || fail "the simulation has no signature"
say "certificates are where they belong; the simulation's signature is $wanted"

# The order does not matter, says the document: here it is the least likely one.
on $clients first-clients "$(commands_of $clients)" && client=$started
on $edge first-edge "$(commands_of $edge)" && relay=$started
on $cloud first-cloud "$(commands_of $cloud)" && server=$started
ended "$server" cloud 120
ended "$relay" edge 20
ended "$client" clients 20
[[ $(signature "$folder/first-cloud.log") == "$wanted" ]] || fail "signature $(signature "$folder/first-cloud.log"), want $wanted"
grep -q "part of run demo-.*50 clients" "$folder/first-clients.log" || fail "the clients' machine does not tell of 50 clients"
say "cloud, edge and clients are done: signature $wanted"

[[ ${MUSTER_MACHINES-} == all ]] || exit 0
on $cloud second-cloud "$(commands_of $cloud)" && server=$started
on $edge second-edge "$(commands_of $edge)" && relay=$started
dial=$(commands_of $clients)
on $clients second-clients "$dial --clients 0-19" && client=$started
wait_for 30 "twenty clients" grep -q "20 of 50 are here" "$folder/second-cloud.log"
nsenter -t "${first[hub]}" -n ip link set v3 down || fail "pulling the cable"
pulled=$SECONDS
wait_for 12 "that the cloud or the edge sees the cut" grep -q "is gone with 20 clients" "$folder/second-edge.log"
say "the cable was pulled $((SECONDS - pulled)) s ago, which the edge has seen"
((SECONDS - pulled <= 10)) || fail "a cut is seen within $((SECONDS - pulled)) s, want 10"
nsenter -t "${first[hub]}" -n ip link set v3 up || fail "putting the cable back"
on $clients third-clients "$dial --clients 20-49" && rest=$started
ended "$server" cloud 120
ended "$relay" edge 20
ended "$client" clients 20
ended "$rest" clients 20
[[ $(signature "$folder/second-cloud.log") == "$wanted" ]] || fail "after the cut: signature $(signature "$folder/second-cloud.log"), want $wanted"
say "the clients came back by themselves: signature $wanted"
