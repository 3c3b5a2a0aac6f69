# The front door. Meson does the work: .venv/bin/meson setup build && ninja -C build is all that `make build` adds to.
BUILD ?= build
MESON_ARGS ?=
ARGS ?=
MESON = .venv/bin/meson
NINJA = .venv/bin/ninja
PYTHON = .venv/bin/python
comma = ,
export PATH := $(CURDIR)/.venv/bin:$(PATH)

# setup(folder, arguments): configures it once; what Meson says is shown when it fails.
setup = test -f $(1)/build.ninja || { echo "meson setup $(1) $(2)"; out=$$($(MESON) setup $(1) $(2) 2>&1) || { echo "$$out"; exit 1; }; }

.DEFAULT_GOAL := help
.PHONY: help bootstrap build demo test bench bench-quick ulp install reference fmt lint tidy asan ubsan tsan memcheck fuzz mutants aarch64 size clean

help: ## this list
	@sed -n 's/^\([a-z0-9 -]*\):.*## /\1|/p' Makefile | awk -F'|' '{ printf "make %-16s %s\n", $$1, $$2 }'

bootstrap:
	@tools/bootstrap

build: bootstrap ## libraries, tiga-opt and the Python package, in $(BUILD) and .venv
	@$(call setup,$(BUILD),$(MESON_ARGS))
	@$(NINJA) -C $(BUILD) $(if $(V),-v,--quiet)
	@for f in libtiga.so.0 libtiga_codegen.so python/_tiga.abi3.so; do \
	    if [ -e $(BUILD)/$$f ]; then ln -sfn ../../$(BUILD)/$$f python/tiga/$${f##*/}; fi; done

demo: build ## the examples (ARGS="..." passes arguments)
	@$(PYTHON) examples/demo.py $(ARGS)

test: build ## every test, C then Python
	@tools/test $(BUILD)

bench: build ## the benchmarks beside their peers (ARGS="..." passes arguments): bench/out
	@$(PYTHON) -m pip install -qq --disable-pip-version-check -r bench/requirements.txt || echo "bench: some peers are not installed"
	@$(PYTHON) bench/run.py --build $(BUILD) $(ARGS)

bench-quick: ## the same, smaller, in under three minutes
	@$(MAKE) --no-print-directory bench ARGS="--quick $(ARGS)"

ulp: build ## measure the elementwise functions, every float32 (minutes): docs/ulp.md
	@$(CC) -std=gnu17 -O3 -march=native -ffp-contract=off -pthread -Isrc tests/test_vmath.c -o $(BUILD)/ulp -lcmocka -lm
	@$(BUILD)/ulp table > $(BUILD)/ulp.md && mv $(BUILD)/ulp.md docs/ulp.md

install: build ## install to PREFIX (default /usr/local), DESTDIR respected
	@$(if $(PREFIX),$(MESON) configure $(BUILD) -Dprefix=$(PREFIX))
	@$(MESON) install -C $(BUILD)

reference: build ## the C interface as a page: docs/reference.html
	@$(PYTHON) tools/gen_reference.py docs/reference.html include/tiga/tiga.h $(BUILD)/include/tiga/tiga_ops.h

fmt: bootstrap ## clang-format over every C file
	@git ls-files -z '*.c' '*.h' | xargs -0r clang-format-22 -i

lint: build ## format, layers, headers, Python syntax (TIDY=1: clang-tidy as well)
	@for f in $$(git ls-files '*.c' '*.h'); do \
	    clang-format-22 $$f | cmp -s - $$f || { echo "$$f: make fmt would change it"; bad=1; }; done; test -z "$$bad"
	@$(PYTHON) tools/check_layers.py
	@$(PYTHON) tools/check_headers.py $(BUILD)
	@git ls-files -z '*.py' | xargs -0r $(PYTHON) -m py_compile
	@$(if $(TIDY),$(MAKE) --no-print-directory tidy)
	@echo lint: clean

tidy: build
	@git ls-files -z 'src/*.c' | xargs -0r clang-tidy-22 -p $(BUILD) --quiet

# The C tests under a sanitizer, in a build folder of their own.
SANITIZE_asan = address
SANITIZE_ubsan = undefined
SANITIZE_tsan = thread
asan ubsan tsan: bootstrap ## the C tests under that sanitizer
	@export CC=clang-22; $(call setup,build-$@,-Db_sanitize=$(SANITIZE_$@) -Db_lundef=false -Dpython=disabled)
	@$(NINJA) -C build-$@ --quiet
	@UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	    $(MESON) test -C build-$@ --no-rebuild --no-suite tree --timeout-multiplier 5 --print-errorlogs

memcheck: build ## the tests of the C interface, and all calls from Python, under valgrind
	@for t in api bad formula alloc; do echo "memcheck $$t"; \
	    TIGA_SOURCE_ROOT=$(CURDIR) TIGA_CODEGEN=$(BUILD)/libtiga_codegen.so TIGA_OFF=cache valgrind -q --error-exitcode=9 \
	    --suppressions=tests/valgrind.supp --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
	    $(BUILD)/tests/test_$$t >/dev/null || bad=1; done; test -z "$$bad"
	@echo "memcheck every_call.py"; PYTHONMALLOC=malloc TIGA_OFF=cache valgrind -q --undef-value-errors=no --error-exitcode=9 \
	    --suppressions=tests/valgrind.supp $(PYTHON) tests/python/every_call.py 1

# Both fuzzers, one after the other; what they learn stays in build-fuzz/corpus.
SECONDS = 30
fuzz: bootstrap ## formulas and IR text, fuzzed (SECONDS=30 together)
	@export CC=clang-22; $(call setup,build-fuzz,-Dfuzz=true -Db_sanitize=address$(comma)undefined -Db_lundef=false \
	    -Dpython=disabled -Dcodegen=disabled)
	@$(NINJA) -C build-fuzz --quiet tests/fuzz/fuzz_formula tests/fuzz/fuzz_ir_text
	@for f in formula ir_text; do $(PYTHON) tests/fuzz/run.py $$f build-fuzz/tests/fuzz/fuzz_$$f \
	    $$(($(SECONDS) / 2)) build-fuzz/corpus || bad=1; done; test -z "$$bad"

# Needs no fresh build: the copy in build-mutants keeps its own.
mutants: bootstrap ## seeded errors, one at a time: do the tests notice? (hours; ARGS="words" picks some)
	@$(PYTHON) tests/mutants/run.py . build-mutants $(ARGS)

aarch64: bootstrap ## the C tests for AArch64, under qemu (ARGS="tests" picks some)
	@tools/aarch64 $(ARGS)

size: ## lines per folder, and the budget of the compiler's middle
	@python3 tools/check_size.py

clean: ## remove every build folder (not .venv)
	@rm -rf build build-* python/tiga/*.so*
