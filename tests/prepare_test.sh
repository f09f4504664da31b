#!/usr/bin/env bash
# prepare_test.sh ROOT: ./muster and ./test on a small tree of their own, with every outside command (cmake, ctest,
# apt-get, dpkg-query, id, sudo) replaced by a recorder, so that neither packages nor a compiler are touched.
set -u
source_root=$1
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
tree="$folder/a tree"
bin=$folder/bin
calls=$folder/calls
failures=0

# fake NAME: reads the body of the recorder NAME from stdin.
fake() {
  { printf '#!/usr/bin/env bash\necho "%s $*" >>"%s"\n' "$1" "$calls" && cat; } >"$bin/$1"
  chmod +x "$bin/$1"
}

setup() {
  rm -rf -- "$tree" "$bin" "$calls"
  mkdir -p "$tree"/{src/app,cmake} "$bin"
  cp "$source_root"/{muster,test} "$tree"
  cp "$source_root"/cmake/{prepare.sh,packages.txt} "$tree/cmake"
  touch "$tree/CMakeLists.txt" "$tree/CMakePresets.json" "$tree/src/a.cc"
  : >"$calls"
  # The sources are older than any build that follows.
  find "$tree" -exec touch -d '1 minute ago' {} +
  fake cmake <<'BODY'
echo chatter
if [[ $1 == --preset ]]; then
  mkdir -p build/release
  for word; do
    case $word in MUSTER_BUILD_TESTS=*) tests=${word#*=} ;; MUSTER_MPI=*) mpi=${word#*=} ;; MUSTER_NET=*) net=${word#*=} ;; esac
  done
  printf '%s\n' "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "MUSTER_BUILD_TESTS:BOOL=$tests" "MUSTER_MPI:BOOL=$mpi" \
    "MUSTER_NET:BOOL=$net" >build/release/CMakeCache.txt
  touch build/release/build.ninja
else
  [[ ! -e $2/../../src/broken ]] || { echo '[1/2] Building'; echo 'a.cc:1: error: no'; exit 1; }
  mkdir -p "$2/src/app"
  for program in muster muster-mpi muster-net; do
    [[ $4 == "$program" || $4 == all ]] || continue
    printf '#!/bin/sh\necho "%s ran in $PWD with $*"\nexit 5\n' "$program" | sed 's/^echo "muster ran/echo "ran/' >"$2/src/app/$program"
    chmod +x "$2/src/app/$program"
  done
fi
BODY
  fake ctest <<<'exit 8'
  fake dpkg-query <<<'shift 3; for p; do [[ -e "${0%/*}/../absent-$p" ]] || echo "installed $p"; done'
  fake apt-get <<<'exit 0'
  fake id <<<'echo 0'
  rm -f -- "$folder"/absent-*
}

run() {
  output=$(cd / && PATH="$bin:$PATH" "$@" 2>"$folder/stderr")
  status=$?
  errors=$(<"$folder/stderr")
}

check() {
  if ! eval "$2"; then
    printf '%s: not true: %s\n  status %s\n  stdout %s\n  stderr %s\n  calls %s\n' "$1" "$2" "$status" "$output" "$errors" \
      "$(<"$calls")"
    failures=1
  fi
}

setup
run "$tree/muster" run --x 'a b'
check 'first call' '[[ $output == "ran in / with run --x a b" && $status -eq 5 ]]'
check 'first call' '[[ $errors == *"muster: configuring"*"muster: building"* && $errors != *chatter* ]]'
check 'first call' '[[ $(<"$calls") == *MUSTER_BUILD_TESTS=OFF*"--target muster"* && $(<"$calls") != *apt-get* ]]'

: >"$calls"
run "$tree/muster" again
check 'nothing changed' '[[ $output == "ran in / with again" && -z $errors && ! -s $calls ]]'
ln -s "$tree/muster" "$folder/link"
run "$folder/link" linked
check 'through a link' '[[ $output == "ran in / with linked" && -z $errors && ! -s $calls ]]'

touch -d '1 minute' "$tree/src/a.cc"
run "$tree/muster"
check 'a changed file' '[[ $(<"$calls") == *"cmake --build"* && $(<"$calls") != *--preset* ]]'
touch -d '1 minute ago' "$tree/src/a.cc"
run "$tree/muster"
: >"$calls"
rm "$tree/src/a.cc"
touch -d '1 minute' "$tree/src"
run "$tree/muster"
check 'a file that went' '[[ $(<"$calls") == *"cmake --build"* ]]'

: >"$calls"
run "$tree/test" -R base
check 'tests' '[[ $status -eq 8 && $(<"$calls") == *MUSTER_BUILD_TESTS=ON*"--target all"*"ctest "*" -R base" ]]'
touch -d '2 minutes' "$tree/src/app"
: >"$calls"
run "$tree/muster"
check 'the tests stay configured' '[[ $(<"$calls") == *"--target muster"* && $(<"$calls") != *--preset* ]]'

setup
run "$tree/muster"
mv "$tree" "$folder/b tree"
: >"$calls"
run "$folder/b tree/muster"
check 'a moved tree' '[[ $(<"$calls") == *--preset* && $output == ran* ]]'
rm -r "$folder/b tree"

setup
touch "$tree/src/broken"
run "$tree/muster"
check 'a failed build' '[[ $status -eq 1 && -z $output && $errors == *"a.cc:1: error: no"*"muster: the build failed" ]]'
rm "$tree/src/broken"
run "$tree/muster"
check 'a mended build' '[[ $status -eq 5 ]]'

setup
touch "$folder"/absent-{libpng-dev,libgtest-dev}
run "$tree/muster"
check 'a missing package' '[[ $status -eq 5 && $errors == *"muster: installing libpng-dev"* ]]'
check 'a missing package' '[[ $(<"$calls") == *"apt-get "*"install --no-install-recommends libpng-dev"* ]]'
check 'a missing package' '[[ $(<"$calls") != *libgtest-dev* && $(<"$calls") != *update* ]]'

setup
touch "$folder/absent-libpng-dev"
fake apt-get <<<'[[ $* != *install* ]] || { echo "E: Unable to locate package libpng-dev"; exit 100; }'
run "$tree/muster"
check 'apt fails' '[[ $status -eq 1 && $errors == *"cannot install libpng-dev: E: Unable to locate package libpng-dev;"* ]]'
check 'apt fails' '[[ $(<"$calls") == *install*update*install* && $(<"$calls") != *"cmake --"* ]]'

setup
touch "$folder/absent-libpng-dev"
fake id <<<'echo 1000'
# Only what is listed here, so that there is no sudo.
for tool in bash env dirname readlink find sed grep mkdir mktemp flock rm cat; do ln -s "$(command -v "$tool")" "$bin"; done
run env PATH="$bin" "$tree/muster"
check 'not root, no sudo' '[[ $status -eq 1 && $errors == "muster: these packages are missing, install them as root: apt-get install libpng-dev" ]]'
fake sudo <<<'"$@"'
run "$tree/muster"
check 'not root, sudo' '[[ $status -eq 5 && $(<"$calls") == *"sudo env DEBIAN_FRONTEND=noninteractive"*libpng-dev* ]]'

setup
touch "$folder/absent-dataset-fashion-mnist"
fake apt-get <<<'exit 100'
run "$tree/muster"
check 'an optional package' '[[ $status -eq 5 && $errors == *"cannot install dataset-fashion-mnist, going on without"* ]]'
touch -d '1 minute' "$tree/src/a.cc"
run "$tree/muster"
check 'an optional package, again' '[[ $status -eq 5 && $errors != *dataset* ]]'

setup
for i in 1 2 3 4; do (cd / && PATH="$bin:$PATH" "$tree/muster" "$i" >"$folder/out$i" 2>/dev/null) & done
wait
run cat "$folder"/out{1,2,3,4}
check 'four at once' '[[ $(grep -c . <<<"$output") -eq 4 && $(grep -c "cmake --build" "$calls") -eq 1 ]]'

setup
run "$tree/muster" plain
touch "$folder/absent-libopenmpi-dev"
: >"$calls"
run "$tree/muster" --with mpi run x
check 'with mpi' '[[ $output == "muster-mpi ran in / with run x" && $status -eq 5 ]]'
check 'with mpi' '[[ $(<"$calls") == *"install --no-install-recommends libopenmpi-dev"*MUSTER_MPI=ON*"--target muster-mpi"* ]]'
rm "$folder/absent-libopenmpi-dev"
: >"$calls"
run "$tree/muster" --with mpi again
check 'with mpi again' '[[ $output == "muster-mpi ran in / with again" && -z $errors && ! -s $calls ]]'
touch -d '1 minute' "$tree/src/a.cc"
run "$tree/muster"
check 'mpi stays configured' '[[ $(<"$calls") == *"--target muster"* && $(<"$calls") != *--preset* && $output == "ran in / with " ]]'
run "$tree/muster" --with gpu run
check 'with something else' '[[ $status -eq 2 && $errors == "muster: --with gpu: want mpi" ]]'

setup
for i in 1 2 3 4; do (cd / && PATH="$bin:$PATH" "$tree/muster" --with mpi "$i" >"$folder/out$i" 2>/dev/null) & done
wait
run cat "$folder"/out{1,2,3,4}
check 'four ranks at once' '[[ $(grep -c "^muster-mpi ran" <<<"$output") -eq 4 && $(grep -c "cmake --build" "$calls") -eq 1 ]]'

setup
touch "$folder/absent-openmpi-bin"
run "$tree/test"
check 'tests have mpi' '[[ $(<"$calls") == *"install --no-install-recommends openmpi-bin"*MUSTER_MPI=ON* ]]'

setup
run "$tree/muster" plain
touch "$folder/absent-libcpp-httplib-dev"
for command in pki cloud edge client federate; do
  : >"$calls"
  run "$tree/muster" "$command" x
  check "$command" '[[ $output == "muster-net ran in / with $command x" && $status -eq 5 ]]'
  [[ $command == pki ]] || check "$command again" '[[ -z $errors && ! -s $calls ]]'
  [[ $command == pki ]] || continue
  check 'the network' '[[ $(<"$calls") == *"install --no-install-recommends libcpp-httplib-dev"*MUSTER_NET=ON*"--target muster-net"* ]]'
  check 'the network' '[[ $(<"$calls") != *MUSTER_MPI=ON* ]]'
  rm "$folder/absent-libcpp-httplib-dev"
done
run "$tree/muster" bench network --json
check 'bench network' '[[ $output == "muster-net ran in / with bench network --json" && -z $errors && ! -s $calls ]]'
run "$tree/muster" run pki
check 'a recipe of that name' '[[ $output == "ran in / with run pki" && -z $errors ]]'
: >"$calls"
run "$tree/muster" --with mpi run
check 'mpi after the network' '[[ $(<"$calls") == *"MUSTER_MPI=ON -D MUSTER_NET=ON"*"--target muster-mpi"* ]]'

setup
touch "$folder/absent-libgrpc++-dev"
run "$tree/test"
check 'tests have the network' '[[ $(<"$calls") == *"install --no-install-recommends libgrpc++-dev"*MUSTER_NET=ON* ]]'
: >"$calls"
run "$tree/muster" plain
check 'fresh after the tests' '[[ $output == "ran in / with plain" && ! -s $calls ]]'
run "$tree/muster" --with mpi run
check 'mpi fresh after the tests' '[[ $output == "muster-mpi ran in / with run" && ! -s $calls ]]'
run "$tree/muster" cloud
check 'the network fresh after the tests' '[[ $output == "muster-net ran in / with cloud" && ! -s $calls ]]'

exit "$failures"
