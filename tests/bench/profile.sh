#!/usr/bin/env bash
# Profiles one path of a release: where its CPU-time goes, by function.
#
#     CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_RELEASE_DEBUG=line-tables-only \
#         cargo build --release --bin carrel --target-dir target/profile
#     tests/bench/profile.sh CARREL LIBRARY PATH [SECONDS]
#
# CARREL is the program, with symbols; LIBRARY a folder that library.py filled, whose copy is served; PATH the path and query of a GET
# request, in which DOCUMENT, BOOKMARK and FEED stand for ids of the library, for example '/rest/v2/documents/DOCUMENT?maxChars=12000'.
# `wrk` sends the request by eight connections, and `perf` samples the process for SECONDS (10). Where perf may not sample, the process
# runs in callgrind (valgrind) instead, which counts instructions and takes fifty times as long.
#
# Prints the functions that take most, with what they call (children) and without (self). The data stays in
# /tmp/carrel-profile.
set -euo pipefail

if [ $# -lt 3 ]; then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
fi
carrel=$(realpath "$1") library=$(realpath "$2") path=$3 seconds=${4:-10}
output=/tmp/carrel-profile home=$(mktemp -d) port=$((20000 + RANDOM % 10000))
mkdir -p "$output"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; [ -z "$server" ] || wait "$server" 2>/dev/null || true; rm -rf "$home"' EXIT

# field EXPRESSION: prints a value of the library's description.
field() { python3.11 -c "import json, sys; library = json.load(open(sys.argv[1])); print($1)" "$library/library.json"; }

cp -a --reflink=auto "$library/data" "$home/data"
path=${path//DOCUMENT/$(field 'library["long_documents"][0]')}
path=${path//BOOKMARK/$(field 'library["bookmark_ids"][0]')}
path=${path//FEED/$(field 'library["feeds"][0]')}
key=$(field 'library["rest_key"]')

export CARREL__SERVER__LISTEN=127.0.0.1:$port CARREL__DATA_DIR=$home/data CARREL__MODELS__DIR=$home/none CARREL__LOG__LEVEL=warn
export CARREL__PLANS__PRO__HOURLY_PER_KEY=1000000000 CARREL__PLANS__PRO__REST_PER_DAY=1000000000

# serve COMMAND...: starts the service by this command and waits until it is ready.
serve() {
    "$@" serve &
    server=$!
    for _ in $(seq 600); do
        if curl -sf -o /dev/null "http://127.0.0.1:$port/readyz"; then return; fi
        sleep 0.2
    done
    echo 'the service is not ready after two minutes' >&2
    exit 1
}

load() { wrk -t1 -c8 "-d${1}s" -H "Authorization: Bearer $key" "http://127.0.0.1:$port$path"; }

if command -v perf >/dev/null && perf stat -e task-clock true 2>/dev/null >&2; then
    serve "$carrel"
    load 2 >/dev/null
    perf record -q -F 997 --call-graph dwarf,16384 -o "$output/perf.data" -p "$server" -- sleep "$seconds" &
    sampler=$!
    load "$((seconds + 1))"
    wait "$sampler"
    echo '--- self'
    perf report -i "$output/perf.data" --stdio -q --no-children -g none --percent-limit 0.5 --sort symbol
    echo '--- with what they call'
    perf report -i "$output/perf.data" --stdio -q --children -g none --percent-limit 2 --sort symbol
else
    serve valgrind --tool=callgrind --instr-atstart=no "--callgrind-out-file=$output/callgrind.out" "$carrel"
    load 2 >/dev/null
    callgrind_control -i on "$server" >/dev/null
    load "$seconds"
    callgrind_control -i off "$server" >/dev/null
    kill "$server"
    wait "$server" || true
    server=
    echo '--- self'
    callgrind_annotate --inclusive=no "$output/callgrind.out" | head -60
    echo '--- with what they call'
    callgrind_annotate --inclusive=yes "$output/callgrind.out" | head -60
fi
