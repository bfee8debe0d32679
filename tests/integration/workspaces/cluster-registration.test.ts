/**
 * Goal: the operator decides which addresses this server connects to, not the administrator of a
 * workspace.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { isStatusError } from "@kcp-ts/machinery/status";
import { syncTargets } from "@kcp-ts/multicluster";
import { eventually } from "@kcp-ts/testkit";
import { admin, alice, bob, kinds, master, WorkspaceFixture } from "./workspace-fixture.ts";

const rbac = "rbac.authorization.k8s.io";

async function statusOf(answer: Promise<unknown>): Promise<number> {
  try {
    await answer;
    return 200;
  } catch (error) {
    assert.ok(isStatusError(error), String(error));
    return error.code;
  }
}

describe("registering a cluster", () => {
  let fixture: WorkspaceFixture;
  before(async () => {
    fixture = await WorkspaceFixture.start();
    await fixture.workspace("root", "org", { user: master });
    await fixture.grant("root:org", alice, ["cluster-admin"]);
    await fixture.grant("root:org", bob, ["cluster-admin"]);
  });
  after(() => fixture.close());

  const create = (user: typeof alice, name: string, spec: object) =>
    statusOf(
      fixture.at("root:org", user).resource(syncTargets).create({ metadata: { name }, spec }),
    );
  const patch = (user: typeof alice, name: string, change: object) =>
    statusOf(
      fixture
        .at("root:org", user)
        .resource(syncTargets)
        .patch({ name }, { type: "merge", patch: change as never }),
    );
  const ref = { kubeconfigSecretRef: { namespace: "default", name: "k" } };

  it("is refused to who rules a workspace, in every mode and by every way", async () => {
    for (const spec of [ref, { mode: "Pull" }, { mode: "None" }, {}])
      assert.equal(await create(alice, "own", spec), 403, JSON.stringify(spec));
    const apply = fixture
      .at("root:org", alice)
      .resource(syncTargets)
      .apply({ metadata: { name: "own" }, spec: ref }, { fieldManager: "x", force: true });
    assert.equal(await statusOf(apply), 403);
    // Whom she lets in acts for her, and for nobody else.
    await fixture
      .at("root:org", alice)
      .resource(kinds.clusterRoles)
      .create({
        metadata: { name: "registrar" },
        rules: [
          { apiGroups: [syncTargets.group], resources: ["synctargets"], verbs: ["register"] },
        ],
      } as never);
    assert.equal(await create(alice, "own", ref), 403);
  });

  it("is for operators, and for those whom they grant the verb in root", async () => {
    assert.equal(await create(master, "of-master", ref), 200);
    assert.equal(await create(admin, "of-admin", { mode: "Pull" }), 200);
    const root = fixture.at("root", master);
    await root
      .resource(kinds.clusterRoles)
      .create({
        metadata: { name: "cluster-registrar" },
        rules: [
          { apiGroups: [syncTargets.group], resources: ["synctargets"], verbs: ["register"] },
        ],
      } as never);
    await root
      .resource(kinds.clusterRoleBindings)
      .create({
        metadata: { name: "cluster-registrars" },
        roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "cluster-registrar" },
        subjects: [{ apiGroup: rbac, kind: "User", name: "bob" }],
      } as never);
    await eventually(async () => assert.equal(await create(bob, "of-bob", ref), 200));
    assert.equal(await create(alice, "of-alice", ref), 403);
  });

  it("covers leading a registered one elsewhere, and nothing else of it", async () => {
    const elsewhere = { kubeconfigSecretRef: { namespace: "default", name: "other" } };
    assert.equal(await patch(alice, "of-master", { spec: elsewhere }), 403);
    assert.equal(await patch(alice, "of-master", { spec: { mode: "Pull" } }), 403);
    assert.equal(await patch(alice, "of-admin", { spec: { mode: "Push", ...ref } }), 403);
    const annotations = { "workload.kcp.io/registered-server": "https://elsewhere.example:6443" };
    assert.equal(await patch(alice, "of-master", { metadata: { annotations } }), 403);
    assert.equal(await patch(alice, "of-master", { spec: { unschedulable: true } }), 200);
    assert.equal(await patch(alice, "of-master", { metadata: { labels: { zone: "a" } } }), 200);
  });
});
