#!/bin/sh
# Make .venv with the chaos command and see to it that the programs it needs are there.
# As root, what is missing is installed through apt; otherwise one line says what to install.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
missing=""
need() { # need PROGRAM PACKAGE
  PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need ip iproute2
need iptables iptables
need unshare util-linux
need mvn maven
java_major() { java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1; }
major=$(java_major || true)
[ "${major:-0}" -ge 17 ] 2>/dev/null || missing="$missing openjdk-17-jre-headless"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  echo "setup: Python 3.11 or newer is needed; run: apt-get install python3 python3-venv" >&2; exit 254; }
"$PYTHON" -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
if [ -n "$missing" ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "setup: installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # Debian 13 and newer Ubuntus have 21, not 17.
    case "$missing" in *openjdk-17*) apt-cache show openjdk-17-jre-headless >/dev/null 2>&1 ||
      missing=$(echo "$missing" | sed 's/openjdk-17-jre-headless/default-jre-headless/') ;; esac
    # shellcheck disable=SC2086 - a list of packages
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
  else
    echo "setup: missing programs; run: sudo apt-get install$missing" >&2; exit 254
  fi
fi
[ -x .venv/bin/python ] || "$PYTHON" -m venv .venv
echo "setup: installing the Python packages into .venv"
.venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
touch .venv/.ready
