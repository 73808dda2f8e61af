# Make's own words for the project's commands; `make` alone lists them.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

FUZZTIME  ?= 30s
BENCH     ?= .
DURATION  ?= 5s
ROUNDS    ?= 5
MINUTES   ?= 30
PEERS     ?=
CONTAINER ?= docker
NFPM      ?= go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4
DEMOFLAGS ?=
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: help build static test test-clients test-peers lint fuzz bench gobench soak golden demo deb image fmt clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/pgairlock (the parser's C code takes a minute or two the first time)
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/pgairlock ./cmd/pgairlock

demo: build ## play an agent's session against a throwaway PostgreSQL; DEMOFLAGS=--keep leaves it running
	scripts/need server
	bin/pgairlock demo $(DEMOFLAGS)

test: ## vet, then all tests under the race detector, on real servers (as root it installs what it needs with apt-get)
	scripts/need
	go vet ./...
	go test -race -timeout 20m -json ./... | go run ./internal/testsummary

test-clients: ## have 25 stock clients and drivers speak through the proxy (Debian; as root it installs them; npm fetches some)
	scripts/need
	scripts/clients
	go test -v -count=1 -timeout 30m ./internal/clients -all

test-peers: ## run the test suites of others through the proxy and compare with direct; PEERS="pgx pgbench" picks some (Debian, an hour, network)
	scripts/peers $(PEERS)

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

gobench: ## run the Go benchmarks that match BENCH (all)
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

bench: build ## measure against pgbouncer and haproxy, ROUNDS (5) of DURATION (5s); writes docs/PERFORMANCE.md
	@for program in pgbench pgbouncer haproxy; do \
	  PATH=$$PATH:/usr/sbin command -v $$program >/dev/null || { echo "install $$program: apt-get install postgresql-15 pgbouncer haproxy"; exit 1; }; \
	done
	go run ./bench/speed -duration $(DURATION) -rounds $(ROUNDS) -out docs/PERFORMANCE.md

soak: build ## run under mixed clients, kills, crashes and reloads for MINUTES (30)
	go run ./bench/soak -for $(MINUTES)m

static: ## build bin/pgairlock-static, which needs no C library of a certain version
	go build -trimpath -tags netgo,osusergo -ldflags '-s -w -linkmode external -extldflags -static -X main.version=$(VERSION)' -o bin/pgairlock-static ./cmd/pgairlock

deb: static ## build the Debian package into bin/; a commit without a tag counts as 0.0.0+COMMIT
	@version='$(patsubst v%,%,$(VERSION))'; [[ $$version =~ ^[0-9]+\.[0-9]+ ]] || version=0.0.0-$$version; \
	version=$${version/-/+}; version=$${version//-/.}; \
	VERSION=$$version GOARCH=$$(go env GOARCH) $(NFPM) package --config packaging/nfpm.yaml --packager deb --target bin/

image: ## build the container image pgairlock:VERSION; needs Docker or CONTAINER=podman
	$(CONTAINER) build --build-arg VERSION='$(VERSION)' -t pgairlock:'$(VERSION)' .

golden: ## rewrite the expected answers of the golden tests; read the diff before committing it
	@packages=$$(git grep -lE 'flag\.Bool\("update"' -- '*_test.go' | xargs -r -n1 dirname | sort -u); \
	if [[ -z $$packages ]]; then echo "no golden tests"; exit 1; fi; \
	for package in $$packages; do go test "./$$package" -update; done

fmt: ## format the Go files
	gofmt -w $$(git ls-files '*.go')

clean: ## remove what was built
	rm -rf bin
