import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkKubeconfig, isProblem } from "./check-kubeconfig.ts";

const certificate = `${"A".repeat(64)}\n        `.repeat(1_000);
const valid = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters:
  - name: c
    cluster:
      server: https://127.0.0.1:6443
      certificate-authority-data: |
        ${certificate}
users: [{name: u, user: {token: t}}]
`;

describe("the check of a SyncTarget's kubeconfig", () => {
  it("accepts a kubeconfig with a certificate of 1,000 lines", () => {
    assert.equal(isProblem(checkKubeconfig(valid)), false);
  });

  for (const [what, unit] of [
    ["list items", "1,"],
    ["nested lists", "["],
    ["empty maps", "{},"],
    ["lines", "- 1\n"],
    ["lines of old computers", "- 1\r"],
    ["documents", "---\n"],
    ["keys", "? a\n"],
  ] as const)
    it(`refuses 256 KiB of ${what} without parsing them`, () => {
      const checked = checkKubeconfig(`a: ${unit.repeat(250_000 / unit.length)}`);
      assert.ok(isProblem(checked));
      assert.match(checked.message, /more than 5000 lines and list items/);
    });
});
