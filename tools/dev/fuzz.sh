#!/usr/bin/env bash
# A bounded fuzz run over both formats: fuzz.sh [SECONDS] [FOLDER OF AN ASAN BUILD]
# Seeds are the recorded programs and the test texts. A finding leaves its input
# in the build folder and ends with an error.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:-60}
export ASAN_OPTIONS=allow_user_poisoning=0 # See ci_extra.sh.
folder=${2:-$root/build-asan}
cd "$root"
CC=clang-19 CXX=clang++-19 TARGETS=fuzz_program bash tools/dev/build.sh \
  "$folder" -DSHARDTYPE_SANITIZE=address,undefined -DSHARDTYPE_FUZZ=ON \
  -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1
seeds=$folder/fuzz-seeds
found=$folder/fuzz-found
rm -rf "$seeds"
mkdir -p "$seeds" "$found"
find spec-examples/golden test/Check spec-examples test/Cases -size -12k \
  \( -name '*.json' -o -name '*.txt' -o -name '*.jaxpr' \) |
  while read -r file; do cp "$file" "$seeds/$(echo "$file" | tr / _)"; done
"$folder/test/fuzz/fuzz_program" -max_total_time="$seconds" -timeout=10 \
  -rss_limit_mb=2048 -max_len=16384 -artifact_prefix="$found/" \
  -print_final_stats=1 "$seeds" >"$folder/fuzz.log" 2>&1 || {
  tail -40 "$folder/fuzz.log"
  exit 1
}
grep -E 'stat::(number_of_executed_units|peak_rss_mb)' "$folder/fuzz.log"
