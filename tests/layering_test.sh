#!/usr/bin/env bash
# layering.sh must pass a sound tree, and must fail on each fault it claims to find, naming the place.
set -u
layering=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/layering.sh
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
failures=0

sound_tree() {
  rm -rf -- "$folder/tree"
  mkdir -p "$folder/tree"/{src,tests}/{base,data}
  touch "$folder/tree"/{src,tests}/{base,data}/CMakeLists.txt
  printf '#include "base/a.h"\n#include <vector>\n' >"$folder/tree/src/base/a.cc"
  printf '// Reads.\n#include "base/a.h"\n#include "data/b.h"\n' >"$folder/tree/src/data/b.cc"
}

# expect STATUS TEXT: the checker ends with STATUS and says TEXT.
expect() {
  local output status
  output=$("$layering" "$folder/tree" base data 2>&1)
  status=$?
  if [[ $status -ne $1 || $output != *"$2"* ]]; then
    printf 'want status %s and "%s", got status %s and:\n%s\n' "$1" "$2" "$status" "$output"
    failures=1
  fi
}

sound_tree
expect 0 ''

sound_tree
printf '\n#include "data/b.h"\n' >>"$folder/tree/src/base/a.cc"
expect 1 'src/base/a.cc:4: base includes "data/b.h"'

sound_tree
printf '#include "b.h"\n' >"$folder/tree/src/data/c.cc"
expect 1 'src/data/c.cc:1: includes "b.h"'

sound_tree
mkdir "$folder/tree/src/extra"
expect 1 'src/extra:1: not a stage'

sound_tree
rm -r "$folder/tree/tests/data"
expect 1 'src/data/CMakeLists.txt:1: the stage has no tests'

sound_tree
mkdir "$folder/tree/tests/extra"
expect 1 'tests/extra:1: mirrors nothing'

for name in utils.h string_utils.cc common.h impl/x.h model_impl.h helpers.cc manager.h; do
  sound_tree
  mkdir -p "$(dirname "$folder/tree/src/data/$name")"
  touch "$folder/tree/src/data/$name"
  expect 1 "src/data/${name%/x.h}:1: the name says nothing"
done
sound_tree
touch "$folder/tree/src/data/simple.h" "$folder/tree/src/data/commonality.h"
expect 0 ''

sound_tree
printf 'struct A;\nstruct A {\n};\nstruct A::B {\n};\ntemplate <>\nstruct A<int> {\n};\n' >"$folder/tree/src/base/a.h"
printf 'class A;\nclass C final : public A {\n};\n' >"$folder/tree/tests/data/c.h"
printf 'namespace {\nstruct A {\n};\n}  // namespace\nstruct A::D {};\n' >"$folder/tree/src/data/c.cc"
expect 0 ''
for definition in 'struct A {' 'struct A {};' 'class [[nodiscard]] A {' 'class A final : public B {' 'enum class A {' 'enum A : int {' 'class A :'; do
  printf '%s\n' "$definition" >"$folder/tree/tests/base/d.h"
  expect 1 'tests/base/d.h:1: A is defined in src/base/a.h:2, too'
  rm "$folder/tree/tests/base/d.h"
done
printf 'struct E {\n};\n' >>"$folder/tree/src/data/c.cc"
expect 1 'src/data/c.cc:6: E is defined in a .cc'

sound_tree
printf '\n// TO''DO: later\n' >>"$folder/tree/src/base/a.cc"
expect 1 'src/base/a.cc:4: unfinished work'

sound_tree
printf 'see /ho''me/someone/notes\n' >"$folder/tree/README.md"
expect 1 'README.md:1: unfinished work or a path of one machine'

exit "$failures"
