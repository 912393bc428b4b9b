# rigprof: make check is what runs everywhere, .ci/run included.

GO      ?= go
TOOL    := $(GO) tool -modfile=.ci/lint.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)

# Packages whose goroutines meet: the race detector pays there. It needs cgo and a C compiler.
RACE := ./internal/profile/... ./internal/device ./internal/device/kfd/... ./internal/device/open ./internal/device/sim ./internal/device/sim/cp ./internal/session/... \
	./internal/perfctr/... ./internal/chrome ./internal/device/sim/trace ./internal/device/sim/count
# Of the interpreter and what it feeds, the tests that run workgroups in parallel.
RACE_SIM := -run 'Parallel|Spinning|Barrier|Cancel|Faults|Invalidate|Workers' ./internal/device/sim/shader
# Of the trace decoder and what decodes engines in parallel, all but what takes long over one stream.
RACE_SQTT := -run 'Parallel|RandomStreams|Program|Option|Golden|Lister|Samples' ./internal/sqtt
RACE_REPORT := -skip 'TestPieces|TestAgainstAMD|TestLostWaves|TestPage' ./internal/report

.PHONY: all build check fmt vet lint generate race portable test mutations fuzz bench demo clean

all: build

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/rigprof ./cmd/rigprof

# test comes last so that what a reader of the log sees last is go test's own lines.
check: fmt vet lint generate build race portable test

fmt:
	@out=$$($(TOOL) gofumpt -l $$(git ls-files -co --exclude-standard '*.go' | grep -v _gen.go)); \
	if [ -n "$$out" ]; then echo "not gofumpt-ed (make fix-fmt):"; echo "$$out"; exit 1; fi

.PHONY: fix-fmt
fix-fmt:
	$(TOOL) gofumpt -l -w $$(git ls-files -co --exclude-standard '*.go')

vet:
	$(GO) vet ./...

lint:
	$(TOOL) staticcheck ./...

# Generated files are committed; the generators must give them again, byte for byte.
generate:
	@before=$$(git status --porcelain | sort; git diff | cksum); \
	$(GO) generate ./... || exit 1; \
	after=$$(git status --porcelain | sort; git diff | cksum); \
	if [ "$$before" != "$$after" ]; then \
		echo "generated files are not what their generators write:"; git status --porcelain; exit 1; fi

race:
	@if [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v "$$($(GO) env CC)" >/dev/null 2>&1; then \
		echo "$(GO) test -race -short $(RACE)"; $(GO) test -race -short $(RACE) && \
		for t in "$(RACE_SIM)" "$(RACE_SQTT)" "$(RACE_REPORT)"; do \
			echo "$(GO) test -race -short $$t"; eval "$(GO) test -race -short $$t" || exit 1; done; \
	else echo "no C compiler: tests with -race are left out"; fi

# The interpreter and the trace decoder with the plain loops that other processors use; and whether another one builds all of it.
portable:
	$(GO) test -tags purego -short ./internal/device/sim/shader ./internal/sqtt
	GOARCH=arm64 $(GO) vet ./internal/device/... ./internal/sqtt

test:
	@$(GO) test ./...

# Every mutation of the counting and trace programs, where test tries a sample and two dies of eight: ten minutes or so.
mutations:
	$(GO) test -v -timeout 60m -run Mutations ./internal/device/sim/count -all-mutations
	$(GO) test -v -timeout 60m -run Mutations ./internal/device/open -all-mutations

# A short run of every fuzz target, one after the other.
FUZZTIME ?= 20s
fuzz:
	@for f in $$(git grep -lE '^func Fuzz' -- '*_test.go'); do \
		for t in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$f); do \
			echo "$$(dirname $$f) $$t"; \
			$(GO) test ./$$(dirname $$f) -run '^$$' -fuzz "^$$t\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; \
		done; done

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# demo records a bundled kernel on the simulated GPU and prints its waves and counters.
demo: build
	@mkdir -p out
	bin/rigprof trace --device sim:gfx1100 --check --limit 8 --capture out/vadd.rigprof --launch testdata/kernels/launches.yaml#vadd testdata/kernels/gfx1100/vadd.co
	bin/rigprof counters --device sim:gfx1100 -e SQ_WAVES,SQ_INSTS_VALU --capture out/vadd-counters.rigprof --launch testdata/kernels/launches.yaml#vadd testdata/kernels/gfx1100/vadd.co

clean:
	rm -rf bin out
