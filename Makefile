# Whittle's commands. `make run` shows Whittle at work, `make test` checks it.
# `make help` lists the targets that have a description after ##, under the headings after ##@.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

functions := ticker provision interrupt lifecycle disrupt watch catalog install console
architecture ?= arm64
host := $(shell go env GOARCH | sed 's/amd64/x86_64/')
goarch = $(if $(filter x86_64,$(architecture)),amd64,arm64)
output = build/functions/$(architecture)

# golangci-lint includes staticcheck.
golangci := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.7.0
gotestsum := gotest.tools/gotestsum@v1.13.0
# Runs go test, prints a line for each package and the output of what fails, and keeps each test's time.
tested = mkdir -p $(CURDIR)/build && go run $(gotestsum) --format pkgname --hide-summary skipped --jsonfile $(CURDIR)/build/$@.json -- -timeout 20m
# Nested modules that the linters check too. The build checks those of the control plane and of Karpenter.
nested := testdata/lab shared/catalog/builtin/generate testdata/peer testdata/formats testdata/churn

# Every fuzz test with its folder, such as "FuzzDecode events": decoders of outside input, and arithmetic.
fuzzed = git grep --untracked -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | \
  sed -E 's|^(.*)/[^/]+:func (.*)$$|\2 \1|'
# Runs the fuzz test $$0 of the folder $$1 for the time $$2, in the folder's module. go test only warns if it finds
# no such test. A longer minimization of inputs would take most of a short time.
fuzzone := module=$$1; while [ ! -e $$module/go.mod ]; do module=$$(dirname $$module); done; \
  package=./$$(realpath --relative-to=$$module $$1); \
  go test -C $$module -run "^$$" -fuzz "^$$0\$$" -fuzztime $$2 -fuzzminimizetime 10x -parallel 1 $$package 2>&1 | \
  awk "/no fuzz tests to fuzz/ { none = 1 } { print } END { exit none }"
# How long each fuzz test runs.
fuzztime ?= 10s

# A program that calls the local AWS must not trust another certificate authority.
unexport AWS_CA_BUNDLE

# The modules that build Karpenter ask for a newer Go than Whittle. The go command fetches it.
export GOTOOLCHAIN := auto

# All builds and tests have the same flags, so that the cache has each package once.
export CGO_ENABLED := 0
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath

# The Kubernetes version of the local world, such as 1.35; empty for that of testdata/controlplane/go.mod.
kubernetes ?=
export WHITTLE_KUBERNETES := $(kubernetes)

# The experiments that start a world of their own: the table is in testdata/lab/experiments.go. The program reads
# their settings, such as short=1, from the variables of the command line, which make passes on.
experiments := contract compare day kueue chaos bench bench-launch bench-month bench-scale bench-reaction storm fidelity

.PHONY: help run up down experiment $(experiments) build functions zips deploy release templates rebuild uninstall clean local test \
  quick pages lint generate fuzz synth browser conformance crash attacks simulate bench-peer bench-consolidation \
  bench-windows bench-churn bench-bill shortages optimum gangs test-product test-world FORCE

help: ## list the targets
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' \
	  $(MAKEFILE_LIST)

##@ Try

run: ## show the main job on this machine: from no node to running pods and back
	@[ -e bin/whittle ] || echo "On a new machine Go first compiles the command line, the local world and Kubernetes, for minutes each."
	@$(MAKE) --no-print-directory bin/whittle
	@echo "A plan needs no cluster. This is \`bin/whittle plan -f testdata/manifests/quickstart.yaml -f testdata/manifests/web.yaml\`:"
	@bin/whittle plan -f testdata/manifests/quickstart.yaml -f testdata/manifests/web.yaml
	@$(MAKE) --no-print-directory local
	@build/local run

up: local bin/whittle ## start the local world for kubectl and the aws CLI, and leave it running; kueue=1 with Kueue in it
	@build/local up

down: ## stop the world that `make up` started
	@build/local down

experiment: local ## run an experiment by its name: name=day
	@build/local $(name)

$(experiments): local
	@build/local $@

contract: ## observe the facts about AWS that Whittle rests on, locally; live=1 in your account (under $$0.10), cluster=NAME for its access entries
compare: ## let Karpenter and Whittle serve one cluster in turn; karpenter=1.14 for that version, runs=5 for medians, short=1 to only migrate, alone=1 without Karpenter
day: ## let Karpenter and Whittle serve one compressed day in turn, 40 minutes; arguments=-short for about 5, "-seed N" for another day
kueue: ## let Kueue admit jobs of up to 64 pods that Whittle makes room for, also while EC2 is short

##@ Deploy

build: zips bin/whittle ## build the functions for arm64 as folders and zips, and bin/whittle

functions:
	@printf '%s\n' $(functions) | GOOS=linux GOARCH=$(goarch) xargs -P 2 -I NAME \
	  go build -tags lambda.norpc -buildvcs=false -ldflags '-s -w' -o $(output)/NAME/bootstrap ./functions/NAME/cmd

zips: functions
	@for name in $(functions); do \
	  go run github.com/aws/aws-lambda-go/cmd/build-lambda-zip -o $(output)/$$name.zip $(output)/$$name/bootstrap 2>/dev/null; \
	done

bin/whittle: FORCE
	@go build -ldflags '-s -w' -o bin/whittle ./functions/console/whittle
FORCE:

# What the command line leaves out stays as whittle.yaml says.
cdk = infra/node_modules/.bin/cdk $(1) $(if $(clusters),-c clusters=$(clusters)) \
  $(if $(filter command environment,$(origin architecture)),-c architecture=$(architecture)) \
  $(foreach setting,$(context),-c $(setting))

# A release has its functions.
built = $(if $(filter release=%,$(context)),,functions)

deploy: infra/node_modules $(built) ## show what changes and deploy a stack for each cluster: clusters=prod context="interval=5s release=DIR"
	$(call cdk,diff)
	$(call cdk,deploy --all)

release: ## make zips of the functions, command lines, an SBOM, provenance and checksums in build/release, the same bytes each time; key=FILE signs them
	@go run ./infra/release $(if $(key),-key '$(key)') $(functions)

templates: ## write the CloudFormation templates of a release, which `whittle install` fills in, without building functions
	@go run ./infra/templates build/templates/templates.json.gz

rebuild: ## build a release again from its commit with an empty cache, and compare the bytes: release=DIR
	@go run ./infra/release -rebuild '$(or $(release),$(error name the folder: release=DIR))'

uninstall: infra/node_modules $(built) ## remove the stacks of the named clusters, but no node, NodePool or definition: clusters=prod
	$(if $(clusters),,$(error name the clusters whose stacks go, as in clusters=prod))
	$(call cdk,destroy --all)

infra/node_modules: infra/package-lock.json
	@npm ci --prefix infra --no-audit --no-fund --loglevel=error
	@touch infra/node_modules

clean: ## remove what make built; long builds stay in the user's cache folder
	rm -rf build bin cdk.out infra/node_modules

##@ Develop

# The local world needs its program, the functions for this machine's processor, and the cdk.
local:
	@$(MAKE) --no-print-directory -j 3 infra/node_modules functions build/local architecture=$(host)
	@build/local prepare

build/local: FORCE
	@go build -C testdata/lab -buildvcs=false -o $(CURDIR)/build/local .

# The world mostly waits for its machines, so that the unit tests run meanwhile.
test: local ## run the unit tests and the whole world end to end
	@$(MAKE) --no-print-directory -j 2 -O test-product test-world
	@echo "The ten slowest tests:"
	@cat build/test-*.json | go run $(gotestsum) tool slowest --num 10

test-product:
	$(tested) ./...

test-world:
	cd testdata/lab && $(tested) -parallel 3 ./...

# The tests of a package are slow if they lead to the package that starts a control plane, or to the one that starts
# Node for the CDK.
slow := github.com/whittle-dev/whittle/testdata/lab/kubernetes|github.com/aws/jsii-runtime-go
quickly = go list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... | \
  grep -vE ' ($(slow))( |$$)' | sed -n 's/^\([^ ]*\)\.test .*/\1/p'

quick: ## run gofmt, go vet, and the short tests of everything that needs neither a control plane nor Node
	@$(formatted)
	go vet ./...
	@echo go test -short of the packages that need neither a control plane nor Node
	@packages="$$($(quickly))"; go test -short $$packages

pages: ## run the commands of the pages, and check that those that need an account exist
	go test -count=1 -run 'Page|README|FirstSteps|Tasks|Glossary' ./functions/console/whittle ./shared
	@$(MAKE) --no-print-directory run

formatted = unformatted="$$(git ls-files '*.go' | xargs gofmt -l)"; \
  if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted"; exit 1; fi

lint: ## run gofmt, go vet and golangci-lint
	@$(formatted)
	go vet ./...
	go run $(golangci) run ./...
	for module in $(nested); do go vet -C $$module ./... || exit 1; done
	for module in $(nested); do go run -C $$module $(golangci) run ./... || exit 1; done

# The files of the working tree with their hashes. A deleted file has none.
hashes = git ls-files -co --exclude-standard -z | xargs -0 sha256sum 2>/dev/null || true

generate: ## run go generate wherever a file asks for it, and fail if a file or a page of rows was stale; needs python3 with venv
	go test -C testdata/peer ./events
	@before="$$($(hashes))"; \
	for folder in $$(git grep --untracked -l '^//go:generate' -- '*.go' | xargs dirname | sort -u); do \
	  go generate -C $$folder . || exit 1; \
	done; \
	diff <(echo "$$before") <($(hashes)) || { echo "these files were stale: commit them as they are now"; exit 1; }

fuzz: ## run the fuzz tests, two at a time; fuzztime=1m for longer
	@$(fuzzed) | sed 's/$$/ $(fuzztime)/' | xargs -P 2 -L 1 bash -o pipefail -c '$(fuzzone)'

template := build/cdk.out/Whittle-example.template.json
# Templates in which each two settings stand together, and those that the command line renders.
pairs := build/pairs

# cfn-lint's W3005 is about dependencies that the CDK itself writes for each role.
# The test has the flags of `make test`, so that the one repeats the other's cached result.
synth: infra/node_modules functions ## write the CloudFormation template and check it; needs python3 with venv
	infra/node_modules/.bin/cdk synth --strict --quiet -c clusters=example
	@rm -rf $(pairs) && mkdir -p $(pairs)
	TEMPLATES=$(CURDIR)/$(pairs) go test -count=1 -run 'TestEveryPairOfSettings|TestARenderedTemplateHasItsCode' ./infra
	for one in $(template) $(pairs)/*.json; do node infra/check-template.mjs $$one || exit 1; done
	node infra/check-nag.mjs $(template)
	infra/with-python cfn-lint --ignore-checks W3005 -- $(template) $(pairs)/*.json
	infra/with-python python infra/check_policies_test.py
	infra/with-python python infra/check-policies.py $(template) $(pairs)/*.json
	infra/with-python python infra/check_strings_test.py
	infra/with-python python infra/check-strings.py $(template) $(pairs)/*.json
	$(tested) ./infra

browser: infra/node_modules ## check the dashboard's page in Chromium; pictures in build/pages; CHROMIUM=/path for yours
	go vet -C testdata/lab -tags browser ./dashboard
	go test -C testdata/lab -count=1 -timeout 15m -tags browser -run TestBrowser -v ./dashboard

# These packages have tests that compare our clients with implementations that others made.
contract := ./shared/fleet ./functions/catalog

conformance: ## check clients and local AWS against moto, service models and Karpenter; needs python3 with venv
	go vet -tags conformance $(contract)
	go vet -C testdata/lab -tags conformance ./conformance
	go test -C testdata/lab -count=1 -timeout 15m -tags conformance -run 'Conformance|Exception|Rich|Moto' ./conformance
	go test -count=1 -timeout 15m -tags conformance -run 'Conformance|Exception|Rich|Moto' $(contract)
	go test -C testdata/peer -timeout 15m ./instancetypes
	go test -C testdata/peer -timeout 15m -run 'Hash|Kubelet|Answer|Interface|CapacityBuffer' . ./answers
	go test -C testdata/formats -timeout 15m ./...
	go test -C testdata/churn -timeout 15m ./...

chaos: ## let everything go wrong for 30 minutes; minutes=1 for fewer, seed=N to repeat

simulate: export SIMULATE_SEEDS := $(seeds)
simulate: export SIMULATE_SEED := $(seed)
simulate: export SIMULATE_MINUTES := $(minutes)
simulate: export SIMULATE_PLANTED := $(planted)
simulate: export SIMULATE_SAME := $(same)
simulate: build/local ## simulate 200 orders of events in virtual time; seeds=N for more, seed=N to repeat, minutes=N of real time, planted=all to find faults, same=1 to compare runs
	@build/local simulate

attacks: export ATTACKS_PLANTED := $(planted)
attacks: build/local ## try what a compromised node, a tenant and a principal of the account could reach; planted=all to see that each is seen
	@build/local attacks

# The control planes of crash and storm have enough memory. A lazier collector leaves more processor time.
crash: export CRASH_SCENARIO := $(or $(scenario),$(story))
crash: export CRASH_PART := $(part)
crash: export CRASH_REAL := $(real)
crash: export SIMULATE_PLANTED := $(planted)
crash: export GOGC := 400
crash: build/local ## kill each function at each call; real=1 with processes, scenario=drain for some scenarios
	@$(if $(story),echo "story= is now called scenario=";) build/local crash

##@ Measure

bench: build ## measure sizes, cold start, idle tick, pending to CreateFleet, launches, a month
bench-launch: ## launch 1,000 nodes: calls of every kind, seconds
bench-month: ## the cost of a month, idle and with 500 nodes; MONTH_NODES=20 for fewer
bench-scale: ## each function's memory and time with 5,000 nodes and 100,000 pods; SCALE_NODES=100 for fewer
bench-reaction: ## pending pods to CreateFleet, and nodes to registered; REACTION_BURSTS=20 for fewer, REACTION=poll to compare
storm: ## send 1,000 spot warnings in a minute to 500 nodes; STORM_NODES=100 for fewer
fidelity: ## run bursts of pods, and count those that run where the plan has them; FIDELITY_BURSTS=10 for fewer, FIDELITY_SEED=51 for others
# Their control planes have enough memory. A lazier collector leaves more processor time.
storm fidelity: export GOGC := 400

bench-peer: ## plan the same clusters with Karpenter's scheduler and with ours; arguments="-full" for all sizes
	@go run -C testdata/peer . $(arguments)

bench-consolidation: ## consolidate the same fleets with Karpenter and with ours; arguments="-nodes 100" for fewer
	@go run -C testdata/peer . -consolidation $(arguments)

bench-windows: ## plans and prices, by how long the watch gathers pods
	@go run -C testdata/peer . -windows

shortages: ## launch on an EC2 that lacks 70 % of its offerings, and on one that throttles 90 % of the calls
	@go test -count=1 -timeout 20m -v -run '^(TestAShortEC2|TestABusyEC2)$$' ./functions/provision | \
	  grep -E '_test.go:|^(---|FAIL|ok)'

bench-churn: ## live through days in which Jobs and web pods come and go, about 15 minutes; jobs=1000 for shorter ones
	@go test -C testdata/churn -count=1 -timeout 3h -v -run '^TestDays$$' . -args -jobs $(or $(jobs),10000) | \
	  grep -E '_test.go:|^(---|FAIL|ok)'

bench-bill: ## live through 100 made months with Reserved Instances and Savings Plans, about 15 minutes; months=10 for fewer
	@BILL_MONTHS=$(or $(months),100) BILL_EVERY=8 go test -C testdata/lab -count=1 -timeout 3h -v -run '^(TestMonths|TestAMonthWithPoolsThatSleep)$$' ./bill | \
	  grep -E '_test.go:|^(---|FAIL|ok)'

optimum: ## compare 1,000 small plans with the cheapest nodes that HiGHS finds, about an hour; plans=60 for fewer; needs python3 with venv
	@SMALL_PLANS=$(or $(plans),1000) JUDGE=$(CURDIR)/testdata/exact/judge \
	  go test -count=1 -timeout 5h -v -run '^TestSmallPlansAgainstASolver$$' ./shared/planner | \
	  grep -E '_test.go:|^(---|FAIL|ok)'

gangs: export GANGS := $(or $(seeds),1000)
gangs: local ## plan 1,000 random gangs on an EC2 that lacks 70 % of its offerings, compare with the cheapest plans, and let 1,000 run; seeds=100 for fewer
	@go test -count=1 -timeout 20m -v -run '^TestRandomGangs$$' ./shared/planner/gang | \
	  grep -E '_test.go:|^(---|FAIL|ok)'
	@build/local gangs
