#!/usr/bin/env bash
# What CI checks beyond the README's test command: formatting, a clang build,
# two sanitizer builds, a bounded fuzz run, and the Python package on the three
# JAX versions it serves. Ends in a line that counts the steps. A step that is
# `watch`ed is cut off after its seconds, and when CI has taken 50 minutes, and does
# not decide: it says what failed.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
passed=0
failed=0
watched=0
step() { # step NAME COMMAND...: runs it, counts it, says how long it took
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  if "$@"; then
    passed=$((passed + 1))
    echo "== $name: passed in $((SECONDS - start)) s"
  else
    failed=$((failed + 1))
    echo "== $name: FAILED after $((SECONDS - start)) s"
  fi
}
begun=${SHARDTYPE_CI_BEGUN:-$(date +%s)} # Seconds since 1970.
watch() { # watch SECONDS NAME: the same, bounded, and without deciding
  local before=$failed left=$((begun + 3000 - $(date +%s)))
  if [ "$left" -lt 60 ]; then
    echo "== $2: skipped, the machine took too long for the steps before it"
    return
  fi
  export -f "$2"
  step "$2" timeout "$((left < $1 ? left : $1))" bash -c "$2"
  watched=$((watched + failed - before))
  failed=$before
}

format() {
  git ls-files '*.cpp' '*.h' | xargs clang-format-19 --dry-run -Werror
}
clang_build() {
  CC=clang-19 CXX=clang++-19 bash tools/dev/build.sh build-clang \
    -DSHARDTYPE_WERROR=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0 &&
    ctest --test-dir build-clang --output-on-failure -j "$(nproc)" -L quick
}
sanitizers() {
  # LLVM's arenas are poisoned by its heads, which we compile with ASan, and not
  # unpoisoned by its library, which Debian did not.
  export ASAN_OPTIONS=allow_user_poisoning=0
  CC=clang-19 CXX=clang++-19 bash tools/dev/build.sh build-asan \
    -DSHARDTYPE_SANITIZE=address,undefined -DSHARDTYPE_FUZZ=ON \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 &&
    ctest --test-dir build-asan --output-on-failure -j "$(nproc)" -L quick
}
thread_sanitizer() { # Of what has threads: the scheduler's tests.
  CC=clang-19 CXX=clang++-19 TARGETS="unit_Interp unit_Plain unit_Stress" \
    bash tools/dev/build.sh build-tsan -DSHARDTYPE_SANITIZE=thread \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0 &&
    build-tsan/test/unit/unit_Interp &&
    build-tsan/test/unit/unit_Stress '~[many]' &&
    build-tsan/test/unit/unit_Plain 'made-up programs*'
}
fuzz() { bash tools/dev/fuzz.sh 30; }
python_package() { SHARDTYPE_WHEEL_BUILD=1 bash tools/dev/test_python.sh; }

step packages bash tools/dev/setup.sh clang-19 clang-format-19 \
  libclang-rt-19-dev python3-venv
step format format
step clang clang_build
watch 540 thread_sanitizer
watch 700 sanitizers
watch 100 fuzz
watch 900 python_package
echo "CI steps beyond the tests: $passed passed, $failed failed," \
  "$watched failed of those that do not decide"
[ "$failed" -eq 0 ]
