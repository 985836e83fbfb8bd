#!/usr/bin/env bash
# Builds the wheel of `pip install ./python`, installs it in a clean environment
# with JAX, and uses it there: the program, `python -m shardtype check`, and
# `shardtype.check`.
#
#   bash tools/dev/test_wheel.sh PYTHON JAX     python3.13 0.12.0.1
#
# SHARDTYPE_PREBUILT=PROGRAM packs that program; without it the wheel's build compiles
# one, as it does for a user, in build-wheel (in ten minutes; ccache and what is left
# from the last time make it shorter). Every step is bounded in time. Says SKIPPED, and
# succeeds, where the package registry cannot be reached.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=$1
jax=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

skip() {
  echo "wheel: SKIPPED: $1"
  exit 0
}

"$python" -m venv "$folder/build"
timeout 120 "$folder/build/bin/pip" install -q 'scikit-build-core>=0.10' ||
  skip "scikit-build-core is not to be had from the package registry"
start=$SECONDS
if [ -n "${SHARDTYPE_PREBUILT:-}" ]; then
  made="packed"
  options=(--no-build-isolation
    --config-settings="cmake.define.SHARDTYPE_PREBUILT=$SHARDTYPE_PREBUILT")
else
  made="compiled"
  options=(--config-settings="build-dir=$root/build-wheel")
  export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
fi
timeout 1800 "$folder/build/bin/pip" wheel -q --no-deps -w "$folder/wheels" \
  "${options[@]}" "$root/python"
echo "wheel: $made in $((SECONDS - start)) s"

"$python" -m venv "$folder/clean"
timeout 300 "$folder/clean/bin/pip" install -q "jax==$jax" ||
  skip "JAX $jax is not to be had from the package registry"
timeout 120 "$folder/clean/bin/pip" install -q "$folder"/wheels/shardtype-*.whl
mkdir "$folder/work"
cd "$folder/work"
cat > net.py <<'END'
import jax.numpy as jnp

def layer(x, w):
    return jnp.tanh(x @ w)
END
# What the wheel brings is what runs: no other program, no other modules.
export PATH="$folder/clean/bin:/usr/bin:/bin"
unset SHARDTYPE_PROGRAM PYTHONPATH
[ "$(command -v shardtype)" = "$folder/clean/bin/shardtype" ]
[ "$(shardtype --version)" = "shardtype 0.1.0" ]
net=(net:layer --args 'f32[8,4] f32[4,8]' --mesh data=4,model=2)
timeout 120 python -m shardtype check "${net[@]}" --in 'P(data,None)' > ok.txt
grep -q '^ok  layer.json: 2 equations' ok.txt
code=0
timeout 120 python -m shardtype check "${net[@]}" --in 'P(data,model)' --in 'P(model,None)' \
  > bad.txt || code=$?
[ "$code" = 1 ]
grep -q "jnp.matmul(x, w, out_sharding=P('data', None))" bad.txt
timeout 120 python - <<'END'
import jax, net, shardtype

x, w = jax.ShapeDtypeStruct((8, 4), "float32"), jax.ShapeDtypeStruct((4, 8), "float32")
report = shardtype.check(net.layer, x, w, mesh="data=4", in_specs={"x": "P(data)"})
assert report.ok and report.types["result"] == "f32[8@data,8]", str(report)
assert "site-packages" in shardtype.__file__
END
echo "wheel: $made, installed and used with JAX $jax"
