#!/usr/bin/env bash
# Sets up, builds and type-checks the bundled transformer's loss under a mesh,
# then with one more spec, under which it has no type: the README's first command.
# With arguments, one check with these: example.sh --mesh data=8 --in 'tokens=P(data)'.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
bash tools/dev/setup.sh
TARGETS=shardtype bash tools/dev/build.sh build
program=test/corpus/programs/transformer_loss.json
[ $# -eq 0 ] || exec build/bin/shardtype check "$program" "$@"

check() {
  printf '$ shardtype check %s' "$program"
  printf " '%s'" "$@" | sed "s/'\(--[a-z]*\|[a-z0-9,=]*\)'/\1/g"
  printf '\n'
  build/bin/shardtype check "$program" "$@"
}
specs=(--mesh data=4,model=2
  --in 'params/layers/*/mlp/up=P(None,model)'
  --in 'params/layers/*/mlp/b=P(model)')
check "${specs[@]}"
echo
status=0
check "${specs[@]}" --in 'params/layers/*/mlp/down=P(model,None)' || status=$?
[ "$status" -eq 1 ] # The errors are the point; anything else is a failure.
