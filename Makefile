# Whittle's commands. `make run` shows it, `make test` checks it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

functions := ticker provision interrupt lifecycle disrupt catalog install console
architecture ?= arm64
host := $(shell go env GOARCH | sed 's/amd64/x86_64/')
goarch = $(if $(filter x86_64,$(architecture)),amd64,arm64)
output = build/functions/$(architecture)

staticcheck := honnef.co/go/tools/cmd/staticcheck@v0.7.0
golangci := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.7.0
# A nested module that is checked too; the control plane's own is checked by its build.
nested := testdata/instancetypes/generate testdata/instancetypes/peer testdata/peer

# The decoders of what comes from outside and the arithmetic of requirements and quantities, and how long each of their fuzz tests runs.
fuzzed := events shared/queue shared/scheduling
fuzztime ?= 10s

# What runs against a local server must not be told to trust another authority.
unexport AWS_CA_BUNDLE

.PHONY: help run up down build functions zips local test browser conformance fuzz lint bench bench-launch bench-month shortages storm crash chaos compare bench-peer bench-consolidation synth uninstall clean FORCE

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | column -t -s "$$(printf '\t')"

run: local ## the main job on this machine, from no node to running pods and back
	@build/local run

up: local bin/whittle ## the same world, left running for kubectl and the aws CLI
	@build/local up

down: ## end what `make up` started
	@build/local down

build: zips bin/whittle ## the functions for arm64 as folders and zips, and bin/whittle

functions:
	@printf '%s\n' $(functions) | CGO_ENABLED=0 GOOS=linux GOARCH=$(goarch) xargs -P 2 -I NAME \
	  go build -tags lambda.norpc -trimpath -buildvcs=false -ldflags '-s -w' -o $(output)/NAME/bootstrap ./functions/NAME

zips: functions
	@for name in $(functions); do \
	  go run github.com/aws/aws-lambda-go/cmd/build-lambda-zip -o $(output)/$$name.zip $(output)/$$name/bootstrap 2>/dev/null; \
	done

# The local world: its program, the functions for this machine's processor, the cdk.
local:
	@$(MAKE) --no-print-directory -j 3 infra/node_modules functions build/local architecture=$(host)
	@build/local prepare

build/local: FORCE
	@go build -C infra/local -trimpath -buildvcs=false -o $(CURDIR)/build/local .

bin/whittle: FORCE
	@CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/whittle ./functions/console/whittle
FORCE:

test: local ## unit tests, then the whole world end to end
	go test -timeout 20m ./... ./testdata/instancetypes
	go test -C infra/local -timeout 20m ./...

browser: infra/node_modules ## the dashboard's page in a real Chromium, with pictures in build/pages; fetches one, or CHROMIUM=/path/to/one
	go vet -C infra/local -tags browser ./dashboard
	go test -C infra/local -count=1 -timeout 15m -tags browser -run TestBrowser -v ./dashboard

# The tests hold the local AWS, and our own clients, against what others made.
contract := ./shared/fleet ./functions/catalog

conformance: ## our clients and the local AWS against moto and AWS's service models, our instance types against Karpenter's; needs python3 with venv
	go vet -tags conformance $(contract)
	go vet -C infra/local -tags conformance ./conformance
	go test -C infra/local -count=1 -timeout 15m -tags conformance -run 'Conformance|Exception|Rich|Moto' ./conformance
	go test -count=1 -timeout 15m -tags conformance -run 'Conformance|Exception|Rich|Moto' $(contract)
	go test -C testdata/instancetypes/peer -timeout 15m ./...

fuzz: ## decoders of events and messages, requirements and quantities against random input, two at a time; fuzztime=1m for longer
	@for package in $(fuzzed); do go test -list '^Fuzz' ./$$package | awk -v package=./$$package '/^Fuzz/ { print $$1, package }'; done | \
	  xargs -P 2 -L 1 sh -c 'go test -run "^$$" -fuzz "^$$0\$$" -fuzztime $(fuzztime) -parallel 1 "$$1"'

lint: ## gofmt, vet, staticcheck, golangci-lint
	@unformatted="$$(git ls-files '*.go' | xargs gofmt -l)"; if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted"; exit 1; fi
	go vet ./... ./testdata/instancetypes
	go vet -C infra/local ./...
	go run $(staticcheck) ./... ./testdata/instancetypes
	go run -C infra/local $(staticcheck) ./...
	go run $(golangci) run ./... ./testdata/instancetypes
	go run -C infra/local $(golangci) run ./...
	for module in $(nested); do go vet -C $$module ./... || exit 1; done

bench: build local ## what it costs: sizes, cold start, idle tick, pending to CreateFleet, a thousand launches, a month
	@build/local bench

bench-launch: local ## 1,000 nodes launched: calls of every kind, seconds
	@build/local bench-launch

bench-month: local ## what a month costs, for an idle cluster and for one with 500 nodes; MONTH_NODES=20 for fewer
	@build/local bench-month

shortages: ## pods on an EC2 that is short of 70 % of its offerings, and on one that lets a tenth of the calls through
	@go test -count=1 -timeout 20m -v -run '^(TestAShortEC2|TestABusyEC2)$$' ./functions/provision | grep -E '_test.go:|^(---|FAIL|ok)'

# The control planes have memory enough, and better things to do than to collect garbage.
storm: export GOGC := 400
storm: local ## 1,000 spot warnings in a minute over 500 nodes; STORM_NODES=100 for fewer
	@build/local storm

crash: export CRASH_STORY := $(story)
crash: export GOGC := 400
crash: build/local ## kill each function at each call that it makes; story=provision/ for some of the stories
	@build/local crash

chaos: export CHAOS_SEED := $(seed)
chaos: export CHAOS_MINUTES := $(minutes)
chaos: infra/node_modules build/local ## everything goes wrong at once for 30 minutes; minutes=1 for fewer, seed=N for the same again
	@build/local chaos

compare: local ## Karpenter itself and Whittle serve the same workload in one cluster, which moves from one to the other and back
	@build/local compare

bench-peer: ## plan the same clusters with Karpenter's scheduler and with ours; arguments="-full" for all sizes
	@go run -C testdata/peer . $(arguments)

bench-consolidation: ## consolidate the same fleets with Karpenter's methods and with ours; arguments="-nodes 100" for fewer
	@go run -C testdata/peer . -consolidation $(arguments)

template := build/cdk.out/Whittle.template.json

synth: infra/node_modules functions ## the CloudFormation template, and all that is checked of it
	infra/node_modules/.bin/cdk synth --strict --quiet -c clusters=example
	node infra/check-template.mjs $(template)
	node infra/check-nag.mjs $(template)
	go test -count=1 ./infra

uninstall: infra/node_modules functions ## remove the stack; nodes, NodePools and definitions stay; clusters=prod
	infra/node_modules/.bin/cdk destroy -c clusters=$(clusters)

infra/node_modules: infra/package-lock.json
	@npm ci --prefix infra --no-audit --no-fund --loglevel=error
	@touch infra/node_modules

clean: ## what make built; long builds stay in the user's cache folder
	rm -rf build bin cdk.out infra/node_modules
