#!/usr/bin/env bash
# Makes the environment of each driver under $BENCH_VENVS, or of those named. stoic is installed as its users have it, compiled
# and not editable: after a change, `bench/install.sh stoic`.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=" ${*:-mock sdk langgraph stoic} "
make() {
    [[ $wanted == *" $1 "* ]] || return 0
    uv venv --quiet --clear "$BENCH_VENVS/$1"
    uv pip install --quiet --compile-bytecode --reinstall-package stoic --python "$BENCH_VENVS/$1/bin/python" "${@:2}"
}
make mock uvicorn uvloop httptools orjson
make sdk openai anthropic httpx2 httpx httpx-sse
make langgraph langchain langgraph langgraph-checkpoint-sqlite langchain-openai langchain-anthropic
make stoic .
