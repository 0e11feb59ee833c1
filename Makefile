# Thin fronts: every target is one command that can be typed by itself.

PREFIX ?= /usr/local
DESTDIR ?=
VARIANTS ?= standard fast observe hardened

FORMATTED = git ls-files -co --exclude-standard '*.c' '*.h' '*.cc' '*.cpp' '*.hpp'

.PHONY: all test lint format install clean perf_fast perf_observe perf_all

all:
	./hakmem build $(VARIANTS)

test:
	./hakmem test

lint:
	./hakmem lint

format:
	$(FORMATTED) | xargs clang-format-14 -i

install: all
	for variant in $(VARIANTS); do \
	    DESTDIR="$(DESTDIR)" cmake --install build/$$variant --prefix "$(PREFIX)" || exit 1; \
	done

clean:
	rm -rf build

perf_fast perf_observe perf_all:
	scripts/$@.sh

bench_random_mixed_%:
	scripts/build_bench.sh $@
