#!/usr/bin/env bash
# Runs the test suite on each software Vulkan driver of tools/drivers.sh and prints a table.
#
#   tools/test_adapters.sh PYTHON [PYTEST-ARGUMENTS...]
#
# Exits with 1 when a run fails or a driver is not the one that answers.
set -euo pipefail

python=${1:?usage: tools/test_adapters.sh PYTHON [PYTEST-ARGUMENTS...]}
shift
cd "$(dirname "$0")/.."
tools/drivers.sh

reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
export DMLGPU_REQUIRE_GPU=1

adapter_name() {
    "$python" - 2>/dev/null <<'END'
import wgpu

for adapter in wgpu.gpu.enumerate_adapters_sync():
    if adapter.info["backend_type"] == "Vulkan":
        print(*filter(None, (adapter.info["device"], adapter.info["description"])), sep="; ")
END
}

# counts REPORT: passed, failed, skipped and seconds of a JUnit file, in columns.
counts() {
    "$python" - "$1" <<'END'
import sys
from xml.etree import ElementTree

suite = ElementTree.parse(sys.argv[1]).getroot().find("testsuite")
total, skipped = int(suite.get("tests")), int(suite.get("skipped"))
failed = int(suite.get("failures")) + int(suite.get("errors"))
print(f"{total - failed - skipped:8}{failed:8}{skipped:8}{float(suite.get('time')):9.1f}")
END
}

status=0
for icd in .drivers/*/icd.json; do
    driver=$(basename "$(dirname "$icd")")
    export VK_DRIVER_FILES=$PWD/$icd VK_ICD_FILENAMES=$PWD/$icd
    name=$(adapter_name) || true
    echo "== $driver: ${name:-no Vulkan adapter}"
    verdict="NO ADAPTER" numbers=$(printf '%8s%8s%8s%9s' - - - -)
    if [ -n "$name" ]; then
        code=0
        "$python" -m pytest -q --junitxml="$reports/$driver.xml" "$@" || code=$?
        for facts in large small; do
            "$python" -m pytest -q --facts "$facts" -m facts "$@" || code=$?
        done
        verdict=passed
        # A process that a driver kills leaves no report: its exit status tells.
        [ "$code" -eq 0 ] || verdict="FAILED ($code)"
        [ ! -f "$reports/$driver.xml" ] || numbers=$(counts "$reports/$driver.xml")
    fi
    [ "$verdict" = passed ] || status=1
    printf '%-14s  %-12s%s  %s\n' "$driver" "$verdict" "$numbers" "${name:-none}" >>"$reports/table"
done

echo
echo "driver          result        passed  failed skipped  seconds  adapter"
cat "$reports/table"
exit "$status"
