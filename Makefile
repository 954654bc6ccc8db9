# Targets for building, testing and running seriatim. `make` lists them.
# Continuous integration runs these targets and nothing else.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
BIN      := bin/seriatim
# Not LINT: make has a variable of that name, with another program in it.
GOLANGCI ?= $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULN   ?= $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0
# A copy of the vulnerability database; empty: that of its publisher.
VULNDB   ?=

# Modules of their own, so that the product's go.mod stays short.
NESTED := test/api/conformance/servicebus-go test/faults/servicebus/programs/gocloud test/tools test/tools/alerts test/tools/browser test/tools/chart test/tools/peers

# The same flags for the program, its tests and vet, so that each package is compiled once.
export CGO_ENABLED ?= 0
export GOFLAGS     ?= -trimpath

# hashicorpmetrics selects the metrics module that raft and memberlist share; without it
# raft's metrics go to another module. grpcnotrace leaves out the trace pages of gRPC, whose
# templates make the linker keep every method of every type. invariants checks the state
# after every command.
TAGS      := hashicorpmetrics grpcnotrace
TEST_TAGS := $(TAGS) invariants

empty :=
space := $(empty) $(empty)
comma := ,

# Timeouts are those of the whole test binary of a package.
TEST_TIMEOUT ?= 15m
FUZZTIME     ?= 20s

# How much is measured: by bench, and by bench-compare.
BENCH_RUNS     ?= 3
BENCH_TIME     ?= 5s
BENCH          ?= .
BENCH_COUNT    ?= 6
BENCHFLAGS     ?=
BENCH_PACKAGES ?= ./queue/... ./fsm/... ./transport/... ./cluster/...
BENCHSTAT      ?= $(GO) run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/seriatim
	$(if $(GOOS),GOOS=$(GOOS) GOARCH=$(GOARCH)) $(GO) build -tags '$(TAGS)' $(FLAGS) -ldflags '-s -w $(LDFLAGS) -X main.version=$(VERSION)' -o $(BIN) ./cmd/seriatim

# Packages that run only at the start, for a command line, or once for each connection are not
# inlined in the image. That makes it 1.2 MB smaller.
NOT_INLINED = github.com/seriatimq/seriatim/cmd/... github.com/seriatimq/seriatim/transport/ops/... \
  github.com/go-viper/... github.com/hashicorp/go-msgpack/... github.com/hashicorp/go-sockaddr/... \
  github.com/hashicorp/memberlist github.com/miekg/dns github.com/prometheus/... github.com/spf13/... \
  go.opentelemetry.io/... go.yaml.in/... google.golang.org/grpc/... gopkg.in/... golang.org/x/net/... \
  archive/... compress/... crypto/tls crypto/x509 encoding/asn1 encoding/gob encoding/xml mime/... net/http regexp/... \
  runtime/pprof text/...

# CONTAINERS builds images: docker, podman or buildah. PLATFORM is their platform, such as linux/arm64.
CONTAINERS ?= docker
PLATFORM   ?= linux/$(shell $(GO) env GOARCH)
IMAGE      ?= seriatim:latest

# The image leaves out net/http's HTTP/2, which the program does not use.
.PHONY: image-files
image-files: TAGS += nethttpomithttp2
image-files: ## the files of the container image, in bin/image
	rm -rf bin/image && mkdir -p bin/image/rootfs/usr/local/bin bin/image/rootfs/tmp bin/image/data/seriatim && chmod 1777 bin/image/rootfs/tmp
	$(MAKE) --no-print-directory build TAGS='$(TAGS)' BIN=bin/image/rootfs/usr/local/bin/seriatim GOOS=$(firstword $(subst /, ,$(PLATFORM))) GOARCH=$(lastword $(subst /, ,$(PLATFORM))) \
	  FLAGS="$(foreach packages,$(NOT_INLINED),-gcflags='$(packages)=-l')" LDFLAGS=-funcalign=16

.PHONY: image
image: image-files ## build the container image: CONTAINERS='buildah' IMAGE=name:tag PLATFORM=linux/arm64
	$(CONTAINERS) build --platform $(PLATFORM) --tag $(IMAGE) --file deploy/container/Dockerfile bin/image

.PHONY: release
release: ## build everything of a release in bin/release and publish nothing: VERSION=v0.1.0, ONLY='binaries packages chart sbom image'
	GO='$(GO)' VERSION='$(filter v%,$(VERSION))' CONTAINERS='$(CONTAINERS)' ONLY='$(ONLY)' deploy/packages/release

.PHONY: test-containers
test-containers: image-files ## three containers of the image on a network of their own; needs root, podman and buildah, else it is skipped
	$(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 15m ./test/cluster/containers -args -image-files '$(CURDIR)/bin/image'

.PHONY: chart
chart: ## write deploy/kubernetes from the Helm chart, and copy alerts and dashboard into it
	$(GO) test -C test/tools/chart -count 1 . -run '^(TestManifests|TestCopies)$$' -args -update

# Helm and the types of Kubernetes take a minute or two to compile the first time.
.PHONY: test-chart
test-chart: ## the Helm chart over a matrix of values, decoded strictly, with its invariants; fetches helm as a Go module
	$(GO) test -C test/tools/chart -count 1 .

# The folder with the edited files of a fault build.
OVERLAY = $(abspath bin/_overlay)

.PHONY: build-faults
build-faults: ## build bin/seriatim-faults, with hooks, failpoints and planted bugs (test/faults/plants); not for use
	$(GO) run ./test/faults/plants/write -out '$(OVERLAY)'
	$(GO) build -overlay '$(OVERLAY)/overlay.json' -tags '$(TAGS) faults' -ldflags '-X main.version=$(VERSION)-faults' -o $(BIN)-faults ./cmd/seriatim

.PHONY: run
run: build ## build, then run a three-node cluster with its data in ./data: ARGS='--base-port 19324'
	$(BIN) dev --nodes 3 --data-dir ./data $(ARGS)

.PHONY: recording
recording: build ## run three nodes, kill the leader and draw docs/images/failover.svg
	docs/images/record '$(BIN)'

# Tests mostly wait: for elections, timeouts and processes. So two suites with server processes run
# at the same time, and beside them one package after another, with PARALLEL tests at a time. More
# would slow each other down on a small machine.
PARALLEL ?= 8

SUITES := ./test/api/... ./test/cluster/... ./test/faults/... ./test/kit/...

.PHONY: upgrade-mixed
upgrade-mixed: ## upgrade a cluster to this program with one attribute more, of the next format version, under load; builds both
	$(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 40m -run '^TestMixedVersions$$' ./test/cluster/upgrade -args -mixed

# All packages are built first. Otherwise the two halves would compile the same ones twice.
.PHONY: test
test: build ## the tests of every suite that need only Go: units, scenarios, conformance, failover
	$(GO) build -tags '$(TEST_TAGS)' ./...
	+$(MAKE) --no-print-directory -j 2 test-packages test-suites

.PHONY: test-packages
test-packages: ## the tests of the packages, of the rules and of whole clusters in virtual time
	$(GO) test -vet off -p 1 -parallel $(PARALLEL) -tags '$(TEST_TAGS)' -timeout $(TEST_TIMEOUT) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(SUITES))")

.PHONY: test-suites
test-suites: build ## the suites that run servers
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) test -vet off -p 2 -tags '$(TEST_TAGS)' -timeout $(TEST_TIMEOUT) $(SUITES)

.PHONY: race
race: export CGO_ENABLED = 1
race: ## the tests of the product's packages under the race detector
	$(GO) test -race -tags '$(TEST_TAGS)' -timeout $(TEST_TIMEOUT) ./cmd/... ./cluster/... ./fsm/... ./queue/... ./transport/...

.PHONY: format-check
format-check: ## fail if a Go file is not formatted
	@files=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	if [ -n "$$files" ]; then echo "not formatted, run gofmt -w:"; echo "$$files"; exit 1; fi

# The packages with files that the tags select.
TAGGED = $(shell git grep -lE '^//go:build !?(invariants|faults)' -- '*.go' | xargs -n 1 dirname | sort -u | sed 's|^|./|')

.PHONY: vet
vet: ## go vet, with and without the test tags and the fault hooks
	$(GO) vet -tags '$(TEST_TAGS)' ./...
	$(GO) vet -tags '$(TAGS)' $(TAGGED)
	$(GO) vet -tags '$(TEST_TAGS) faults' $(TAGGED)

.PHONY: lint
lint: format-check vet ## formatting, vet, the rules of test/arch, and the linters of .golangci.yml, also for fault builds and nested modules
	$(GO) test -tags '$(TEST_TAGS)' ./test/arch/...
	$(GOLANGCI) run --timeout 20m ./...
	$(GOLANGCI) run --timeout 20m --build-tags '$(subst $(space),$(comma),$(TEST_TAGS) faults)' ./...
	@set -e; for module in $(NESTED); do echo "$$module"; $(GO) vet -C $$module ./...; \
	  (cd $$module && $(GOLANGCI) run --timeout 20m --config '$(CURDIR)/.golangci.yml' ./...); done

.PHONY: prose
prose: ## find sentences, openings and words that the style forbids in documents, texts and comments; fails if there are any: IN='docs cmd'
	@$(GO) run -C test/tools ./prose -root '$(CURDIR)' $(IN)

.PHONY: lint-prose
lint-prose: prose ## the same, and the tests of the checker
	$(GO) test -C test/tools ./prose

.PHONY: vulnerabilities
vulnerabilities: ## known vulnerabilities in the code that the binary calls, by the Go vulnerability database or that of VULNDB=url
	$(GOVULN) $(if $(VULNDB),-db '$(VULNDB)') -tags '$(subst $(space),$(comma),$(TAGS))' ./cmd/...

bin/axe-core/package/axe.min.js:
	mkdir -p bin/axe-core
	cd bin/axe-core && npm pack --silent axe-core@4.14.1 && tar -xzf axe-core-4.14.1.tgz

.PHONY: test-console
test-console: build bin/axe-core/package/axe.min.js ## every page of the console in Chromium, light and dark, wide and narrow, with axe-core; needs chromium and npm; leaves pictures in bin/console
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' AXE='$(CURDIR)/bin/axe-core/package/axe.min.js' PICTURES='$(CURDIR)/bin/console' \
		$(GO) test -C test/tools/browser -count 1 -timeout 30m ./...

.PHONY: test-alerts
test-alerts: ## promtool: the rules of deploy/prometheus and their tests, and the queries of the dashboard; builds promtool
	$(GO) test -C test/tools/alerts -tags remove_all_sd ./...

.PHONY: generate
generate: build ## regenerate code and tables; changes nothing if they are up to date
	$(GO) generate ./...
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) test -tags '$(TAGS)' ./test/api/docs -run '^(TestSettingsTable|TestSnippets)$$/^metrics$$' -update
	$(GO) test -tags '$(TAGS)' ./cmd/seriatim -run '^(TestCommandLineReference|TestAttributePages)$$' -update
	git diff --exit-code --stat -- docs '*.pb.go'

.PHONY: conformance
conformance: build ## boto3, JavaScript, Java, the AWS CLI, Celery and the SDKs of Azure against a cluster; installs them from their registries
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' test/api/conformance/run

.PHONY: terraform
terraform: build ## queues and topics by Terraform with the AWS provider, from the folder in SERIATIM_TERRAFORM_PLUGINS if it is set
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 30m ./test/api/terraform -args -terraform

.PHONY: conformance-auth
conformance-auth: build ## the same, presigned URLs and curl, against a cluster that accepts only signed requests and refuses others
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' CONFORMANCE_AUTH=1 test/api/conformance/run

.PHONY: stubs
stubs: build ## stubs of the native API for Python and TypeScript, generated and used against a cluster; installs the generators from their registries
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' CONFORMANCE_ONLY='grpc-python grpc-typescript' test/api/conformance/run

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME each
	@set -e; for package in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -tags '$(TEST_TAGS)' -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$target"; \
	    $(GO) test -tags '$(TEST_TAGS)' -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
	  done; \
	done

.PHONY: bench
bench: build ## the workloads of the performance goals 1 to 4 against a fresh cluster; prints a table
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) run -tags '$(TAGS)' ./test/bench -runs $(BENCH_RUNS) -duration $(BENCH_TIME)

# With BENCH_SCALE=1 the numbers are those of the goals, and all scenarios take about 25 minutes and
# 10 GB of memory. A measured scenario replaces its part of the record; the other parts stay.
BENCH_SCALE ?= 0.1

.PHONY: bench-goals
bench-goals: build ## goals 5 to 10, states, faults and memory, into test/bench/results/goals.json: BENCH_SCALE=1 GOALS=7
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) run -tags '$(TAGS)' ./test/bench -goals -scale $(BENCH_SCALE) -only '$(GOALS)'

.PHONY: bench-auth
bench-auth: build ## rates of sends with auth, with auth and TLS, and without, in turns; prints a table
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) run -tags '$(TAGS)' ./test/bench -auth -runs $(BENCH_RUNS) -duration $(BENCH_TIME)

# A peer takes part if it is installed: apt-get install --no-install-recommends
# rabbitmq-server. nats-server is built from its module, ElasticMQ and Artemis are fetched if
# java and mvn are installed. PEERS=nats,rabbitmq selects peers. DISK=1.5ms gives every server its own
# disk, on which a sync takes that time; it needs strace.
bench-streams: PEERS = nats
bench-streams: PEERS_FLAGS = -streams
bench-streams: PEERS_NAME = streams
bench-links: PEERS = grpc,amqp,rabbitmq,artemis
bench-links: PEERS_FLAGS = -links
bench-links: PEERS_NAME = links
PEERS_NAME = $(if $(DISK),disks,peers)
PEERS_FLAGS = $(if $(DISK),-disk $(DISK))
PEERS_RECORD = $(CURDIR)/test/bench/results/$(PEERS_NAME).json

.PHONY: bench-peers bench-streams bench-links
bench-peers: ## the same load on seriatim, NATS, RabbitMQ and ElasticMQ, into test/bench/results: DISK=1.5ms
bench-streams: ## calls and streams of the native API beside HTTP and NATS, into test/bench/results
bench-links: ## links of AMQP 1.0 beside HTTP, gRPC, RabbitMQ and ActiveMQ Artemis, into test/bench/results
bench-peers bench-streams bench-links: build
	@mkdir -p '$(dir $(PEERS_RECORD))'
	$(GO) run -C test/tools/peers . -seriatim '$(CURDIR)/$(BIN)' -rounds $(BENCH_RUNS) -duration $(BENCH_TIME) -only '$(PEERS)' $(PEERS_FLAGS) -out '$(PEERS_RECORD)'

.PHONY: results
results: ## write docs/results from the records of benchmarks and fault runs
	$(GO) run ./test/results

SITE_PYTHON ?= python3

.PHONY: site
site: ## the documentation as a site with search, in bin/site; fails on a broken link; installs MkDocs from its registry
	$(SITE_PYTHON) -m venv bin/site-venv
	bin/site-venv/bin/pip install --quiet --disable-pip-version-check -r deploy/site/requirements.txt
	NO_MKDOCS_2_WARNING=1 bin/site-venv/bin/mkdocs build --strict --config-file deploy/site/mkdocs.yml

.PHONY: bench-go
bench-go: ## Go benchmarks of the domain, the state machine and the stores
	$(GO) test -tags '$(TAGS)' -run '^$$' -bench . -benchmem $(BENCHFLAGS) $(BENCH_PACKAGES)

# The old revision is unpacked beside this tree, which stays as it is.
.PHONY: bench-compare
bench-compare: ## the Go benchmarks here against those of BASE=revision, by benchstat
	@test -n '$(BASE)' || { echo 'say which revision: make bench-compare BASE=v0.1.0'; exit 2; }
	@set -e; old=$$(mktemp -d); trap 'rm -rf "$$old"' EXIT; \
	git archive '$(BASE)' | tar -x -C "$$old"; \
	for side in old new; do \
	  tree=.; if [ $$side = old ]; then tree="$$old"; fi; \
	  (cd "$$tree" && $(GO) test -tags '$(TAGS)' -run '^$$' -bench '$(BENCH)' -benchmem -count $(BENCH_COUNT) $(BENCH_PACKAGES)) > "$$old/$$side.txt"; \
	done; \
	$(BENCHSTAT) "$$old/old.txt" "$$old/new.txt"

.PHONY: simulate
simulate: ## compare 50 random histories, or that of SEED=n, with the reference model
	$(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 2h ./test/rules/model \
	  $(if $(SEED),-args -seed $(SEED) -commands 20000,-args -seeds 50 -commands 20000)

.PHONY: partitions
partitions: build ## fixed scenarios of a divided, deaf and flapping network; needs Linux and user namespaces, not root
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 15m ./test/cluster/partition -args -all

.PHONY: bubble
bubble: ## run clusters with faults in virtual time: SEEDS of them (200), or that of SEED=n fifty times
	$(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 12h -run '^TestBubble$$' ./test/bubble \
	  -args $(if $(SEED),-seed $(SEED) -times 50,-seeds $(or $(SEEDS),200)) -output '$(abspath bin/bubble)'

.PHONY: recoveries
recoveries: ## recover each set of five nodes with unequal logs after the loss of the others, and start it in each order
	SERIATIM_RECOVERIES=all $(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 3h -run '^TestRecoveryOfAnyNodes$$' ./cluster

.PHONY: stale-reads
stale-reads: build ## ask leaders that were paused, or cut off with a learner, for outdated data: TRIES of each (1000)
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 6h -run '^TestStaleReads' ./test/cluster/partition -args -stale-tries $(or $(TRIES),1000)

.PHONY: unauthenticated
unauthenticated: build ## p99 of clients and processor time of servers, with and without attackers at the client and admin ports, in TURNS of 5 s (5)
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 1h ./test/cluster/unauthenticated -args -turns $(or $(TURNS),5)

# Without the tag invariants: its checks walk over all ids.
.PHONY: window
window: build ## a deduplication window with IDS ids (10 million) on three nodes: leader change, restart, growing, shrinking, forgetting
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) test -tags '$(TAGS)' -count 1 -v -timeout 3h ./test/cluster/window -args -ids $(or $(IDS),10000000)

# A history has 20,000 commands; both tests run all of them.
.PHONY: twins
twins: ## COMMANDS random commands (a million) on six twins of the state machine, one of them in another process
	$(GO) test -tags '$(TAGS)' -count 1 -v -timeout 12h -run '^(TestComparison|TestOtherProcess)$$' ./test/rules/model \
	  -args -seeds $$(( ($(or $(COMMANDS),1000000) + 19999) / 20000 )) -commands 20000

# A run leaves its history, its report, its taps and the logs of the nodes in FAULTS_DIR. The nodes
# run a fault build, which records committed entries and has clocks that a test can move.
FAULTS_DIR     ?= bin/faults
FAULTS_TIME    ?= 80s
FAULTS_PROFILE ?= smoke
# BODIES is the body store of the nodes, segments or memory; empty: the default of the product.
FAULTS_RUN      = SERIATIM_BINARY='$(CURDIR)/$(BIN)-faults' $(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 24h -run '^TestFaults$$' ./test/faults \
	-args -hooks $(if $(TLS),-tls) $(if $(BODIES),-bodies $(BODIES)) -seed $(or $(SEED),1) -output '$(abspath $(FAULTS_DIR))' -commit '$(VERSION)'

.PHONY: faults
faults: build-faults ## break nodes, disks and networks under real clients, and check the answers that the clients got: SEED=n, SCENARIO=name or list, ONLY='resets,loss', TLS=1, BODIES=memory
	$(FAULTS_RUN) -duration $(FAULTS_TIME) -profile $(FAULTS_PROFILE) $(if $(SCENARIO),-scenario '$(SCENARIO)') $(if $(ONLY),-only '$(ONLY)')

# All seeds run, even if one of them finds a violation.
.PHONY: night
night: build-faults ## 20 schedules of 90 s with seeds from SEED on, then every fixed scenario
	@failed=; for seed in $$(seq $(or $(SEED),1) $$(($(or $(SEED),1) + 19))); do \
	  $(MAKE) --no-print-directory faults SEED=$$seed FAULTS_DIR='$(FAULTS_DIR)/night-'$$seed FAULTS_PROFILE=night FAULTS_TIME=90s || failed="$$failed $$seed"; done; \
	$(MAKE) --no-print-directory faults-scenarios || failed="$$failed scenarios"; test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

.PHONY: test-oncall
test-oncall: build-faults ## twelve faults on real nodes: the console alone and the commands alone explain each
	SERIATIM_BINARY='$(CURDIR)/$(BIN)-faults' $(GO) test -tags '$(TEST_TAGS) faults' -count 1 -v -timeout 30m ./test/faults/oncall

.PHONY: faults-scenarios
faults-scenarios: build-faults ## every fixed scenario once
	SERIATIM_BINARY='$(CURDIR)/$(BIN)-faults' $(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 2h -run '^TestScenarios$$' ./test/faults \
	  -args -hooks -every $(if $(TLS),-tls) $(if $(BODIES),-bodies $(BODIES)) -seed $(or $(SEED),1) -output '$(abspath $(FAULTS_DIR))/scenarios' -commit '$(VERSION)'

# SOAK is its length, or HOURS.
SOAK ?= $(or $(HOURS),4)h
.PHONY: soak
soak: build-faults ## one long run, judged every few minutes, that stops at the first violation: HOURS=h or SOAK=65m; BACKLOG=2GB, TLS=1, BODIES=memory
	$(FAULTS_RUN) -profile soak -duration $(SOAK) $(if $(BACKLOG),-backlog $(BACKLOG))

# The clients are programs with the SDKs of Azure: they need Python, and Java with Maven.
SB_FAULTS := test/faults/servicebus
SB_PYTHON := $(CURDIR)/$(SB_FAULTS)/python/.venv/bin/python

.PHONY: servicebus-clients
servicebus-clients:
	python3 -m venv $(SB_FAULTS)/python/.venv
	$(SB_PYTHON) -m pip install --quiet --disable-pip-version-check -r test/api/conformance/servicebus-python/requirements.txt
	cd $(SB_FAULTS)/java && mvn --batch-mode --quiet compile dependency:copy-dependencies

.PHONY: faults-servicebus
faults-servicebus: build servicebus-clients ## kill the leader every 10 s under Azure Service Bus clients, in Python and Java: KILLS=10m
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 5h -run '^(TestLeaderKills|TestSchedules)$$' ./$(SB_FAULTS) \
	  -args -time $(or $(KILLS),10m) -python '$(SB_PYTHON)' -java '$(CURDIR)/$(SB_FAULTS)/java/target/classes:$(CURDIR)/$(SB_FAULTS)/java/target/lib/*'

# Celery, the Go Cloud Development Kit and Camel.
SB_PROGRAMS := $(SB_FAULTS)/programs

.PHONY: faults-servicebus-programs
faults-servicebus-programs: build ## kill leaders under programs that others have written on the SDKs of Azure
	python3 -m venv $(SB_PROGRAMS)/celery/.venv
	$(SB_PROGRAMS)/celery/.venv/bin/pip install --quiet --disable-pip-version-check -r $(SB_PROGRAMS)/celery/requirements.txt
	$(GO) build -C $(SB_PROGRAMS)/gocloud -o '$(CURDIR)/bin/gocloud' .
	cd $(SB_PROGRAMS)/camel && mvn --batch-mode --quiet compile dependency:copy-dependencies
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 30m -run '^TestPrograms$$' ./$(SB_FAULTS) \
	  -args -time 1s -celery '$(CURDIR)/$(SB_PROGRAMS)/celery/.venv/bin/python' -gocloud '$(CURDIR)/bin/gocloud' \
	  -camel '$(CURDIR)/$(SB_PROGRAMS)/camel/target/classes:$(CURDIR)/$(SB_PROGRAMS)/camel/target/lib/*'

.PHONY: faults-servicebus-selftest
faults-servicebus-selftest: build-faults servicebus-clients ## plant two bugs for each checker of faults-servicebus, which must find them: BUG=n
	SERIATIM_BINARY='$(CURDIR)/$(BIN)-faults' $(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 1h -run '^TestPlantedBugs$$' ./$(SB_FAULTS) \
	  -args -time $(or $(KILLS),40s) -bug $(or $(BUG),-1) -python '$(SB_PYTHON)'

.PHONY: faults-check
faults-check: ## judge and draw a stored run again: HISTORY=its folder
	$(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 1h -run '^TestFaults$$' ./test/faults -args -check '$(abspath $(HISTORY))' -output '$(abspath $(HISTORY))'

.PHONY: crash
crash: build ## start a node from every state in which a power cut may leave a data directory: SEED=n, BODIES=memory, ENCRYPTED=1
	SERIATIM_BINARY='$(CURDIR)/$(BIN)' $(GO) test -tags '$(TEST_TAGS)' -count 1 -v -timeout 30m ./test/faults/crash \
	  -args -long -seed $(or $(SEED),1) $(if $(BODIES),-bodies $(BODIES)) $(if $(ENCRYPTED),-encrypted)

.PHONY: faults-selftest
faults-selftest: build-faults ## plant each of 39 bugs in a server, and check that the checkers find it: BUG=n; leaves bin/selftest/selftest.html
	$(GO) test -tags '$(TEST_TAGS) faults' -count 1 -overlay '$(OVERLAY)/overlay.json' -run '^Test(Hook|ShiftedClock|Operation|ATap)' ./fsm/codec ./cmd/seriatim/server
	$(GO) test -tags '$(TEST_TAGS) faults' -overlay '$(OVERLAY)/overlay.json' -count 1 -v -timeout 90m -run '^TestSelftest$$|^TestPlaces$$' ./test/faults \
	  -args -fault-binary '$(abspath $(BIN)-faults)' -bug $(or $(BUG),-1) -output '$(abspath bin/selftest)'
