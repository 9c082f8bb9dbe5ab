#!/usr/bin/env bash
# Makes one environment for each driver under $BENCH_VENVS.
set -euo pipefail
cd "$(dirname "$0")/.."
make() {
    uv venv --quiet --clear "$BENCH_VENVS/$1"
    uv pip install --quiet --compile-bytecode --python "$BENCH_VENVS/$1/bin/python" "${@:2}"
}
make mock uvicorn uvloop httptools orjson
make sdk openai anthropic httpx2 httpx httpx-sse
make langgraph langchain langgraph langgraph-checkpoint-sqlite langchain-openai langchain-anthropic
make stoic --editable .
