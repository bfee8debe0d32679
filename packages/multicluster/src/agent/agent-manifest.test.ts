/**
 * Goal: an agent has the permissions in its cluster that syncing its kinds requires, and no more.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { agentManifest } from "./agent-manifest.ts";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

function rulesOf(kind: "Role" | "ClusterRole", resources: readonly string[]): readonly Rule[] {
  const objects = agentManifest({
    target: { name: "east", cluster: "root", uid: "3b4c" },
    resources,
    image: "kcp:1",
    kubeconfig: "a",
    token: "b",
  });
  const found = objects.find((one) => one["kind"] === kind);
  return found?.["rules"] as unknown as readonly Rule[];
}

/** The permitted `verb group/resource` tuples, sorted, independent of how the rules are written. */
function allowed(rules: readonly Rule[]): readonly string[] {
  return rules
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`)),
      ),
    )
    .sort();
}

const everywhere = [
  ...["create", "delete", "get", "list", "patch", "watch"].map((verb) => `${verb} /namespaces`),
  ...["get", "list"].map((verb) => `${verb} /nodes`),
];
const syncing = ["create", "delete", "get", "list", "patch", "watch"];

describe("permissions of an agent", () => {
  it("an agent may access the synced kinds and the namespaces of their copies", () => {
    assert.deepEqual(
      allowed(rulesOf("ClusterRole", ["deployments.apps", "configmaps"])),
      [
        ...everywhere,
        ...syncing.map((verb) => `${verb} apps/deployments`),
        ...["get", "patch"].map((verb) => `${verb} apps/deployments/status`),
        ...syncing.map((verb) => `${verb} /configmaps`),
      ].sort(),
    );
    assert.deepEqual(allowed(rulesOf("ClusterRole", [])), [...everywhere].sort());
  });

  it("a further kind adds the permissions that syncing this kind requires", () => {
    const before = new Set(allowed(rulesOf("ClusterRole", ["deployments.apps"])));
    const after = allowed(rulesOf("ClusterRole", ["deployments.apps", "jobs.batch"]));
    assert.deepEqual(
      after.filter((one) => !before.has(one)),
      [
        ...syncing.map((verb) => `${verb} batch/jobs`),
        "get batch/jobs/status",
        "patch batch/jobs/status",
      ].sort(),
    );
  });

  it("an agent may access logs, exec and ports of Pods only where Pods are synced", () => {
    const inPods = (names: readonly string[]) =>
      allowed(rulesOf("ClusterRole", names)).filter((one) => /pods\/|events|metrics/.test(one));
    assert.deepEqual(inPods(["deployments.apps"]), []);
    assert.ok(inPods(["pods"]).includes("create /pods/exec"));
  });

  it("the rules name every resource, unless all resources are requested, and of Secrets only the agent's own", () => {
    const names = ["deployments.apps", "pods", "services", "widgets.example.com"];
    for (const rule of allowed(rulesOf("ClusterRole", names))) assert.ok(!rule.includes("*"), rule);
    assert.ok(!allowed(rulesOf("ClusterRole", names)).some((one) => one.includes("secrets")));
    const [own] = rulesOf("Role", names);
    assert.equal(own?.resourceNames?.length, 1);
    assert.deepEqual(own?.verbs, ["get", "patch"]);
  });
});
