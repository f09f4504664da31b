#!/usr/bin/env bash
# units_test.sh ROOT: what systemd itself says of the units (exit status 77, "skipped", without systemd-analyze), and
# what muster-cloud.service starts: a new run, or the one that is not over.
set -u
root=$1
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
faults=0
fault() {
  printf '%s\n' "$1"
  faults=1
}

# cloud-service, with a program that only repeats its words.
service=$root/packaging/systemd/cloud-service
runs=$folder/runs
mkdir -p "$runs"
started() {
  STATE_DIRECTORY=$runs MUSTER_PROGRAM=echo MUSTER_RECIPE=fedavg MUSTER_LISTEN=l:1 MUSTER_PKI=p MUSTER_METRICS=9 \
    MUSTER_OPTIONS='--seed 3' "$service"
}
expect() { [[ $(started) == "cloud $1 --out $runs --listen l:1 --pki p --metrics 9 --log-json --seed 3" ]] || fault "$2: starts $(started)"; }
expect fedavg 'no run yet'
mkdir "$runs"/{old,new}
touch -d '2026-01-01' "$runs/old/recipe.toml"
touch "$runs/new/recipe.toml"
expect "--resume $runs/new" 'a run that was killed'
echo '{"stopped": "interrupted"}' >"$runs/new/summary.json"
expect "--resume $runs/new" 'a run that was interrupted'
echo '{"stopped": "rounds"}' >"$runs/new/summary.json"
expect fedavg 'a run that is over'

if ! command -v systemd-analyze >/dev/null; then
  ((faults == 0)) || exit 1
  echo 'skipped: systemd-analyze is not here (package systemd), so nobody checks the units'
  exit 77
fi
# With programs where the package puts them; what else a unit names is systemd's own and not here.
mkdir -p "$folder"/system/usr/{bin,lib/muster,lib/systemd/system}
ln -s usr/lib usr/bin "$folder/system"
cp "$service" "$folder/system/usr/lib/muster/"
cp "$service" "$folder/system/usr/bin/muster-net"
cp "$root"/packaging/systemd/*.service "$folder/system/usr/lib/systemd/system/"
for unit in multi-user network-online sysinit basic shutdown network; do
  printf '[Unit]\nDescription=%s\n' "$unit" >"$folder/system/usr/lib/systemd/system/$unit.target"
done
for unit in muster-cloud.service muster-edge@north.service muster-client@graz.service; do
  said=$(systemd-analyze verify --root="$folder/system" --man=no "$unit" 2>&1) || fault "$unit: systemd-analyze verify failed"
  said=$(grep -F muster- <<<"$said")
  [[ -z $said ]] || fault "$said"
done
exit "$faults"
