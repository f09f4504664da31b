#!/usr/bin/env bash
# slurm_test.sh ROOT PROGRAM: the jobs of examples/slurm on a Slurm of their own: two nodes on this machine, each in
# namespaces of its own, everything in a temporary folder and on loopback. PROGRAM is muster-mpi.
#   1. A run that meets its time limit, is queued again and goes on, then loses a node in the middle of a round, is
#      queued again and goes on; it ends with the signature of a run on one process. A short run, which is left alone.
#   2. A comparison that is signalled, queued again and goes on; it ends with the table of one process.
# Exit status 77: skipped, and the line says why.
set -u
root=$(readlink -f -- "$1")
program=$(readlink -f -- "$2")

me=slurm_test
source "$(dirname -- "${BASH_SOURCE[0]}")/steps.sh"
(($(id -u) == 0)) || skip "needs root, for namespaces and munge"
for command in slurmctld slurmd sbatch srun scontrol scancel sinfo munged unshare; do
  command -v "$command" >/dev/null || skip "$command is not installed: apt-get install --no-install-recommends slurmctld slurmd slurm-client munge"
done
unshare --uts --mount --pid --fork true 2>/dev/null || skip "unshare cannot make namespaces here"

folder=$(mktemp -d /tmp/muster-slurm.XXXXXX)
pids=() # of what is started here: the daemons, and the first process of each node
cleanup() {
  { kill -9 "${pids[@]}" && wait; } 2>/dev/null
  rm -rf -- "$folder"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

fail() {
  echo "$me: FAILED: $*"
  for log in "$folder"/log/* "$folder"/jobs/muster-*.log; do
    [[ -s $log ]] && echo "--- ${log##*/}" && tail -n 25 -- "$log"
  done
  exit 1
}

# --- A Slurm.

host=$(hostname -s)
port=$((20000 + $$ % 20000))
mkdir -p "$folder"/{munge,state,log,jobs,run}
chmod 711 "$folder" "$folder/munge"
head -c 1024 /dev/urandom >"$folder/munge.key"
chmod 600 "$folder/munge.key"
{
  cat <<CONF
ClusterName=muster
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$port
AuthInfo=socket=$folder/munge/socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/slurmd-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TmpFS=$folder/tmp-%n
MpiDefault=pmix
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SlurmdTimeout=3
MessageTimeout=3
KillWait=2
ReturnToService=2
SchedulerParameters=sched_interval=2,batch_sched_delay=0
CONF
  for i in 1 2; do echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=4"; done
  echo "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
} >"$folder/slurm.conf"
printf '127.0.0.1 localhost n1 n2 %s\n' "$host" >"$folder/hosts"
export SLURM_CONF=$folder/slurm.conf
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo

munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge/socket" --num-threads=2 \
  --pid-file="$folder/run/munged.pid" --log-file="$folder/log/munged" --seed-file="$folder/munge.seed" >/dev/null 2>&1 &
pids+=($!)
wait_for 10 "munged" test -S "$folder/munge/socket"
slurmctld -D -c >/dev/null 2>&1 &
pids+=($!)

# start_node N: a machine with its own name, processes, shared memory and empty disks. Its first process is its power.
declare -A power
start_node() {
  rm -rf -- "$folder/spool-$1" "$folder/tmp-$1"
  mkdir -p "$folder/spool-$1" "$folder/tmp-$1"
  unshare --uts --mount --pid --fork --kill-child --mount-proc bash -c '
    hostname "$1" && mount --bind "$2/hosts" /etc/hosts && mount -t tmpfs none /dev/shm && exec slurmd -D -N "$1"' \
    bash "$1" "$folder" >/dev/null 2>&1 &
  power[$1]=$!
  pids+=($!)
}
idle_nodes() { (($(sinfo -h -N -o '%N %t' 2>/dev/null | grep -cE ' (idle|mix|alloc)$') == $1)); }
start_node n1
start_node n2
wait_for 30 "nodes" idle_nodes 2
say "two nodes are up"

# --- Jobs, from a folder where ./muster is the program under test.

cd "$folder/jobs" || exit 1
cat >muster <<WRAP
#!/usr/bin/env bash
[[ \$1 == --with && \$2 == mpi ]] && shift 2
exec '$program' "\$@"
WRAP
chmod +x muster

# submit SCRIPT OPTIONS... -- ARGUMENTS...: sets `job`.
submit() {
  local script=$root/examples/slurm/$1 options=()
  shift
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  shift
  job=$(sbatch --parsable "${options[@]}" "$script" "$@") || fail "sbatch ${script##*/}"
}
job_field() { scontrol -o show job "$job" 2>/dev/null | grep -oP "(?<=\b$1=)[^ ]*"; }
restarts() { [[ $(job_field Restarts) == "$1" ]]; }
has_state() { [[ $(job_field JobState) == "$1" ]]; }
# A requeued job would wait for two minutes. A few seconds are needed until the step before it has been cleared away.
start_again() {
  wait_for 20 "waiting in the queue" has_state PENDING
  scontrol update JobId="$job" TimeLimit=30 StartTime=now+4 || fail "scontrol update"
  wait_for 30 "running again" has_state RUNNING
}
logged() { grep -qF -- "$1" "muster-$job.log" 2>/dev/null; }
rounds() { cat "$1"/*/rounds.jsonl 2>/dev/null | wc -l; }
more_rounds() { (($(rounds "$1") > $2)); }
field() { grep -oP "(?<=\"$1\":\")[^\"]*" "$2"; }

blobs=(--set data.source=blobs --set data.clients=40 --set 'model.hidden=[64]' --set model.name=mlp)
recipe=(scaffold "${blobs[@]}" --set checkpoint-every=5 --set plan.participation=0.5 --set local.epochs=10)

# The shortest time limit is a minute. The signal comes a little before the 50 seconds: Slurm looks every now and then.
submit run.sbatch --nodes=2 --ntasks=2 --time=1 --signal=USR1@50 -- "${recipe[@]}" --rounds 1000000
out=runs/job-$job
wait_for 40 "first rounds" more_rounds "$out" 3
say "the run has begun on two nodes; waiting for its time limit"
wait_for 60 "queued again after the time limit" restarts 1
start_again
logged "ended with status 75; queued again" || fail "the time limit did not end the run with 75"
before=$(rounds "$out")
wait_for 40 "rounds after the time limit" more_rounds "$out" $((before + 2))
logged "going on with round" || fail "the run did not go on from its checkpoint"
say "went on after the time limit from round $before; n2 loses its power"

{ kill -9 "${power[n2]}" && wait "${power[n2]}"; } 2>/dev/null
wait_for 60 "queued again after the loss of a node" restarts 2
start_node n2
wait_for 30 "n2 is back" idle_nodes 2
start_again
before=$(rounds "$out")
wait_for 60 "rounds after the loss of a node" more_rounds "$out" $((before + 2))
(($(grep -cF "going on with round" "muster-$job.log") == 2)) || fail "the run did not go on after the loss of a node"
say "went on after the loss of a node"
scancel "$job"
wait_for 20 "the end of the job" has_state CANCELLED
unlocked() { ! compgen -G "$out/*/lock" >/dev/null; }
wait_for 20 "the end of its processes" unlocked

last=$(($(rounds "$out") + 3))
"$program" run --resume "$out"/scaffold-* --rounds "$last" --threads 2 --quiet --json >resumed.json || fail "resume on one process"
"$program" run "${recipe[@]}" --rounds "$last" --threads 2 --out alone --quiet --json >alone.json || fail "a run on one process"
[[ $(field signature resumed.json) == "$(field signature alone.json)" && -n $(field signature alone.json) ]] ||
  fail "signature $(field signature resumed.json) after $last rounds, want $(field signature alone.json)"
say "signature after $last rounds is that of one process"

submit run.sbatch --nodes=2 --ntasks=2 -- fedavg "${blobs[@]}" --rounds 5
wait_for 60 "the end of a short run" has_state COMPLETED
restarts 0 || fail "a run that was done was queued again"
say "a short run ended, and its job with it"

# --- A sweep.

compare=(fedavg fedprox scaffold "${blobs[@]}" --rounds 60 --seeds 1,2 --csv)
export MUSTER_OUT=compared
submit compare.sbatch --nodes=2 --ntasks=2 --cpus-per-task=2 -- "${compare[@]}"
wait_for 60 "first rounds of the comparison" more_rounds compared 20
scancel --signal=USR1 "$job"
wait_for 30 "queued again after the signal" restarts 1
start_again
logged "ended with status 75; queued again" || fail "the signal did not end the comparison with 75"
wait_for 120 "the end of the comparison" has_state COMPLETED
"$program" compare "${compare[@]}" --out compared-alone --threads 2 --quiet >alone.csv || fail "compare on one process"
# Without the columns of wall time, which differ.
without_time() { awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i !~ /wall/) keep[i] = 1 } { for (i = 1; i <= NF; ++i) if (keep[i]) printf "%s,", $i; print "" }' "$1"; }
[[ $(without_time alone.csv) == "$(without_time "compared/compare-$job.txt")" ]] ||
  fail "the table differs: $(diff <(without_time alone.csv) <(without_time "compared/compare-$job.txt"))"
say "the comparison went on after a signal, and its table is that of one process"
