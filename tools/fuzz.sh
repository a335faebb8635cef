#!/usr/bin/env bash
# fuzz.sh [TARGET...]: runs fuzz targets, all without arguments, each for FUZZ_SECONDS (default 60) with a limit of memory
# (FUZZ_MEMORY_MB, default 2048). Needs neither cargo-fuzz nor a nightly compiler. What crashes is left in fuzz/artifacts.
set -eu
cd "$(dirname "$0")/../fuzz"
seconds=${FUZZ_SECONDS:-60}
memory=${FUZZ_MEMORY_MB:-2048}
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  for path in fuzz_targets/*.rs; do targets+=("$(basename "$path" .rs)"); done
fi
# As cargo-fuzz, with counters of edges and without a sanitizer.
export RUSTC_BOOTSTRAP=1
export RUSTFLAGS="${RUSTFLAGS:-} --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions -Ccodegen-units=1"
host=$(rustc -vV | sed -n 's/^host: //p')
bins=()
for target in "${targets[@]}"; do bins+=(--bin "$target"); done
cargo build --release --locked --target "$host" --target-dir target/fuzz "${bins[@]}"
"${PYTHON:-python3}" seeds.py
# A claim of terabytes must fail, not take the machine's memory.
ulimit -v $(((memory + 4096) * 1024))
ulimit -c 0
status=0
for target in "${targets[@]}"; do
  echo "== $target"
  mkdir -p "corpus/$target" "artifacts/$target" "seeds/$target"
  "target/fuzz/$host/release/$target" -max_total_time="$seconds" -rss_limit_mb="$memory" -timeout=20 -print_final_stats=1 \
    -artifact_prefix="artifacts/$target/" -max_len="${FUZZ_MAX_LEN:-4096}" "corpus/$target" "seeds/$target" \
    >"artifacts/$target.log" 2>&1 || { status=1; tail -40 "artifacts/$target.log"; }
  grep -E "stat::(number_of_executed_units|peak_rss_mb)" "artifacts/$target.log" || true
done
exit $status
