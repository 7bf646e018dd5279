# `make help` lists the targets.

PRESET ?= release
FUZZ_SECONDS ?= 10
SEEDS ?= 2000

# So that a sanitizer's report names functions and lines.
export ASAN_SYMBOLIZER_PATH ?= $(shell command -v llvm-symbolizer-19)
export TSAN_OPTIONS ?= external_symbolizer_path=$(ASAN_SYMBOLIZER_PATH)

CTEST = ctest --output-on-failure --no-tests=error -j $$(nproc)

.PHONY: help setup demo build test test-long test-asan test-tsan test-nightly test-gpu bench bench-gpu dist format lint clean
.DEFAULT_GOAL := help

help:       ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup:      ## install what is missing (Debian 12; elsewhere: print it)
	@scripts/setup

build: setup ## both programs, in build/bin/   [PRESET=dev|release|asan|tsan|sim|fuzz]
	@scripts/build $(PRESET)
	@ln -sfn $(PRESET)/bin build/bin

demo: setup ## the product's main job on this machine: no GPU, no model server
	@scripts/build release specgen specgen-node
	@ln -sfn release/bin build/bin
	build/bin/specgen doctor
	build/bin/specgen optimize tasks/softmax tasks/hinge_loss --model author --iterations 3 --time-budget 100s

test: build ## everything that must hold, quickly
	cd build/$(PRESET) && $(CTEST) -LE 'long|nightly|gpu'

test-long: setup ## kill loops, full disks, all tasks admitted, the archive in a bare root
	@scripts/build release
	cd build/release && $(CTEST) -L long
	scripts/dist && scripts/check-dist build/dist/specgen-*.tar.gz

test-asan: setup ## unit and simulation tests under the address and undefined-behaviour sanitizers
	@scripts/build asan unit_tests
	cd build/asan && $(CTEST) -L 'unit|sim' -E NOT_BUILT

test-tsan: setup ## the modules that have threads under the thread sanitizer (no other may: tests/tree/tidy_test.cc)
	@scripts/build tsan base_test runtime_test journal_test journal_fault_test kvcache_test runtime_seeds
	cd build/tsan && $(CTEST) -L 'unit|sim' -E 'NOT_BUILT|^simulate_'  # a simulation has one thread

test-nightly: setup ## what takes longer than CI may: many seeds, every plan timed, browsers, fuzzing   [SEEDS=, FUZZ_SECONDS=]
	@scripts/build release
	cd build/release && $(CTEST) -L nightly
	@scripts/build sim runtime_seeds
	build/sim/bin/runtime_seeds --seeds $(SEEDS)
	@scripts/build fuzz fuzz_targets
	scripts/fuzz $(FUZZ_SECONDS)

test-gpu: setup ## what needs a GPU; skips loudly without one
	@scripts/build release gpu_test cuda_test_rig_test kv_device_test hacks_test pytorch_cuda_test sandbox_test author_cuda_plans_test
	scripts/gpu test build/release/bin

bench: setup ## the figures of docs/lab/performance.md, measured here and now
	@scripts/build release
	build/release/bin/specgen_bench

bench-gpu: setup ## figures that need a GPU; skips loudly without one
	@scripts/build release specgen_bench specgen specgen_kv_shared
	scripts/gpu bench build/release/bin
	until scripts/gpu compare build/release/bin; do [ $$? = 75 ] || exit 1; done

dist: setup ## a relocatable archive of both programs, in build/dist/
	@scripts/build release specgen specgen-node specgen_kv_shared specgen_kv_static
	scripts/dist

format: setup ## clang-format over every source file, in place
	git ls-files --cached --others --exclude-standard -- '*.cc' '*.h' | xargs clang-format-19 -i

lint: setup ## formatting and clang-tidy, as errors
	@scripts/build release
	scripts/lint format
	scripts/lint tidy all

clean:      ## remove everything that was built
	rm -rf build
