#!/usr/bin/env bash
# layering.sh ROOT STAGE...: the shape of the tree that no compiler checks. STAGE... is the dependency order.
# Prints one line per fault, as FILE:LINE: what is wrong; the exit status is 1 if there is any.
set -u
export LC_ALL=C
cd -- "$1" || exit 1
shift
order=("$@")

faults=0
fault() {
  printf '%s\n' "$1"
  faults=1
}

declare -A position
for i in "${!order[@]}"; do position[${order[i]}]=$i; done

# Includes point to the own stage or an earlier one, and always start with the stage's name.
while IFS=: read -r file line text; do
  stage=${file#src/}
  stage=${stage%%/*}
  included=${text#*\"}
  included=${included%\"*}
  target=${included%%/*}
  if [[ $included != */* || -z ${position[$target]+known} ]]; then
    fault "$file:$line: includes \"$included\", want a path that starts with a stage: ${order[*]}"
  elif [[ -n ${position[$stage]+known} ]] && ((position[$target] > position[$stage])); then
    fault "$file:$line: $stage includes \"$included\", but $target comes after $stage"
  fi
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' src --include='*.h' --include='*.cc')

# Folders: src holds stages and nothing else, and what is built is tested.
for folder in src/*/; do
  stage=$(basename "$folder")
  [[ -n ${position[$stage]+known} ]] || fault "src/$stage:1: not a stage: ${order[*]}"
  if [[ -e src/$stage/CMakeLists.txt && ! -e tests/$stage/CMakeLists.txt ]]; then
    fault "src/$stage/CMakeLists.txt:1: the stage has no tests, want tests/$stage/CMakeLists.txt"
  fi
done
for folder in tests/*/; do
  name=$(basename "$folder")
  [[ $name == install || -d src/$name ]] || fault "tests/$name:1: mirrors nothing, there is no src/$name"
done

# A file is named for its one idea.
while read -r path; do
  fault "$path:1: the name says nothing, want the one idea the file holds"
done < <(find src | grep -E '(^|[/_])(utils?|common|helpers?|managers?|impl)([_.][^/]*)?$')

# A type has one definition. The linker keeps one copy of the members of two that share a name, and the other's objects
# break it. So names are given once over all headers, and what only one .cc knows is in its unnamed namespace.
while read -r message; do
  fault "$message"
done < <(find src tests -name '*.h' -o -name '*.cc' | sort | xargs -r awk '
  FNR == 1 || /^}  \/\/ namespace$/ { unnamed = 0 }
  /^namespace \{/ { unnamed = 1 }
  !unnamed && /^(template <.*> )?(struct|class|union|enum) / && !/^[^{]*;/ {
    name = $0
    sub(/^(template <.*> )?(struct|class|union|enum class|enum) (\[\[[a-z]*\]\] )?/, "", name)
    if (name !~ /^[A-Za-z_0-9]+( final)?( :| \{|:?$)/) next  # a member of another type, or a specialisation
    sub(/[^A-Za-z_0-9].*/, "", name)
    place = FILENAME ":" FNR
    if (FILENAME ~ /\.cc$/) {
      print place ": " name " is defined in a .cc, want it in an unnamed namespace"
    } else if (name in first) {
      print place ": " name " is defined in " first[name] ", too; want another name"
    } else {
      first[name] = place
    }
  }')

# Text that has no place in the repository: unfinished work, and paths of somebody's machine.
# The patterns are split so that they do not find themselves.
readonly unfinished='\<(TO''DO|FIX''ME)\>'
readonly machine_path='(^|[^[:alnum:]_.~/-])/(ho''me|ro''ot|wo''rk|Use''rs|tmp/w''t)/'
existing=()
for path in *; do
  case $path in build* | runs | data | LICENSE) ;; *) existing+=("$path") ;; esac
done
for path in .ci .clang-format .clang-tidy .gitignore; do [[ -e $path ]] && existing+=("$path"); done
while IFS=: read -r file line text; do
  fault "$file:$line: unfinished work or a path of one machine: $text"
done < <(grep -rnIE -e "$unfinished" -e "$machine_path" -- "${existing[@]}")

exit "$faults"
