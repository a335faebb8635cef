#!/usr/bin/env bash
# roots.sh FOLDER: makes what wheels are tried in, where it is missing. Needs root, mmdebstrap, qemu-aarch64-static and gcc
# for both machines (Debian's gcc and gcc-aarch64-linux-gnu). CPYTHON and ZLIB are unpacked sources of CPython 3.14 and of zlib,
# for example of Debian's source packages.
#   FOLDER/glibc        Debian 11 (glibc 2.31) with CPython 3.14 and 3.14t
#   FOLDER/musl         musl and nothing else, with CPython 3.14 and 3.14t
#   FOLDER/arm64        Debian 13 for aarch64 with its Python 3.13 and CPython 3.14t; qemu runs it
#   FOLDER/arm64-musl   as FOLDER/musl, for aarch64; qemu runs it
# This machine gets no package: Spark's Snappy fails on machines where musl is installed.
set -eu
# These Pythons are for trials alone. They compile faster this way.
export OPT="-O1 -DNDEBUG"
folder=$(realpath -m "$1")
source=$(realpath "${CPYTHON:?set CPYTHON to the unpacked source of CPython 3.14}")
zlib=$(realpath "${ZLIB:?set ZLIB to the unpacked source of zlib}")
mkdir -p "$folder"

if [ ! -e "$folder/glibc/opt/py314/bin/python3.14" ]; then
  echo "== Debian 11 with CPython 3.14 and 3.14t (about 10 minutes)"
  [ -e "$folder/glibc/bin/sh" ] || mmdebstrap --quiet --variant=minbase --include=gcc,make,libc6-dev,zlib1g-dev,libffi-dev bullseye "$folder/glibc"
  mkdir -p "$folder/glibc/src"
  cp -a "$source" "$folder/glibc/src/cpython"
  chroot "$folder/glibc" /bin/bash -eu <<'INSIDE'
# installed PREFIX OPTION...: CPython, built in the working directory.
installed() {
  local prefix=$1
  shift
  /src/cpython/configure -q --prefix="$prefix" --without-ensurepip --disable-test-modules "$@" >configure.log 2>&1
  make -s -j2 >make.log 2>&1
  make -s install >>make.log 2>&1
}
mkdir -p /src/t /src/g
cd /src/t && installed /opt/py314t --disable-gil
cd /src/g && installed /opt/py314
rm -rf /src
INSIDE
fi

# extracted FOLDER SUITE ARCHITECTURE PACKAGE: a package and what it depends on, only unpacked.
extracted() {
  mmdebstrap --quiet --variant=extract --arch="$3" --include="$4" "$2" "$1"
  # Such packages leave these links out.
  for name in bin lib sbin; do [ -e "$1/$name" ] || ln -s "usr/$name" "$1/$name"; done
}

# pythons ROOT HOST BUILD NAME...: CPython for HOST, built by $CC in the folder BUILD. The names are `py314` and `py314t`.
pythons() {
  local root=$1 host=$2 build=$3 name
  shift 3
  # zlib for `zipimport` and pip; everything else is left out, also what this machine has.
  export PKG_CONFIG_LIBDIR=$build/none
  cp -a "$zlib" "$build/zlib"
  (cd "$build/zlib" && CHOST=$host CFLAGS="-O2 -fPIC" ./configure --static --prefix="$build/installed" && make -s install) >"$build/zlib.log" 2>&1
  for name in "$@"; do
    local options=()
    [ "$name" = py314 ] || options=(--disable-gil)
    mkdir "$build/$name"
    cd "$build/$name"
    ZLIB_CFLAGS="-I$build/installed/include" ZLIB_LIBS="-L$build/installed/lib -lz" "$source/configure" -q --prefix="/opt/$name" \
      --host="$host" --build="$(gcc -dumpmachine)" --with-build-python="$folder/glibc/opt/py314/bin/python3.14" \
      --without-ensurepip --disable-test-modules ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no ac_cv_buggy_getaddrinfo=no \
      ac_cv_libatomic_needed=no "${options[@]}" >configure.log 2>&1
    make -s -j2 >make.log 2>&1
    make -s install DESTDIR="$root" >>make.log 2>&1
  done
  cd "$folder"
  rm -rf "$build"
}

# musl_root FOLDER ARCHITECTURE MACHINE: musl's library of Debian, and the Pythons that gcc builds for it.
musl_root() {
  local build host=$3-linux-musl options=
  # The library of gcc for atomics asks for a function of glibc.
  [ "$3" != aarch64 ] || options=-mno-outline-atomics
  build=$(mktemp -d)
  extracted "$build/musl" trixie "$2" musl-dev,linux-libc-dev
  rm -rf "$1"
  extracted "$1" trixie "$2" musl
  ln -sf "ld-musl-$3.so.1" "$1/lib/libc.musl-$3.so.1"
  mkdir -p "$1/tmp" "$build/kernel"
  # The headers of the kernel are Debian's; those of musl lack them.
  ln -s "$build/musl/usr/include/"{linux,asm-generic} "$build/musl/usr/include/$3-linux-gnu/asm" "$build/kernel/"
  sed "s| /usr/include/| $build/musl/usr/include/|g; s|/usr/lib/$host|$build/musl/usr/lib/$host|g" \
    "$build/musl/usr/lib/$host/musl-gcc.specs" >"$build/specs"
  cat >"$build/cc" <<CC
#!/bin/sh
[ "\$1" != --print-multiarch ] || { echo $host; exit; }
exec $3-linux-gnu-gcc -specs=$build/specs -isystem $build/kernel $options "\$@"
CC
  chmod +x "$build/cc"
  CC=$build/cc AR="$3-linux-gnu-ar" RANLIB="$3-linux-gnu-ranlib" pythons "$1" "$host" "$build" py314 py314t
}

if [ ! -e "$folder/musl/opt/py314t/bin/python3.14t" ]; then
  echo "== musl with CPython 3.14 and 3.14t (about 10 minutes)"
  musl_root "$folder/musl" amd64 x86_64
fi
if [ ! -e "$folder/arm64/opt/py314t/bin/python3.14t" ]; then
  echo "== Debian 13 for aarch64, with CPython 3.14t (about 5 minutes)"
  rm -rf "$folder/arm64"
  extracted "$folder/arm64" trixie arm64 python3,libstdc++6
  CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar RANLIB=aarch64-linux-gnu-ranlib \
    pythons "$folder/arm64" aarch64-linux-gnu "$(mktemp -d)" py314t
fi
if [ ! -e "$folder/arm64-musl/opt/py314t/bin/python3.14t" ]; then
  echo "== musl for aarch64 with CPython 3.14 and 3.14t (about 10 minutes)"
  musl_root "$folder/arm64-musl" arm64 aarch64
fi
for name in arm64 arm64-musl; do cp "$(command -v qemu-aarch64-static)" "$folder/$name/qemu-aarch64-static"; done
