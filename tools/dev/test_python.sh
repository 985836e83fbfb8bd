#!/usr/bin/env bash
# Tests the Python package on each JAX version it serves, and asks the reference
# version again for recorded verdicts: all but the matrix, which takes an hour
# (record.py --check). A version whose Python is not on this machine is skipped,
# and said to be.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
reference=0.12.0.1
venvs=${SHARDTYPE_VENVS:-${XDG_CACHE_HOME:-$HOME/.cache}/shardtype}
failed=0

find_python() { # find_python 3.13: one that runs; a shim of pyenv's need not
  local found
  for found in "$(command -v "python$1")" \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1"*/bin/python; do
    "$found" -c "" 2>/dev/null && echo "$found" && return
  done
}

venv() { # venv JAX PYTHON: prints its python; empty: not to be had
  local folder=$venvs/jax-$1 base
  if ! "$folder/bin/python" -c "import jax, pytest" 2>/dev/null; then
    base=$(find_python "$2")
    [ -n "$base" ] || return 0
    mkdir -p "$venvs"
    rm -rf "$folder"
    "$base" -m venv "$folder" >&2 &&
      "$folder/bin/pip" install -q "jax==$1" numpy pytest >&2 || return 0
    # Libraries whose gradients are tested, and the checker of type hints.
    [ "$1" != "$reference" ] ||
      "$folder/bin/pip" install -q flax optax equinox mypy >&2 ||
      echo "python: flax, optax, equinox or mypy is not to be had" >&2
  fi
  echo "$folder/bin/python"
}

for pair in 0.12.0.1:3.13 0.11.1:3.12 0.10.2:3.11; do
  jax=${pair%%:*} version=${pair##*:}
  python=$(venv "$jax" "$version")
  if [ -z "$python" ]; then
    echo "python: JAX $jax skipped: Python $version or the package is not here"
    continue
  fi
  echo "python: JAX $jax"
  PYTHONPATH=python "$python" -m pytest -q python/tests || failed=1
  if [ "$jax" = "$reference" ]; then
    # A program that is built already is packed as it is, for another build takes
    # long; SHARDTYPE_WHEEL_BUILD=1 (in CI) lets the wheel compile its own.
    prebuilt=$root/build/bin/shardtype
    [ -x "$prebuilt" ] && [ -z "${SHARDTYPE_WHEEL_BUILD:-}" ] || prebuilt=
    SHARDTYPE_PREBUILT=${SHARDTYPE_PREBUILT:-$prebuilt} \
      bash tools/dev/test_wheel.sh "$(find_python "$version")" "$jax" || failed=1
    PYTHONPATH=python "$python" test/oracle/record.py --check --no-matrix || failed=1
    PYTHONPATH=python "$python" tools/dev/export_corpus.py --check || failed=1
    PYTHONPATH=python "$python" tools/dev/export_record.py --check || failed=1
    if "$python" -c "import mypy" 2>/dev/null; then
      (cd python && timeout 300 "$python" -m mypy --config-file pyproject.toml) || failed=1
    else
      echo "python: type hints: SKIPPED: no mypy beside JAX $jax"
    fi
  fi
done
exit $failed
