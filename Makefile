# relaypdf. `make` lists the targets.

GO       ?= go
DATA_DIR ?= ./data
# The race detector makes rendering slow; a test that hangs must still end.
TEST_TIMEOUT ?= 80m
TEST_FLAGS   ?=
BENCH_FLAGS  ?=
# How long `make chaos` kills servers. CI takes one minute.
CHAOS_TIME   ?= 10m

# How long `make fuzz` looks for inputs that break something. CI takes one minute.
FUZZTIME     ?= 10m

# The race detector, and its checks of pointers, for all but what computes on
# memory that one goroutine has at a time, and takes ten to ninety times as long when every access
# to it is watched. SQLite is C in Go's clothes, whose memory no line of ours touches;
# goja and its regular expressions are an interpreter that one goroutine drives at a time;
# the others compress, hash, match, and read and write images. What calls them is watched.
UNWATCHED := modernc.org/sqlite/lib modernc.org/libc modernc.org/memory github.com/dop251/goja/... github.com/dlclark/regexp2/... \
	compress/... encoding/base64 hash/... image/... regexp/... golang.org/x/image/... golang.org/x/crypto/argon2 golang.org/x/crypto/blake2b
RACE      := -race $(foreach package,$(UNWATCHED),'-gcflags=$(package)=-race=false -d=checkptr=0')

# A program with the race detector sleeps for a second before it ends, each of them: those that tests
# start over and over, and each package's own. What tests start has ended by then.
export GORACE ?= atexit_sleep_ms=0

# With -trimpath everything that is built here, whatever for, shares one cache.
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS) -trimpath)

LINT    := $(GO) tool -modfile=.ci/tools.mod golangci-lint
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := $(if $(VERSION),-X github.com/relaypdf/relaypdf/internal/version.Version=$(VERSION))

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install what the program and its tests need (Debian 12, 13), and only what is missing.
	@.ci/setup test

.PHONY: run
run: ## Build and start a development server with its data in ./data; prints a key and a first curl.
	@.ci/setup run
	@$(MAKE) --no-print-directory build
	bin/relaypdf serve --dev --data-dir $(DATA_DIR)

.PHONY: assets
assets: ## Bundle what is embedded of npm's packages (needs npm and, once, the network).
	@$(GO) run ./cmd/assets

.PHONY: build
build: assets ## Build bin/relaypdf.
	CGO_ENABLED=0 $(GO) build -ldflags '$(LDFLAGS)' -o bin/relaypdf ./cmd/relaypdf

# What takes longest begins first: otherwise it is still at work, alone, when all else is done.
LONGEST := ./render/pdf ./api ./internal/test/e2e ./render ./render/chrome ./static/gallery

# A test that fails fails the run: a test that passes only at times is a defect, and no run hides it. Its output is
# shown when its package ends, so that a run that is cut off has shown it.
GOTESTSUM := $(GO) tool -modfile=.ci/tools.mod gotestsum --format pkgname-and-test-fails --format-icons text --hide-summary skipped

# Packages tested at once. With more, a machine that starts programs slowly has its cores busy with so many that tests
# wait longer than they may.
PACKAGES := $(shell nproc)

# Whether `make test` runs what sharedtest.Slow marks, as .ci/nightly does.
SLOW     ?= off

# TestChaos and TestFleet have targets of their own.
.PHONY: test
test: setup build ## Run the tests with the race detector; with SLOW=on those too that .ci/nightly runs.
	SLOW_TESTS=$(SLOW) .ci/in-memory $(GOTESTSUM) --packages '$(LONGEST) ./... ./.ci/licenses' -- $(RACE) -p $(PACKAGES) -timeout $(TEST_TIMEOUT) -skip '^Test(Chaos|Fleet)$$' $(TEST_FLAGS)
	@test '$(SLOW)' = on || echo 'Slow tests were left out: make test SLOW=on, or .ci/nightly'

.PHONY: quick
quick: ## Vet, and run the tests that start no browser, office or server: after each edit, in a minute or two.
	$(GO) vet ./...
	$(GO) test -short -vet=off $(TEST_FLAGS) ./... ./.ci/licenses

.PHONY: bench
bench: setup build ## Measure ours against the browser's floor.
	$(GO) run ./cmd/bench $(BENCH_FLAGS)

.PHONY: soak
soak: setup assets ## Render 10,000 documents, and compare the memory at the end with that after 1,000.
	$(GO) test -count=1 -timeout 60m -run TestSoak -v ./internal/test/e2e -args -soak 10000

.PHONY: chaos
chaos: setup assets ## Kill servers under load again and again, and check that nothing was lost.
	.ci/in-memory $(GO) test -count=1 -timeout 60m -run TestChaos -parallel 4 -v ./internal/test/e2e -args -chaos $(CHAOS_TIME)

# How long `make fleet` hurts the parts of a fleet.
FLEET_TIME   ?= 10m

.PHONY: fleet
fleet: setup assets ## Kill, freeze, cut off and slow each part of a fleet in two regions, and check that nothing was lost.
	.ci/in-memory $(GO) test -count=1 -timeout 60m -run TestFleet -v ./internal/test/e2e -args -fleet $(FLEET_TIME)

.PHONY: fuzz
fuzz: setup assets ## Send mutated files to every operation, and run Go's fuzz tests.
	@GO='$(GO)' FUZZTIME=$(FUZZTIME) .ci/in-memory .ci/fuzz

.PHONY: golden
golden: setup assets ## Rewrite the golden files from what the tests see now. Read the diff.
	UPDATE_GOLDEN=1 $(GO) test -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...
	@git status --short -- '*testdata*'

# What builds and runs images: docker or podman.
CONTAINER ?= $(shell command -v docker podman | head -n 1)
IMAGE     ?= relaypdf

.PHONY: image
image: ## Build the container image relaypdf:full, which has everything.
	$(CONTAINER) build --target full --build-arg VERSION='$(VERSION)' -t $(IMAGE):full -t $(IMAGE):latest $(CONTAINER_FLAGS) .

.PHONY: images
images: image ## Build relaypdf:full, relaypdf:slim and relaypdf:core, and print their sizes.
	$(CONTAINER) build --target slim --build-arg VERSION='$(VERSION)' -t $(IMAGE):slim $(CONTAINER_FLAGS) .
	$(CONTAINER) build --target core --build-arg VERSION='$(VERSION)' -t $(IMAGE):core $(CONTAINER_FLAGS) .
	$(CONTAINER) images $(IMAGE)

.PHONY: image-test
image-test: ## Make documents in the images, with the runtime's own seccomp profile and with deploy/seccomp.json.
	deploy/image-test '$(CONTAINER)' '$(IMAGE)' $(CONTAINER_RUN_FLAGS)

.PHONY: sbom
sbom: build ## List what the program and its images consist of, as CycloneDX, in bin/sbom.json.
	$(GO) run -modfile=.ci/sbom.mod ./.ci/sbom bin/relaypdf >bin/sbom.json

.PHONY: release-dry
release-dry: setup assets ## Do all of a release but publishing it, and try what was built; in dist.
	.ci/release-dry

.PHONY: lint
lint: ## Check the source with golangci-lint, as pinned in .ci/tools.mod.
	$(LINT) run

.PHONY: systems
systems: assets ## Vet and build the command line for macOS and Windows, in bin/darwin and bin/windows.
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' .ci/systems

.PHONY: gallery
gallery: setup assets ## Draw the thumbnails of changed layouts, and a contact sheet in bin/gallery.pdf.
	$(GO) run ./cmd/gallery

# The tests that look at pages, and keep a picture of each where SCREENSHOTS says so.
LOOKS := FromSignUpToTheFirstDocument PagesOfABusyAccount PublicPagesInABrowser FailedDeliveriesAreReplayed LogInWithAProvider SessionThatEndsInAFormLosesNothing \
	MemberJoinsAndLeaves AutoReload TemplateFromTheGalleryToTheAPI
space := $(subst ,, )

.PHONY: screenshots
screenshots: setup build ## Take pictures of every page, light, dark and on a telephone, into bin/screenshots, and the README's into docs/pictures.
	SCREENSHOTS='$(CURDIR)/bin/screenshots' PICTURES='$(CURDIR)/docs/pictures' \
		$(GO) test ./internal/test/e2e -count=1 -timeout $(TEST_TIMEOUT) -run '^Test($(subst $(space),|,$(strip $(LOOKS))))$$'

.PHONY: generate
generate: ## Rewrite generated source.
	$(GO) generate ./...

.PHONY: licenses
licenses: ## Rewrite the list of modules in docs/licenses.md.
	$(GO) run ./.ci/licenses

.PHONY: prose
prose: setup ## Check the prose of Markdown files and Go comments, and the tables of Markdown files.
	GO=$(GO) .ci/prose/check

.PHONY: openapi
openapi: setup ## Lint the OpenAPI document with Spectral and Redocly.
	.ci/openapi/check

.PHONY: check
check: lint prose openapi systems ## Lint, check the prose, and fail when generated files, go.mod or the licences are out of date.
	.ci/drift
	$(GO) run ./.ci/licenses -check
	$(GO) tool -modfile=.ci/release.mod goreleaser check --quiet

.PHONY: vuln
vuln: ## Look for known vulnerabilities (needs the network).
	$(GO) tool -modfile=.ci/tools.mod govulncheck ./...
