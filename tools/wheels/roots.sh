#!/usr/bin/env bash
# roots.sh FOLDER: makes what wheels are tried in, where it is missing. Needs root, mmdebstrap, musl-gcc, qemu-aarch64-static
# and CPYTHON and ZLIB, unpacked sources of CPython 3.14 and of zlib (for example of Debian's source packages).
#   FOLDER/glibc   Debian 11 (glibc 2.31) with CPython 3.14 and 3.14t
#   FOLDER/musl    musl and nothing else, with CPython 3.14
# A machine with musl can't run Spark: its Snappy then looks for musl's library. Remove the package afterwards.
#   FOLDER/arm64   Debian 13 for aarch64 with its Python 3.13; qemu runs it
set -eu
folder=$(realpath -m "$1")
source=$(realpath "${CPYTHON:?set CPYTHON to the unpacked source of CPython 3.14}")
mkdir -p "$folder"

# python_into PREFIX OPTION...: configures in the working directory and installs.
python_into() {
  local prefix=$1
  shift
  "$source/configure" -q --prefix="$prefix" --without-ensurepip --disable-test-modules "$@" >/dev/null
  make -s -j2 >make.log 2>&1
  make -s install DESTDIR="${INTO:-}" >>make.log 2>&1
}

if [ ! -e "$folder/glibc/opt/py314/bin/python3.14" ]; then
  echo "== Debian 11 with CPython 3.14 and 3.14t (about 10 minutes)"
  [ -e "$folder/glibc/bin/sh" ] || mmdebstrap --quiet --variant=minbase --include=gcc,make,libc6-dev,zlib1g-dev,libffi-dev bullseye "$folder/glibc"
  mkdir -p "$folder/glibc/src"
  cp -a "$source" "$folder/glibc/src/cpython"
  { declare -f python_into; cat <<'INSIDE'; } | chroot "$folder/glibc" /bin/bash -eu
source=/src/cpython
mkdir -p /src/t /src/g
cd /src/t && python_into /opt/py314t --disable-gil
cd /src/g && python_into /opt/py314
rm -rf /src
INSIDE
fi

if [ ! -e "$folder/musl/opt/py314/bin/python3.14" ]; then
  echo "== musl with CPython 3.14 (about 5 minutes)"
  build=$(mktemp -d)
  mkdir -p "$folder/musl/lib" "$folder/musl/opt" "$folder/musl/tmp"
  cp -L "$(musl-gcc -print-file-name=libc.so)" "$folder/musl/lib/ld-musl-x86_64.so.1"
  ln -sf ld-musl-x86_64.so.1 "$folder/musl/lib/libc.musl-x86_64.so.1"
  # zlib for `zipimport` and pip; everything else is left out.
  cp -a "${ZLIB:?set ZLIB to the unpacked source of zlib}" "$build/zlib"
  (cd "$build/zlib" && CC=musl-gcc CFLAGS="-O2 -fPIC" ./configure --static --prefix="$build/installed" >/dev/null && make -s install >/dev/null)
  mkdir "$build/python"
  cd "$build/python"
  # Headers of the kernel are those of the host; musl-gcc leaves them out.
  mkdir "$build/kernel"
  ln -s /usr/include/linux /usr/include/asm-generic "/usr/include/$(gcc -print-multiarch)/asm" "$build/kernel/"
  export CC="musl-gcc -I$build/kernel" ZLIB_CFLAGS="-I$build/installed/include" ZLIB_LIBS="-L$build/installed/lib -lz"
  INTO=$folder/musl python_into /opt/py314
  rm -rf "$build"
fi

if [ ! -e "$folder/arm64/usr/bin/python3" ]; then
  echo "== Debian 13 for aarch64"
  mmdebstrap --quiet --variant=extract --arch=arm64 --include=python3 trixie "$folder/arm64"
  # Packages that are only unpacked leave these links out.
  for name in bin lib sbin; do [ -e "$folder/arm64/$name" ] || ln -s "usr/$name" "$folder/arm64/$name"; done
fi
cp "$(command -v qemu-aarch64-static)" "$folder/arm64/qemu-aarch64-static"
