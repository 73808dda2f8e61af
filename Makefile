# Make's own words for the project's commands; `make` alone lists them.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

FUZZTIME  ?= 30s
BENCH     ?= .
DEMOFLAGS ?=
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: help build test lint fuzz bench golden demo fmt clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/pgairlock (the parser's C code takes a minute or two the first time)
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/pgairlock ./cmd/pgairlock

demo: build ## play an agent's session against a throwaway PostgreSQL; DEMOFLAGS=--keep leaves it running
	bin/pgairlock demo $(DEMOFLAGS)

test: ## vet, then all tests under the race detector, on real servers (as root it installs what it needs with apt-get)
	scripts/need
	go vet ./...
	go test -race -timeout 20m -json ./... | go run ./internal/testsummary

lint: ## vet, staticcheck, gofmt, a tidy go.mod
	go vet ./...
	go tool staticcheck ./...
	@files=$$(gofmt -l $$(git ls-files '*.go')); if [[ -n $$files ]]; then echo "gofmt would change: $$files"; exit 1; fi
	go mod tidy -diff

fuzz: ## run every fuzz target for FUZZTIME (30s) each
	@go list ./... | while read -r package; do \
	  go test -list '^Fuzz' "$$package" | { grep ^Fuzz || true; } | while read -r target; do \
	    echo "$$package $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package"; \
	  done; \
	done

bench: ## run the benchmarks that match BENCH (all)
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

golden: ## rewrite the expected answers of the golden tests; read the diff before committing it
	@packages=$$(git grep -lE 'flag\.Bool\("update"' -- '*_test.go' | xargs -r -n1 dirname | sort -u); \
	if [[ -z $$packages ]]; then echo "no golden tests"; exit 1; fi; \
	for package in $$packages; do go test "./$$package" -update; done

fmt: ## format the Go files
	gofmt -w $$(git ls-files '*.go')

clean: ## remove what was built
	rm -rf bin
