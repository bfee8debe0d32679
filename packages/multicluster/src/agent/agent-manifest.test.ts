/** Goal: an agent has in its cluster the rights that syncing its kinds takes, and no more. */
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

/** `verb group/resource`, sorted: what the rules allow, however they are put. */
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

describe("the rights of an agent", () => {
  it("are about what is synced, and what its copies are put into", () => {
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

  it("grow with a kind by what that one takes", () => {
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

  it("reach into Pods only where Pods are synced", () => {
    const inPods = (names: readonly string[]) =>
      allowed(rulesOf("ClusterRole", names)).filter((one) => /pods\/|events|metrics/.test(one));
    assert.deepEqual(inPods(["deployments.apps"]), []);
    assert.ok(inPods(["pods"]).includes("create /pods/exec"));
  });

  it("name everything, unless everything is asked for, and of Secrets its own", () => {
    const names = ["deployments.apps", "pods", "services", "widgets.example.com"];
    for (const rule of allowed(rulesOf("ClusterRole", names))) assert.ok(!rule.includes("*"), rule);
    assert.ok(!allowed(rulesOf("ClusterRole", names)).some((one) => one.includes("secrets")));
    const [own] = rulesOf("Role", names);
    assert.equal(own?.resourceNames?.length, 1);
    assert.deepEqual(own?.verbs, ["get", "patch"]);
  });
});
