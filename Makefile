# One environment in .venv, made with pip. Python >= 3.11, pip, make and a C++ compiler are needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= auto
# Seconds of each fuzzer.
FUZZ ?= 20

.DEFAULT_GOAL := help
.PHONY: help run test native-test stub check bench paper docs clean

help: ## What can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 13

NATIVE := CMakeLists.txt $(wildcard native/src/*/*.?pp)
NATIVE_FILES = $(wildcard native/*/*.?pp native/*/*/*.?pp)

$(READY): pyproject.toml $(NATIVE)
	$(PYTHON) -c 'import sys; sys.exit("chacha needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(READY)

run: $(READY) ## Tune on a built-in stream and tell what happened
	mkdir -p out
	$(BIN)/chacha run synth:interactions --limit 30000 --seed 1 --baseline \
		--json out/run.json --save-decisions out/decisions.jsonl
	$(BIN)/chacha explain out/decisions.jsonl

test: $(READY) ## All tests and every example in the documentation
	$(BIN)/pytest -n $(WORKERS)

NATIVE_BUILD = $(BIN)/cmake -S . -B $(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	-DCHACHA_PYTHON=OFF -DCHACHA_TESTS=ON -DCHACHA_SANITIZE=$(2) >$(1).log && $(BIN)/ninja -C $(1) --quiet $(3)

native-test: $(READY) ## The engine's own tests, out of memory, fuzzed, with sanitizers
	mkdir -p build
	$(call NATIVE_BUILD,build/native-plain,OFF,engine_tests)
	build/native-plain/native/tests/engine_tests
	$(call NATIVE_BUILD,build/native-test,ON,all)
	build/native-test/native/tests/engine_tests
	build/native-test/native/tests/engine_oom
	build/native-test/native/tests/fuzz_parser $(FUZZ) & build/native-test/native/tests/fuzz_text $(FUZZ) && wait $$!

stub: $(READY) ## The types of the compiled module: src/chacha/_native.pyi
	$(BIN)/python tests/project/native_stub.py

check: $(READY) ## Format, lint, types, import layers, documentation
	$(BIN)/ruff format --check src tests benchmarks experiments
	$(BIN)/ruff check src tests benchmarks experiments
	$(BIN)/clang-format --dry-run -Werror $(NATIVE_FILES)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/mkdocs build --strict --quiet --site-dir out/site

bench: $(READY) ## Speed and memory beside the peers (DATA=DIR for real streams), late labels, custom parts, reading, a stream of 4 GB
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/ask_tell.py
	$(BIN)/python benchmarks/custom_parts.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/model_memory.py

OUT ?= out/paper

paper: $(READY) ## The paper's tables and figures again: DATA=DIR, or OPENML=1; FLAML=0 leaves AutoVW out
	$(BIN)/python experiments/paper.py --out $(OUT) $(if $(DATA),--data '$(DATA)') \
		$(if $(OPENML),--openml) $(if $(filter 0,$(FLAML)),--no-flaml)

docs: $(READY) ## The documentation as a site in out/site
	$(BIN)/mkdocs build --strict --site-dir out/site

clean: ## Remove what was made
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
