#!/usr/bin/env bash
# need.sh WHO THING...: says in one line each what WHO (a command) misses of python, rust, java, mvn, strace; exit 1 if any is
# missing.
set -eu
who=$1
shift
status=0
missing() {
  echo "$who: $1" >&2
  status=1
}
for thing in "$@"; do
  case $thing in
  python)
    python=${PYTHON:-$(command -v python3.11 || command -v python3 || true)}
    if [ -z "$python" ] || ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      missing "Python 3.11 or newer is missing: install it (Debian: apt install python3 python3-venv) or set PYTHON=/path/to/python"
    elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
      missing "Python's venv module is missing: install it (Debian: apt install python3-venv)"
    fi
    ;;
  rust)
    if ! command -v cargo >/dev/null; then
      missing "Rust is missing: install the toolchain with rustup (https://rustup.rs), then open a new shell"
    else
      wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
      found=$(rustc --version | cut -d' ' -f2)
      if [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -1)" != "$wanted" ]; then
        missing "Rust $wanted or newer is missing (found $found): run 'rustup update stable'"
      fi
    fi
    if ! command -v cc >/dev/null; then
      missing "a C compiler is missing (Rust links with it): install one (Debian: apt install gcc libc6-dev)"
    fi
    ;;
  java)
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    if ! command -v "$java" >/dev/null; then
      missing "Java 17 is missing (PySpark runs on it): install a JDK (Debian: apt install openjdk-17-jdk-headless) or set JAVA_HOME"
    else
      major=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1)
      if [ "${major:-0}" -lt 17 ]; then
        missing "Java 17 or newer is missing (found ${major:-none}): install a JDK (Debian: apt install openjdk-17-jdk-headless) or set JAVA_HOME"
      fi
    fi
    ;;
  strace)
    if ! command -v strace >/dev/null; then
      missing "strace is missing (it kills commits at their system calls): install it (Debian: apt install strace)"
    fi
    ;;
  mvn)
    if [ -z "${ICEBERG_SPARK_RUNTIME_JAR:-}" ] && ! command -v mvn >/dev/null; then
      missing "Maven is missing (it fetches Java Iceberg for the interop tests): install it (Debian: apt install maven) or set ICEBERG_SPARK_RUNTIME_JAR"
    fi
    ;;
  esac
done
exit $status
