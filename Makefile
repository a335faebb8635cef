# Frazil: one command per job. `make` or `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory --silent

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
SPARK_VERSIONS ?= 4.0.5 4.3.0
BENCH_CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/frazil-bench
# Half of the tests wait for Spark's planning, which is one thread: two processes keep two cores busy.
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest --timeout 450 -n $(WORKERS)
# A file's tests share what they set up. The order is that of conftest.py: short files last, so that no process is left alone for long.
BY_FILE := --dist loadfile --no-loadscope-reorder
# Tests run each line of Spark a few times: the second compiler doesn't pay off. The first alone has a code cache of 48 MB by default,
# which Spark fills after some minutes; it then drops and compiles methods over and over.
JVM_OF_TESTS := -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m
# The extension's profile; `.ci/run` names another one of Cargo.toml.
FRAZIL_PROFILE ?= release
RUST_SOURCES := $(shell find src -name '*.rs' 2>/dev/null)
# The extension lands in the source tree (editable install); without it the build stamp says nothing.
EXTENSION := $(wildcard python/frazil/_core*.so)

# pyo3 must see the virtual environment's Python, and the same one in each cargo call, or pyo3 is built again.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help
help: ## list the commands
	@echo "Frazil. Commands:"
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  make %-20s %s\n' "$$name" "$$text"; done

# ---------------------------------------------------------------- set-up

.PHONY: dev
dev: ## set up: virtual environment, pinned tools, release build of the extension
	@tools/need.sh "make dev" python rust
	@$(MAKE) $(VENV)/.built
	@echo "Ready: $(BIN)/python -c 'import frazil'"

$(VENV)/.tools: requirements/dev.txt
	@echo "== Python tools into $(VENV) (PySpark among them: 450 MB the first time)"
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@$(BIN)/python -m pip install -q -r requirements/dev.txt
	@touch $@

$(VENV)/.built: $(VENV)/.tools $(RUST_SOURCES) Cargo.toml Cargo.lock pyproject.toml $(if $(EXTENSION),,rebuild)
	@echo "== Building the extension ($(FRAZIL_PROFILE); about 7 minutes on 2 cores the first time)"
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile $(FRAZIL_PROFILE) --locked
	@touch $@

.PHONY: rebuild
rebuild:

$(VENV)/.docs: requirements/docs.txt $(VENV)/.tools
	@echo "== Documentation tools"
	@$(BIN)/python -m pip install -q -r requirements/docs.txt
	@touch $@

.venv-pypaimon/.tools: requirements/pypaimon.txt
	@echo "== Paimon's Python peers into .venv-pypaimon (they want an older pyarrow)"
	@test -x .venv-pypaimon/bin/python || "$(PYTHON)" -m venv .venv-pypaimon
	@.venv-pypaimon/bin/python -m pip install -q -r requirements/pypaimon.txt
	@touch $@

.PHONY: lock
lock: ## resolve requirements/*.in again into the pinned requirements/*.txt
	@tools/need.sh "make lock" python
	@for kind in dev docs bench pypaimon types wheels engines; do \
	  echo "== requirements/$$kind.txt"; \
	  rm -rf .venv-lock; "$(PYTHON)" -m venv .venv-lock; \
	  .venv-lock/bin/python -m pip install -q -r requirements/$$kind.in; \
	  { echo "# From $$kind.in, by 'make lock'."; .venv-lock/bin/python -m pip freeze; } > requirements/$$kind.txt; \
	done; rm -rf .venv-lock

# ---------------------------------------------------------------- see it work

.PHONY: demo
demo: ## the main job end to end, explained: write, upsert, compact, time travel, read; then the table in a terminal and on a page
	@tools/need.sh "make demo" python rust java
	@$(MAKE) $(VENV)/.built
	@$(BIN)/python demo/demo.py

# ---------------------------------------------------------------- check it

.PHONY: test
test: ## all tests: Rust, Python, interop with Java Iceberg, documentation examples
	@tools/need.sh "make test" python rust java mvn
	@$(MAKE) test-rust
	@$(MAKE) test-python
	@$(MAKE) test-interop
	@$(MAKE) test-docs

test-python test-interop test-docs: export SPARK_SUBMIT_OPTS := $(JVM_OF_TESTS)

.PHONY: test-rust
test-rust: ## the Rust core's tests
	@tools/need.sh "make test-rust" rust
	@echo "== Rust tests (the first run compiles for about 5 minutes)"
	@cargo test --locked

.PHONY: test-python
test-python: ## the Python face's tests and the house rules
	@tools/need.sh "make test-python" python rust java
	@$(MAKE) $(VENV)/.built
	@echo "== Python tests"
	@$(PYTEST) $(BY_FILE) tests/python tests/house

.PHONY: fuzz
fuzz: ## every decoder under a fuzzer, FUZZ_SECONDS (60) each with FUZZ_MEMORY_MB (2048); TARGET="parquet_pages filter" for some
	@tools/need.sh "make fuzz" python rust
	@tools/fuzz.sh $(TARGET)

.PHONY: histories
histories: ## random histories with kills, MINUTES (1) for each catalog and kind of Paimon table; CASE="folder:keyed s3:append" for some
	@tools/need.sh "make histories" python rust
	@$(MAKE) $(VENV)/.built
	@$(BIN)/python tests/histories/run.py --minutes $${MINUTES:-1} --processes $${PROCESSES:-6} $(CASE)

# Files that the night runs as a whole.
IN_FULL := $(addprefix tests/python/test_,$(addsuffix .py,crash_points paimon_crash_points concurrency paimon_concurrency \
  row_changes_model evolution_model maintain_model spark_failures real_catalogs real_stores rest_server_java rest_faults \
  spark_rest cloud_logins))

# The night's parts, in their order. A part that fails does not keep the others from running.
NIGHT := night-fuzz night-histories night-full night-python night-interop night-engines night-metastores

.PHONY: test-nightly
test-nightly: ## what `make test` only samples: every crash point, 1,000 sequences for each model, 8 processes, histories (2 hours)
	@tools/need.sh "make test-nightly" python rust strace
	@$(MAKE) $(VENV)/.built
	@$(MAKE) -k -j1 $(NIGHT)

$(NIGHT): export FRAZIL_NIGHTLY := 1
.PHONY: $(NIGHT)
night-fuzz:
	@echo "== fuzz targets compile"
	@cd fuzz && cargo check -q --locked

night-histories:
	@echo "== Random histories with kills"
	@$(MAKE) histories

night-full:
	@echo "== Crash points, models and processes, in full"
	@FRAZIL_MODEL_SEQUENCES=$${FRAZIL_MODEL_SEQUENCES:-1000} $(BIN)/python -m pytest --timeout 14400 -s $(IN_FULL)

night-python:
	@echo "== What tests/night.py leaves out of make test"
	@$(BIN)/python -m pytest --timeout 1800 -n $(WORKERS) $(BY_FILE) -m night $(addprefix --ignore=,$(IN_FULL)) tests/python

night-interop:
	@echo "== The same, with Spark"
	@$(MAKE) .venv-pypaimon/.tools
	@$(BIN)/python tests/interop/runtime_jar.py
	@$(BIN)/python -m pytest --timeout 1800 -n $(WORKERS) $(BY_FILE) -m night tests/interop

night-engines:
	@$(MAKE) test-engines

night-metastores:
	@echo "== Java's catalogs of Hive and Glue"
	@$(BIN)/python -m pytest --timeout 1800 tests/interop/test_metastores.py

.PHONY: test-interop
test-interop: ## both directions between Frazil and Java Iceberg in PySpark 4.1; tables of Java Paimon, pypaimon, pypaimon-rust
	@tools/need.sh "make test-interop" python rust java mvn
	@$(MAKE) $(VENV)/.built
	@$(MAKE) .venv-pypaimon/.tools
	@$(BIN)/python tests/interop/runtime_jar.py
	@echo "== Interop tests (Spark starts; about 15 minutes)"
	@$(PYTEST) $(BY_FILE) tests/interop

.PHONY: test-docs
test-docs: ## the examples of README.md and docs/ (each page twice), the programs in examples/, the site's links and English
	@tools/need.sh "make test-docs" python rust java
	@$(MAKE) $(VENV)/.built $(VENV)/.docs
	@echo "== Documentation examples"
	@$(PYTEST) --dist worksteal tests/docs

.PHONY: test-spark-versions
test-spark-versions: ## the PySpark tests under other PySpark versions (SPARK_VERSIONS="4.0.5 4.3.0")
	@tools/need.sh "make test-spark-versions" python rust java
	@$(MAKE) $(VENV)/.built
	@rm -rf dist && $(BIN)/maturin build --release --locked -q -o dist
	@for version in $(SPARK_VERSIONS); do \
	  env=.venv-spark-$$version; \
	  echo "== PySpark $$version into $$env"; \
	  test -x $$env/bin/python || "$(PYTHON)" -m venv $$env; \
	  $$env/bin/python -m pip install -q "pyspark==$$version" -r requirements/spark.txt; \
	  $$env/bin/python -m pip install -q --force-reinstall --no-deps dist/frazil-*.whl; \
	  $$env/bin/python -m pytest tests/interop/test_pyspark.py; \
	done

.PHONY: lint
lint: ## rustfmt, clippy, ruff, mypy, stubtest, zizmor, licences of crates: everything must be clean
	@tools/need.sh "make lint" python rust
	@echo "== rustfmt"
	@cargo fmt --all --check
	@cargo fmt --check --manifest-path packages/datafusion/Cargo.toml
	@$(MAKE) $(VENV)/.built
	@echo "== ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== mypy"
	@$(BIN)/mypy --strict python/frazil python/pyspark_frazil
	@$(BIN)/mypy --strict examples/*.py
	@$(BIN)/mypy --strict packages/datafusion/python
	@echo "== stubtest"
	@$(BIN)/python -m mypy.stubtest frazil._core
	@$(MAKE) clippy
	@echo "== workflows"
	@$(BIN)/zizmor --offline --quiet .github
	@echo "== licences and advisories of crates"
	@$(BIN)/python tools/licences.py --check

.PHONY: clippy
clippy: ## clippy alone
	@tools/need.sh "make clippy" python rust
	@echo "== clippy"
	@cargo clippy --locked --all-targets --features python -- -D warnings

.venv-engines/.tools: requirements/engines.txt
	@echo "== DataFusion, Daft, Ray and PyTorch into .venv-engines (they want another pyarrow; several GB)"
	@test -x .venv-engines/bin/python || "$(PYTHON)" -m venv .venv-engines
	@.venv-engines/bin/python -m pip install -q -r requirements/engines.txt
	@touch $@

PROVIDER := packages/datafusion

.venv-engines/.provider: $(wildcard $(PROVIDER)/src/*.rs $(PROVIDER)/python/*/*.py*) $(PROVIDER)/Cargo.toml $(PROVIDER)/Cargo.lock $(PROVIDER)/pyproject.toml
	@$(MAKE) $(VENV)/.tools .venv-engines/.tools
	@echo "== The package frazil-datafusion (release build, with 250 crates of DataFusion)"
	@rm -rf $(PROVIDER)/dist
	@$(BIN)/maturin build --release --locked -q -m $(PROVIDER)/Cargo.toml -i .venv-engines/bin/python -o $(PROVIDER)/dist
	@.venv-engines/bin/python -m pip install -q --force-reinstall --no-deps $(PROVIDER)/dist/frazil_datafusion-*.whl
	@touch $@

.PHONY: test-engines
test-engines: ## scans in DataFusion, Daft, Ray and PyTorch, which `make test` does not install; builds frazil-datafusion
	@tools/need.sh "make test-engines" python rust
	@$(MAKE) $(VENV)/.built .venv-engines/.tools .venv-engines/.provider
	@echo "== Engines"
	@PYTHONPATH=python .venv-engines/bin/python -m pytest --timeout 450 tests/python/test_engines.py tests/python/test_datafusion_provider.py

.PHONY: clippy-datafusion
clippy-datafusion: ## clippy for packages/datafusion, which `make lint` leaves out, because it has 250 crates of its own
	@tools/need.sh "make clippy-datafusion" python rust
	@cargo clippy --locked --manifest-path $(PROVIDER)/Cargo.toml -- -D warnings

$(VENV)/.types: requirements/types.txt $(VENV)/.tools
	@echo "== pyright, and the Node.js that runs it"
	@$(BIN)/python -m pip install -q -r requirements/types.txt
	@touch $@

.PHONY: types
types: ## pyright over every example of the documentation and over what users write; lint has mypy alone
	@tools/need.sh "make types" python
	@$(MAKE) $(VENV)/.built
	@$(MAKE) $(VENV)/.types
	@$(BIN)/python tools/check_types.py

.PHONY: house
house: ## the house rules alone: layers, circles, sizes, names, words, public names (no build)
	@tools/need.sh "make house" python
	@$(MAKE) $(VENV)/.tools
	@$(BIN)/python tests/house/checkers/check.py
	@$(BIN)/python tests/house/checkers/public_names.py --check

.PHONY: house-lists
house-lists: ## remove repaired offences from the lists in tests/house/allowed
	@tools/need.sh "make house-lists" python
	@$(MAKE) $(VENV)/.tools
	@$(BIN)/python tests/house/checkers/check.py --shrink

.PHONY: public-names
public-names: ## write the stored lists of public Rust and Python names, after a meant change of the interface
	@tools/need.sh "make public-names" python
	@$(MAKE) $(VENV)/.tools
	@$(BIN)/python tests/house/checkers/public_names.py

.PHONY: files
files: ## write FILES.md, the list of source files, after a file was added or its first sentence changed
	@tools/need.sh "make files" python
	@$(MAKE) $(VENV)/.tools
	@$(BIN)/python tests/house/checkers/file_index.py

# ---------------------------------------------------------------- measure and document

.PHONY: bench
bench: ## time cold plans of Frazil and Java Iceberg, PyIceberg, the iceberg crate and DuckDB (BENCH="--quick"); writes benches/RESULTS.md
	@tools/need.sh "make bench" python rust java mvn
	@$(MAKE) $(VENV)/.built bench-peers
	@$(BIN)/python benches/planning/run.py $(BENCH) --write benches/RESULTS.md

.PHONY: bench-reading
bench-reading: ## time reads to Arrow by Frazil, pyarrow, DuckDB, Polars, Daft and PyIceberg (BENCH="--quick"); writes benches/RESULTS.md
	@tools/need.sh "make bench-reading" python rust java mvn
	@$(MAKE) $(VENV)/.built .venv-peers/.installed
	@$(BIN)/python benches/reading/run.py $(BENCH) --write benches/RESULTS.md

.PHONY: bench-rows
bench-rows: ## time upserts, and a delete in 100,000 files, by Frazil and PyIceberg (BENCH="--quick"); writes benches/RESULTS.md
	@tools/need.sh "make bench-rows" python rust
	@$(MAKE) $(VENV)/.built .venv-peers/.installed
	@$(BIN)/python benches/row_level/run.py $(BENCH) --write benches/RESULTS.md

.PHONY: bench-writing
bench-writing: ## time partitioned, sorted and plain writes, and those of pyarrow.parquet (BENCH="--rows 8000000"); writes benches/RESULTS.md
	@tools/need.sh "make bench-writing" python rust
	@$(MAKE) $(VENV)/.built
	@$(BIN)/python benches/writing/run.py $(BENCH) --write benches/RESULTS.md

.PHONY: bench-commits
bench-commits: ## time appends to tables of up to 1,000,000 files, and loading metadata (BENCH="--quick"); writes benches/RESULTS.md
	@tools/need.sh "make bench-commits" python rust java mvn
	@$(MAKE) $(VENV)/.built .venv-peers/.installed
	@$(BIN)/python benches/commits/run.py $(BENCH) --write benches/RESULTS.md

.PHONY: bench-paimon
bench-paimon: ## time plans and reads of Paimon tables by Frazil, pypaimon-rust, pypaimon and Java Paimon (BENCH="--quick"); writes benches/RESULTS.md
	@tools/need.sh "make bench-paimon" python rust java mvn
	@$(MAKE) $(VENV)/.built .venv-pypaimon/.tools
	@$(BIN)/python benches/paimon/run.py $(BENCH) --write benches/RESULTS.md

.PHONY: bench-spark
bench-spark: ## time Spark jobs with Frazil, Spark's Parquet source and Iceberg's connector (BENCH="--quick"); writes benches/RESULTS.md
	@tools/need.sh "make bench-spark" python rust java mvn
	@$(MAKE) $(VENV)/.built
	@$(BIN)/python benches/spark/run.py $(BENCH) --write benches/RESULTS.md

.PHONY: bench-peers
bench-peers: ## what `make bench` compares with: Python peers, the iceberg crate, the floor (6 minutes the first time)
	@tools/need.sh "make bench-peers" python rust
	@$(MAKE) .venv-peers/.installed
	@echo "== The iceberg crate and the floor (release builds)"
	@mkdir -p $(BENCH_CACHE)
	@CARGO_TARGET_DIR=$(BENCH_CACHE)/iceberg-rust cargo build -q --release --locked \
	  --manifest-path benches/planning/iceberg_rust/Cargo.toml || echo "The iceberg crate can't be built: its rows will say so"
	@cargo build -q --release --locked --example floor
	@cp "$${CARGO_TARGET_DIR:-target}/release/examples/floor" $(BENCH_CACHE)/floor

.venv-peers/.installed: requirements/bench.txt
	@echo "== Peers for the benchmarks into .venv-peers"
	@test -x .venv-peers/bin/python || "$(PYTHON)" -m venv .venv-peers
	@.venv-peers/bin/python -m pip install -q -r requirements/bench.txt
	@touch $@

.PHONY: bench-micro
bench-micro: ## micro-benchmarks: decoding, pruning, delete matching, bucket hashing (ONLY=bucket)
	@tools/need.sh "make bench-micro" rust
	@cargo bench --locked --bench micro -- $(ONLY)

.PHONY: docs
docs: ## build the documentation site into site/
	@tools/need.sh "make docs" python
	@$(MAKE) $(VENV)/.docs
	@echo "== mkdocs"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html"

.PHONY: llms
llms: ## write docs/llms.txt, the list of pages for programs, from the navigation
	@tools/need.sh "make llms" python
	@"$(PYTHON)" tools/llms_txt.py

.PHONY: plots
plots: ## draw docs/assets/plots from the tables of benches/RESULTS.md
	@tools/need.sh "make plots" python
	@"$(PYTHON)" benches/plots.py

.PHONY: release-check
release-check: ## whether the version can be released: Cargo.toml, Cargo.lock, changelog, tag and links agree
	@tools/need.sh "make release-check" python
	@"$(PYTHON)" tools/release_check.py

.venv-wheels/.tools: requirements/wheels.txt
	@echo "== Tools for wheels into .venv-wheels"
	@test -x .venv-wheels/bin/python || "$(PYTHON)" -m venv .venv-wheels
	@.venv-wheels/bin/python -m pip install -q -r requirements/wheels.txt
	@touch $@

.PHONY: wheels
wheels: ## build the Linux wheels, try them where possible, print a table (WHEELS="--only x86_64-gnu --python abi3"); an hour for all
	@tools/need.sh "make wheels" python rust
	@$(MAKE) .venv-wheels/.tools
	@.venv-wheels/bin/python tools/wheels/make_wheels.py $(WHEELS)

.PHONY: wheel-roots
wheel-roots: ## make the root file systems in which `make wheels` tries wheels (root; CPYTHON and ZLIB are unpacked sources)
	@tools/wheels/roots.sh $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/frazil-wheels/roots

.PHONY: sdist
sdist: ## make the source package, with the sources of all crates, so that it builds without a network
	@tools/need.sh "make sdist" python rust
	@$(MAKE) .venv-wheels/.tools
	@.venv-wheels/bin/python tools/sdist.py

.PHONY: licences
licences: ## write THIRD-PARTY-LICENSES, the licences of all crates in the wheels, after Cargo.lock changed
	@tools/need.sh "make licences" python rust
	@"$(PYTHON)" tools/licences.py

.PHONY: clean
clean: ## remove environments and build output (a CARGO_TARGET_DIR of your own is left alone)
	@rm -rf .venv .venv-* site dist demo/warehouse python/frazil/_core*.so
	@if [ -z "$${CARGO_TARGET_DIR:-}" ]; then rm -rf target; fi
