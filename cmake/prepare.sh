# Sourced by ./muster and ./test, which set `root` (of the repository) and `me` (their own name): everything between a
# bare Debian or Ubuntu and a finished build. Speaks on stderr only, for stdout belongs to the program.

build=$root/build/release
program=$build/src/app/muster
# Holds the root it was built in; its time is when the last good build of the program began.
stamp=$build/.built
mpi=OFF
net=OFF

# From here on the program is the one with the OpenMPI backend, built beside the plain one.
use_mpi() {
  mpi=ON
  program=$build/src/app/muster-mpi
  stamp=$build/.built-mpi
}

# Likewise the one with the network.
use_net() {
  net=ON
  program=$build/src/app/muster-net
  stamp=$build/.built-net
}

say() { printf '%s: %s\n' "$me" "$*" >&2; }

die() {
  say "$*"
  exit 1
}

# Whether the program is newer than everything it is made of. Folders count too: their time tells of files that went.
is_fresh() {
  local built_in
  [[ -x $program && -r $stamp ]] && read -r built_in <"$stamp" && [[ $built_in == "$root" ]] || return 1
  [[ -z $(cd -- "$root" && find src proto cmake recipes CMakeLists.txt CMakePresets.json -newer "$stamp" -print -quit 2>/dev/null) ]]
}

# The packages of the given scopes that are not installed, one a line.
missing_packages() {
  local name scope _ status
  local -a wanted=()
  local -A installed=()
  while read -r name scope _; do
    [[ $name != '#'* && " $* " == *" $scope "* ]] && wanted+=("$name")
  done <"$root/cmake/packages.txt"
  while read -r status name; do
    [[ $status == installed ]] && installed[$name]=yes
  done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null)
  for name in "${wanted[@]}"; do [[ -n ${installed[$name]-} ]] || printf '%s\n' "$name"; done
}

# Puts the packages in place with "${as_root[@]}" apt-get. Lists of packages are fetched only if without them it fails.
apt_install() {
  local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -qq -y -o DPkg::Lock::Timeout=300)
  "${apt[@]}" install --no-install-recommends "$@" </dev/null >"$log" 2>&1 && return
  "${apt[@]}" update </dev/null >"$log" 2>&1
  "${apt[@]}" install --no-install-recommends "$@" </dev/null >"$log" 2>&1
}

install_packages() {
  # Elsewhere than on Debian and its kin CMake tells what it does not find.
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || return 0
  local -a missing optional as_root=()
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} > 0)); then
    if (($(id -u) != 0)); then
      command -v sudo >/dev/null || die "these packages are missing, install them as root: apt-get install ${missing[*]}"
      as_root=(sudo)
    fi
    say "installing ${missing[*]}"
    apt_install "${missing[@]}" ||
      die "cannot install ${missing[*]}: $(grep -m 1 '^E:' "$log" || echo 'apt-get failed'); install them yourself, then try again"
  fi

  # One try, ever, and never a question: nothing stops without these.
  [[ ! -e $root/build/.optional-tried ]] || return 0
  touch -- "$root/build/.optional-tried"
  mapfile -t optional < <(missing_packages optional)
  ((${#optional[@]} > 0)) || return 0
  (($(id -u) == 0)) || as_root=(sudo -n)
  say "installing ${optional[*]} (optional)"
  apt_install "${optional[@]}" || say "cannot install ${optional[*]}, going on without"
}

cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt" 2>/dev/null; }

# configure TESTS (ON or OFF). Neither they nor MPI nor the network are ever switched off again: that would delete what is built of them.
configure() {
  # A tree that was moved or copied: CMake refuses another tree's cache.
  [[ ! -e $build/CMakeCache.txt || $(cached CMAKE_HOME_DIRECTORY) == "$root" ]] || rm -rf -- "$build"
  local tests=$1
  [[ $(cached MUSTER_BUILD_TESTS) == ON ]] && tests=ON
  [[ $(cached MUSTER_MPI) == ON ]] && mpi=ON
  [[ $(cached MUSTER_NET) == ON ]] && net=ON
  if [[ -e $build/build.ninja && ! $root/CMakePresets.json -nt $build/build.ninja &&
    $(cached MUSTER_BUILD_TESTS) == "$tests" && $(cached MUSTER_MPI) == "$mpi" && $(cached MUSTER_NET) == "$net" ]]; then
    return
  fi
  say "configuring"
  # Warnings stop our own CI, nobody else.
  local -a strict=()
  [[ ${CI-} != true ]] || strict=(-D MUSTER_WERROR=ON)
  (cd -- "$root" && cmake --preset release -D MUSTER_BUILD_TESTS="$tests" -D MUSTER_MPI="$mpi" -D MUSTER_NET="$net" \
    "${strict[@]}") >"$log" 2>&1 && return
  cat -- "$log" >&2
  die "cannot configure the build"
}

compile() {
  if [[ -e $stamp ]]; then say "building"; else say "building (the first time takes a few minutes)"; fi
  if [[ -t 2 ]]; then
    cmake --build "$build" --target "$1" >&2 && return
  else
    cmake --build "$build" --target "$1" >"$log" 2>&1 && return
    grep -vE '^\[[0-9]+/[0-9]+\] ' "$log" >&2
  fi
  die "the build failed"
}

# prepare TESTS TARGET: installs, configures, builds. One at a time; whoever waited looks again before building.
prepare() {
  mkdir -p -- "$root/build" && exec 9>"$root/build/.lock" || die "cannot write to $root/build"
  flock -n 9 || { say "waiting for another build to end" && flock 9; }
  if [[ $1 == ON ]] || ! is_fresh; then
    log=$(mktemp)
    trap 'rm -f -- "$log"' EXIT
    local -a scopes=(build)
    [[ $1 == OFF ]] || scopes+=(tests)
    [[ $mpi == OFF ]] || scopes+=(mpi)
    [[ $net == OFF ]] || scopes+=(net)
    install_packages "${scopes[@]}"
    # What runs below must not keep the lock alive when it outlives this script (compiler caches do).
    configure "$1" 9>&-
    printf '%s\n' "$root" >"$build/.building"
    compile "$2" 9>&-
    if [[ $2 == all ]]; then
      local other
      for other in .built{,-mpi,-net}; do cp -p -- "$build/.building" "$build/$other"; done
    fi
    mv -f -- "$build/.building" "$stamp"
    rm -f -- "$log"
    trap - EXIT
  fi
  exec 9>&-
}
