# Sluice: the commands that people need. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

export SLUICE_TOOLS ?= $(CURDIR)/.tools
export SLUICE_CORPUS ?= $(abspath $(CURDIR)/../shared/corpus)
export SLUICE_ORACLE ?= $(abspath $(CURDIR)/../shared/oracle)
CHECKLIST ?= $(abspath $(CURDIR)/../shared/spec)

.PHONY: help
help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

.PHONY: prerequisites
prerequisites: ## name what is missing on this machine, with how to get it
	@./testbed/prerequisites

.PHONY: build
build: prerequisites ## build the controllers and the command line (development profile)
	cargo build -p source-controller -p kustomize-controller -p sluice

.PHONY: release
release: prerequisites ## build the controllers and the command line (release profile)
	cargo build --release -p source-controller -p kustomize-controller -p sluice

.PHONY: tools
tools: prerequisites ## build the local control plane and the oracles (cached)
	./testbed/build

.PHONY: generate
generate: ## write config/crd from the Rust types
	cargo run -q -p sluice-api --bin generate-crds -- config/crd

.PHONY: test
test: tools ## format, lints, unit, corpus, differential and end-to-end tests
	./testbed/test

.PHONY: conformance
conformance: tools ## play the conformance scenarios and compare with what Flux's controllers did
	cargo build -q --workspace --bins
	cargo run -q --bin conformance -- play --controllers $${CARGO_TARGET_DIR:-target}/debug $(SCENARIOS)

.PHONY: demo
demo: tools ## a Git repository bootstraps a real cluster, live
	./testbed/demo

.PHONY: demo-down
demo-down: ## end the demo
	./testbed/demo down

.PHONY: bench
bench: tools release ## time, memory and API requests of the controllers, as a table
	cargo run -q --release -p sluice-bench -- --controllers target/release

.PHONY: bench-kustomize
bench-kustomize: tools release ## time and memory of the kustomize engine beside the real one, as a table
	cargo run -q --release -p sluice-bench --bin engine-bench -- --sluice target/release/sluice --kustomize $(SLUICE_TOOLS)/kustomize

.PHONY: checklist
checklist: ## which acceptance ids have a test that names them
	@./testbed/checklist $(CHECKLIST)

.PHONY: fuzz-kustomize
fuzz-kustomize: tools ## compare random kustomizations with the real kustomize, without end
	SLUICE_FUZZ_CASES=1000000000 cargo test -p sluice-kustomize --test differential -- --nocapture
