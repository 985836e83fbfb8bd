#!/usr/bin/env bash
# Configures and builds into a folder: build.sh FOLDER [cmake options...]
# Targets come from $TARGETS (all of them by default).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$1
shift
cmake -G Ninja -S "$root" -B "$folder" "$@" >"$folder.log" 2>&1 || {
  tail -30 "$folder.log" >&2
  exit 1
}
# shellcheck disable=SC2086
ninja -C "$folder" --quiet ${TARGETS:-}
