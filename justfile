# What one does in this repository; `just` lists it.

default:
    @just --list --unsorted

# Exactly what CI runs.
check: format-check lint types imports docs test

# Format and mend what can be mended.
format:
    ruff format
    ruff check --fix

format-check:
    ruff format --check

lint:
    ruff check

types:
    pyright

# The layers of ARCHITECTURE: imports point down, the core is pure.
imports:
    lint-imports --no-cache

# Build the documentation site into site/; a broken link, a missing page or image, a page in no menu ends it.
docs:
    sphinx-build --quiet --fail-on-warning --keep-going --fresh-env --write-all docs site

# Build the site, and show it on this machine.
docs-serve port="8000": docs
    python -m http.server --bind 127.0.0.1 --directory site {{ port }}

# All tests, on all cores; those of the core with branch coverage, which they must reach whole by themselves.
test *arguments:
    pytest -n auto --ignore=tests/core {{ arguments }}
    pytest -n auto tests/core --cov --cov-report=term:skip-covered {{ arguments }}
    coverage report --include='src/stoic/core/*' --fail-under=100 --format=total

# Tests of one folder or file, without coverage.
quick *arguments:
    pytest -q {{ arguments }}

# Give strangers' data to everything that reads it, so many times as many examples as CI, new ones each time.
fuzz times="20":
    STOIC_FUZZ_TIMES={{ times }} pytest -q -n auto tests/fuzz

# Run simulated worlds of seeds that nobody has run yet for so many minutes, on all cores.
sim minutes="3" *arguments:
    stoic sim --minutes {{ minutes }} {{ arguments }}

# Hunt the deliberate faults whose names have these words, from seed 0, with simulated worlds; no words: all of them.
faults *words:
    python -m tests.simulation.faulty_copies {{ words }}

# Kill that many processes at random moments, three at a time on one database: a program of 20 threads and two of `stoic up`.
crash-all kills="500":
    STOIC_CRASH_KILLS={{ kills }} pytest -q -s tests/crash/test_kill.py

# Cut the power under a working runtime that often.
power cuts="2000":
    STOIC_POWER_CUTS={{ cuts }} pytest -q -s tests/crash/test_power.py

# Renew the pinned versions that CI installs.
pin:
    uv pip compile pyproject.toml --group dev --universal --no-emit-index-url --no-header -o constraints.txt --upgrade

# Run the benchmark beside its peers; see bench/README.md.
bench *arguments:
    python bench/run.py {{ arguments }}
