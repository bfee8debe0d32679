/**
 * Aggregated ClusterRoles as clients read them: they contain the rules of the roles that they
 * select.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  aggregatedBytesMax,
  aggregatedBytesTotalMax,
  ClusterPolicy,
} from "../authorization/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { RoleWriter, type RuleObject, rbacPath, TestServer } from "../testing/index.ts";

const rule = (resource: string): RuleObject => ({
  verbs: ["get"],
  apiGroups: [""],
  resources: [resource],
});
const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { gather: "yes" } }] };
const part = (name: string, ...resources: string[]) => ({
  metadata: { name, labels: { gather: "yes" } },
  rules: resources.map(rule),
});

async function started(t: TestContext, storage = new MemoryStorage()): Promise<RoleWriter> {
  const server = await TestServer.start({ storage });
  t.after(() => server.close());
  return new RoleWriter(server, "t");
}

async function rulesOf(admin: RoleWriter, name: string): Promise<unknown> {
  return (await admin.get(`${rbacPath}/clusterroles/${name}`)).object["rules"] ?? [];
}

/** Waits some turns, since the loop has no timers; the limit keeps a failure from hanging. */
async function settles(check: () => Promise<void>): Promise<void> {
  for (let turns = 0; turns < 200; turns++) {
    try {
      await check();
      return;
    } catch (error) {
      if (!(error instanceof assert.AssertionError)) throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  await check();
}

describe("an aggregated ClusterRole", () => {
  it("contains the rules of the selected roles, by name and each once, as they are created and deleted", async (t) => {
    const admin = await started(t);
    await admin.clusterRole("all", [rule("nonsense")], { aggregationRule });
    await settles(async () => assert.deepEqual(await rulesOf(admin, "all"), []));
    await admin.post(`${rbacPath}/clusterroles`, part("b", "secrets", "configmaps"));
    await admin.post(`${rbacPath}/clusterroles`, part("a", "pods", "configmaps"));
    await admin.clusterRole("unrelated", [rule("nodes")]);
    await settles(async () =>
      assert.deepEqual(await rulesOf(admin, "all"), ["pods", "configmaps", "secrets"].map(rule)),
    );
    const path = `/clusters/t${rbacPath}/clusterroles`;
    await admin.server.request("DELETE", `${path}/a`, { user: "masters" });
    await settles(async () =>
      assert.deepEqual(await rulesOf(admin, "all"), ["secrets", "configmaps"].map(rule)),
    );
    const { object } = await admin.get(`${rbacPath}/clusterroles/all`);
    const managers = object.metadata["managedFields"] as { manager: string }[];
    assert.ok(managers.some(({ manager }) => manager === "clusterrole-aggregation-controller"));
  });

  it("aggregates other aggregated roles, and the bootstrap roles", async (t) => {
    const admin = await started(t);
    const labels = { gather: "yes" };
    await admin.post(`${rbacPath}/clusterroles`, {
      metadata: { name: "middle", labels },
      aggregationRule: {
        clusterRoleSelectors: [
          { matchLabels: { "rbac.authorization.k8s.io/aggregate-to-admin": "true" } },
        ],
      },
    });
    await admin.clusterRole("all", [], { aggregationRule });
    await settles(async () => {
      const text = JSON.stringify(await rulesOf(admin, "all"));
      assert.ok(text.includes('"rolebindings"') && text.includes('"pods/exec"'), text);
    });
  });

  it("aggregates within its cluster only", async (t) => {
    const admin = await started(t);
    const other = new RoleWriter(admin.server, "other");
    await admin.clusterRole("all", [], { aggregationRule });
    await other.clusterRole("all", [], { aggregationRule });
    await other.post(`${rbacPath}/clusterroles`, part("part", "secrets"));
    await settles(async () => assert.deepEqual(await rulesOf(other, "all"), [rule("secrets")]));
    assert.deepEqual(await rulesOf(admin, "all"), []);
  });

  it("applies to decisions at once, before its rules are written", async (t) => {
    const admin = await started(t);
    await admin.clusterRole("all", [], { aggregationRule });
    await admin.clusterBinding("b", "all", "nobody");
    const may = async () => (await admin.as("nobody").get("/api/v1/secrets")).status === 200;
    for (let round = 0; round < 20; round++) {
      assert.equal(await may(), false);
      const list = { ...rule("secrets"), verbs: ["list"] };
      await admin.post(`${rbacPath}/clusterroles`, { ...part("part"), rules: [list] });
      assert.equal(await may(), true);
      const path = `/clusters/t${rbacPath}/clusterroles/part`;
      await admin.server.request("DELETE", path, { user: "masters" });
    }
  });

  it("is not written when its rules are too large, and still applies to decisions", async (t) => {
    const admin = await started(t);
    await admin.clusterRole("all", [], { aggregationRule });
    await admin.clusterBinding("b", "all", "nobody");
    const wide = (name: string, bytes: number) => {
      const list = { ...rule("secrets"), verbs: ["list"], resourceNames: ["", name] };
      const empty = JSON.stringify(list).length;
      return {
        ...part(name),
        rules: [{ ...list, resourceNames: ["", name.padEnd(bytes - empty + name.length, "x")] }],
      };
    };
    const half = aggregatedBytesMax / 2;
    await admin.post(`${rbacPath}/clusterroles`, wide("a", half));
    await admin.post(`${rbacPath}/clusterroles`, wide("b", half));
    const count = async () => ((await rulesOf(admin, "all")) as unknown[]).length;
    await settles(async () => assert.equal(await count(), 2));
    await admin.post(`${rbacPath}/clusterroles`, {
      ...part("c"),
      rules: [{ ...rule("pods"), verbs: ["list"] }],
    });
    for (let turns = 0; turns < 100; turns++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await count(), 2);
    assert.equal((await admin.as("nobody").get("/api/v1/secrets")).status, 200);
    assert.equal((await admin.as("nobody").get("/api/v1/pods")).status, 404, "allowed, not served");
  });

  it("is corrected after a crash between two steps", async (t) => {
    const storage = new MemoryStorage();
    const first = await TestServer.start({ storage });
    const before = new RoleWriter(first, "t");
    await before.clusterRole("all", [], { aggregationRule });
    const writing = before.post(`${rbacPath}/clusterroles`, part("part", "secrets"));
    await Promise.all([writing, first.server.close()]);
    const admin = await started(t, storage);
    await settles(async () => assert.deepEqual(await rulesOf(admin, "all"), [rule("secrets")]));
  });
});

describe("ClusterRoles that aggregate each other", () => {
  const gathering = (name: string, selectors: readonly object[]) => ({
    metadata: { name, labels: { gather: "yes" } },
    aggregationRule: { clusterRoleSelectors: selectors },
  });
  const put = (
    policy: ClusterPolicy,
    object: { readonly metadata: { readonly name: string }; readonly rules?: unknown },
  ) =>
    policy.put(
      { resource: "clusterroles", namespace: "", name: object.metadata.name },
      object as unknown as JsonObject,
    );
  const everything = [{ matchLabels: { gather: "yes" } }];

  it("are written up to their common limit, the first by name, however many they are", () => {
    const policy = new ClusterPolicy();
    const bytes = aggregatedBytesTotalMax / 8;
    const resourceNames = ["x".repeat(bytes)];
    put(policy, { ...part("source"), rules: [{ ...rule("secrets"), resourceNames }] });
    for (let i = 0; i < 50; i++) put(policy, gathering(`r${10 + i}`, everything));
    const written = [...policy.aggregatedRoles()].filter(({ wanted }) => wanted !== undefined);
    assert.deepEqual(
      written.map(({ name }) => name),
      ["r10", "r11", "r12", "r13", "r14", "r15", "r16"],
    );
    assert.ok(
      JSON.stringify(written.map(({ wanted }) => wanted)).length <= aggregatedBytesTotalMax,
    );
  });

  it("have the same rules whichever is evaluated first, also beyond the limit of comparisons", () => {
    const selectors = Array.from({ length: 3000 }, () => ({ matchLabels: { gather: "yes" } }));
    const rulesWhenAskedFirst = (first: string) => {
      const policy = new ClusterPolicy();
      put(policy, part("source", "secrets"));
      for (const name of ["a", "b", "c"]) put(policy, gathering(name, selectors));
      policy.rulesOf({ kind: "ClusterRole", name: first }, "");
      return ["a", "b", "c"].map(
        (name) => policy.rulesOf({ kind: "ClusterRole", name }, "")?.length,
      );
    };
    assert.deepEqual(rulesWhenAskedFirst("a"), [1, 1, 0]);
    assert.deepEqual(rulesWhenAskedFirst("c"), [1, 1, 0]);
  });
});
