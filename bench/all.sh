#!/usr/bin/env bash
# Everything in one command: makes what is missing of the environments and stoic's anew, starts the mock server if none runs,
# runs all workloads three times for stoic and its peers, and prints the tables. Arguments go to run.py, such as --workloads w2.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BENCH_VENVS:?a folder for the environments}" "${BENCH_DBS:?a folder for the databases}"
export BENCH_VENVS BENCH_DBS
mkdir -p "$BENCH_DBS"
for name in mock sdk langgraph; do
    [[ -x $BENCH_VENVS/$name/bin/python ]] || bench/install.sh "$name"
done
bench/install.sh stoic
answers() { (exec 3<>/dev/tcp/127.0.0.1/8399) 2>/dev/null; }
if ! answers; then
    "$BENCH_VENVS/mock/bin/python" bench/harness/mock_llm.py --port 8399 >"$BENCH_DBS/mock.log" 2>&1 &
    server=$!
    trap 'kill $server' EXIT
    until answers; do
        kill -0 $server  # ends the script when the server is gone
        sleep 0.2
    done
fi
"$BENCH_VENVS/stoic/bin/python" bench/run.py --workloads w1,w2,w3,w4,w5,w6,w7 --reps 3 --out "$BENCH_DBS/results.json" \
    --only "stoic,stoic undeclared,raw,raw+full,sdk,sdk+full,langgraph sqlite" "$@"
