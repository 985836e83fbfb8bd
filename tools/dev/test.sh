#!/usr/bin/env bash
# Sets up, builds and passes the tests: the README's second command. Everything
# that needs JAX runs where JAX is found and says so; recorded verdicts stand in
# for it elsewhere.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
bash tools/dev/setup.sh
bash tools/dev/build.sh build -DSHARDTYPE_WERROR=ON
ctest --test-dir build --output-on-failure -j "$(nproc)" "$@"
