#!/usr/bin/env bash
# Installs the Debian packages of packages.txt that are missing. Extra package
# names may be given. Prints nothing when nothing is to do.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
missing=()
for package in $(grep -v '^#' "$here/packages.txt") "$@"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
    grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "setup: installing ${missing[*]}"
run=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "setup: these packages are needed; install them as root:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 2
  }
  run=(sudo)
fi
"${run[@]}" apt-get update -qq
"${run[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
