# kuelog: `make` or `make help` lists what there is.
PYTHON ?= python3
SCENARIO ?= examples/ai-platform
COUNT ?= 100000
SEED ?= 1
SEEDS ?= 1-40
WORLDS ?= 40
OBJECTS ?= 500
EACH ?= 12
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help install demo test lint site screenshots simulate months lives late by-hand fuzz chaos coverage mutants bench peers differences cycles refusals suites lock clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(READY) ## make the environment in .venv from the lock file

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kuelog needs Python 3.11 or newer")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.5"
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.5"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $(READY)

demo: $(READY) ## play the AI platform scenario to its end (SCENARIO=dir for another)
	@$(BIN)/kuelog demo $(SCENARIO) --data .kuelog/demo

test: $(READY) ## run every test, and the checks of style and structure
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports
	@$(BIN)/basedpyright
	@$(BIN)/pytest --numprocesses 3 --dist worksteal
	@$(BIN)/python -m tests.figures

lint: $(READY) ## check style, structure and types, and that every test can be imported
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports
	@$(BIN)/basedpyright
	@found=$$($(BIN)/pytest --collect-only --quiet) || { echo "$$found" | tail -60; exit 1; }

site: $(READY) ## make docs/ into a site under build/site, without network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

screenshots: $(READY) ## take the pictures of the README from what `make demo` has left (needs Debian's chromium-driver)
	@$(BIN)/python -m tests.ops.console.screenshots .kuelog/demo

simulate: $(READY) ## play ten thousand histories with faults in virtual time, and hold them against the laws
	@$(BIN)/kuelog simulate --seeds 1-10000

months: $(READY) ## bill a thousand short months with wrong clocks and late facts, and hold every row against an auditor's own sums
	@$(BIN)/python -m tests.laws.months

lives: $(READY) ## let several replicas decide in a thousand random lives, and hold each decision against one made on the log alone
	@$(BIN)/python -m tests.laws.lives

late: $(READY) ## play all stories while the API server and the bus answer late, by chance (SEED=7 for other chance)
	@$(BIN)/pytest -q -n 8 -p tests.stage.late_answers --late $(SEED) --ignore tests/stories/test_requests_per_job.py --ignore tests/stories/test_leases.py tests/stories

by-hand: $(READY) ## have people change jobs, Workloads and queues at any time while answers come late, by the seeds SEEDS=1-40
	@KUELOG_BY_HAND=$(SEEDS) $(BIN)/pytest -q -n 4 tests/stories/by_hand

chaos: $(READY) ## kill real services and servers, cut and refuse between them, and hold what is left against the laws (JOBS=5000: over four partitions; FROM=REVISION: an upgrade of what it was then)
	@$(BIN)/python -m tests.chaos $(if $(JOBS),--jobs $(JOBS) --seed $(SEED)) $(if $(FROM),--from $(FROM))
	@KUELOG_CHAOS=1 $(BIN)/pytest -q tests/ops/production/log/server/test_replaced_servers.py tests/ops/production/log/jetstream/test_copies.py

fuzz: $(READY) ## put 100,000 wild objects, facts and messages to all services (COUNT, SEED for others)
	@$(BIN)/python -m tests.fuzz --count $(COUNT) --seed $(SEED)

coverage: $(READY) ## measure which lines of the rules their own tests run
	@$(BIN)/python -m tests.coverage_of_rules

mutants: $(READY) ## change the rules in small ways and see whether a test notices (EACH=12 of each area)
	@nice -n 19 $(BIN)/python -m tests.mutants --each $(EACH)

bench: $(READY) ## measure the log, the replay, the decisions and the way of a job
	@$(BIN)/kuelog bench

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url

peers: $(READY) ## build a real API server and Kueue from their Go modules, to test and measure beside
	@$(BIN)/python -m tests.peers.build

refusals: $(READY) ## put objects by chance that may not be stored before Kueue's webhooks and kuelog's, and say where they differ (SEED, OBJECTS=500; after make peers)
	@$(BIN)/python -m tests.peers.refused_beside_kueue --seed $(SEED) --objects $(OBJECTS)
	@$(BIN)/python -m tests.peers.refused_beside_kueue --seed $(SEED) --objects $(OBJECTS) --statuses

differences: $(READY) ## have small worlds by chance decided by Kueue's manager and by kuelog, and say where they differ (SEED, WORLDS=40; after make peers)
	@$(BIN)/python -m tests.peers.decided_beside_kueue --seed $(SEED) --worlds $(WORLDS)

cycles: SEEDS = 1-1000
cycles: $(READY) ## have Kueue's own scheduler and kuelog go through one cycle each in small worlds by chance, and say where they decide differently (SEEDS=1-1000, WITH=fair,elastic; with Go at hand)
	@$(BIN)/python -m tests.peers.cycles_beside_kueue --seeds $(SEEDS) $(if $(WITH),--with $(WITH))

suites: $(READY) ## run Kueue's own integration suites with kuelog in the place of its controllers (SUITES="scheduler tas"; after make peers)
	@$(BIN)/python -m tests.peers.suites.run $(SUITES)

lock: ## resolve the lock file anew, and from it those of the image
	@$(LOCK) --all-extras --group test --group lint --group build --group docs pyproject.toml -o requirements.lock
	@$(LOCK) -c requirements.lock pyproject.toml -o ops/production/deploy/image.lock
	@$(LOCK) -c requirements.lock --group build -o ops/production/deploy/build.lock

clean: ## remove the environment and everything that runs have left
	@rm -rf .venv .kuelog
