#!/usr/bin/env bash
# Sets up, builds and type-checks the bundled transformer: the README's first
# command. Further arguments go to `shardtype check`.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
bash tools/dev/setup.sh
TARGETS=shardtype bash tools/dev/build.sh build
[ $# -gt 0 ] || set -- --mesh data=4,model=2 --in 'tokens=P(data,None)'
exec build/bin/shardtype check test/corpus/programs/transformer_loss.json "$@"
