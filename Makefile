# Each target sets up what it needs in .venv with plain pip; constraints.txt holds the tested versions.
# Of the 24,000 modules that come along a run imports a few thousand, so each is compiled when it is first imported, not all of them here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile --constraint constraints.txt

.PHONY: demo test check audit bench bench-gpu wheel clean

demo: $(VENV)/.demo
	$(BIN)/fairwitness models pull smollm2
	$(BIN)/fairwitness demo --out runs/demo

# Two tests at a time, each on one thread: on two cores that is faster than one test on two.
test: $(VENV)/.test
	$(BIN)/fairwitness models pull smollm2
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture.py

# Known weaknesses of the pinned packages. Needs to reach an advisory service; one it cannot ask is a failure.
# What users install is held to none. Of the tools, two have one that nobody mends, in a part that we do not use (docs/security.md).
ACCEPTED := CVE-2024-35515 GHSA-g4r7-86gm-pgqc PYSEC-2026-1939 CVE-2025-56005
AUDIT := $(BIN)/pip-audit --no-deps --disable-pip --strict -r
audit: $(VENV)/.test
	$(PIP) pip-audit
	$(BIN)/python scripts/pins.py shipped >$(VENV)/shipped.txt && $(AUDIT) $(VENV)/shipped.txt
	$(BIN)/python scripts/pins.py tools >$(VENV)/tools.txt && $(AUDIT) $(VENV)/tools.txt $(ACCEPTED:%=--ignore-vuln %)

bench-gpu:
	python3 benchmarks/gpu_zeroshot.py
	python3 benchmarks/gpu_stereoset.py
	python3 benchmarks/gpu_graphs.py
	python3 benchmarks/gpu_scale.py
	python3 -m benchmarks.gpu_quantize  # needs fairwitness[hf,quantize] installed, the others do not

bench: $(VENV)/.bench
	$(BIN)/fairwitness models pull smollm2
	$(BIN)/python -m benchmarks --write

wheel: $(VENV)/.test
	$(BIN)/python -m build --wheel --no-isolation

clean:
	rm -rf $(VENV) dist build runs/demo

# torch comes first and by its exact version: asked for as a dependency, pip may prefer a build that brings gigabytes of CUDA.
$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[demo]'
	touch $@

# What the demo needs is part of this, so it is not installed before.
$(VENV)/.test: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[all,test,dev]'
	touch $(VENV)/.demo $@

$(VENV)/.bench: $(VENV)/.test
	$(PIP) --editable '.[bench]'
	touch $@

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or newer is needed. On Debian: apt-get install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, and $$($(PYTHON) --version) was found. Install one, or name it: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module is missing. On Debian: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
