#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# Imports a log of 100 MB with a release build, and fails unless that takes less than 5 s and 200 MB, and every sample
# counts.
# Usage: scripts/import-time.sh PROGRAM
set -euo pipefail
program=${1:?the program}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
awk 'BEGIN { srand(1); for (c = 0; n < 100000000; c++) for (t = 0; t < 2; t++) {
    v = 20 + int(-15 * log(1 - rand())); if (rand() < 1e-4) v += int(5000 * rand())
    line = sprintf("%8d:%8d:%8d\n", t, c, v); n += length(line); printf "%s", line } }' > "$dir/log"
/usr/bin/time -f '%e %M' -o "$dir/time" "$program" --home "$dir/store" runs import "$dir/log"
read -r seconds kilobytes < "$dir/time"
lines=$(wc -l < "$dir/log")
"$program" --home "$dir/store" runs export last --format csv --data summary > "$dir/summary"
samples=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i } $column["thread"] == "total" { print $column["count"] }' "$dir/summary")
echo "100 MB ($lines lines, $samples samples) in $seconds s and $((kilobytes / 1000)) MB"
[ "$samples" = "$lines" ]
awk -v s="$seconds" -v k="$kilobytes" 'BEGIN { exit !(s < 5 && k < 200000) }'
