/** Moves of workspaces: with their owner, their children, their bindings and their rules. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { TestServer } from "@kcp-ts/apiserver/testing";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { TenancyExtension } from "../tenancy-extension.ts";
import { startTestShards, type TestShards } from "../testing/index.ts";

type Server = TestServer<TenancyExtension>;
const workspaces = (cluster: string) =>
  `/clusters/${cluster}/apis/tenancy.kcp.io/v1alpha1/workspaces`;
const logicalCluster = (cluster: string) =>
  `/clusters/${cluster}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
const maps = (cluster: string) => `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
const on = (name: string) => ({ location: { selector: { matchLabels: { name } } } });

describe("a workspace that moves to another shard", () => {
  let shards: TestShards;
  let root: Server;
  let b: Server;
  before(async () => {
    shards = await startTestShards({ names: ["root", "b"], readsEndMs: 0 });
    root = shards.get("root");
    b = shards.get("b");
    const shardB = "/clusters/root/apis/core.kcp.io/v1alpha1/shards/b";
    await shards.until("b is known", async () => (await root.get(shardB)).status === 200);
  });
  after(() => shards.close());

  const phaseOf = async (name: string, parent: string) =>
    ((await root.get(`${workspaces(parent)}/${name}`)).object["status"] as { phase?: string })
      ?.phase;

  async function make(name: string, parent = "root", spec: object = {}): Promise<ClusterName> {
    const body = { metadata: { name }, spec };
    const made = await root.requestOk("POST", workspaces(parent), { body });
    await shards.until("it is ready", async () => (await phaseOf(name, parent)) === "Ready");
    return (made["spec"] as { cluster: ClusterName }).cluster;
  }

  async function move(from: Server, cluster: ClusterName, to: string): Promise<void> {
    const { mover } = from.server.extension;
    assert.ok(mover !== undefined);
    await mover.move(cluster, to);
    await shards.until("it has moved", async () => mover.statusOf(cluster)?.stage === "Done");
  }

  /** Long enough for every check of owners, on both shards. */
  async function wait(): Promise<void> {
    let rounds = 0;
    await shards.until("some time has passed", async () => ++rounds > 40);
  }

  it("is found by its path, and keeps its owner and its children", async () => {
    const org = await make("org", "root", on("b"));
    const team = await make("team", "root:org");
    assert.match(team, /--b$/);
    await root.requestOk("POST", maps("root:org"), { body: { metadata: { name: "one" } } });
    const before = (await root.get(logicalCluster("root:org"))).text;
    await move(b, org, "root");
    await wait();
    for (const door of [root, b]) {
      assert.equal((await door.get(logicalCluster("root:org"))).text, before);
      assert.deepEqual((await door.get(maps("root:org"))).names, ["one"]);
      assert.equal((await door.get(logicalCluster("root:org:team"))).status, 200);
      assert.deepEqual((await door.get(workspaces("root:org"))).names, ["team"]);
    }
    assert.equal(await phaseOf("org", "root"), "Ready");
    await make("after", "root:org");
    await root.requestOk("DELETE", `${workspaces("root")}/org`);
    await shards.until(
      "it is gone",
      async () => (await root.get(`${workspaces("root")}/org`)).status === 404,
    );
    assert.equal((await b.get(logicalCluster(team))).status, 404);
  });

  it("leaves its children where they are, and they stay when it moves back", async () => {
    const home = await make("home", "root", on("root"));
    await root.requestOk("POST", maps("root:home"), { body: { metadata: { name: "one" } } });
    const child = await make("child", "root:home");
    await move(root, home, "b");
    await wait();
    assert.equal((await root.get(logicalCluster(child))).status, 200);
    await b.requestOk("POST", maps("root:home"), { body: { metadata: { name: "two" } } });
    await move(b, home, "root");
    await wait();
    for (const door of [root, b])
      assert.deepEqual((await door.get(maps("root:home"))).names, ["one", "two"]);
    assert.equal((await b.get(logicalCluster("root:home:child"))).status, 200);
  });

  it("has the rules of its roles at once", async () => {
    const ruled = await make("ruled", "root", on("root"));
    const rbac = `/clusters/${ruled}/apis/rbac.authorization.k8s.io/v1`;
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }];
    await root.requestOk("POST", `${rbac}/clusterroles`, {
      body: { metadata: { name: "reader" }, rules },
    });
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" };
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "a" }];
    await root.requestOk("POST", `${rbac}/clusterrolebindings`, {
      body: { metadata: { name: "reader" }, roleRef, subjects },
    });
    const list = (user: "a" | "nobody") => root.get(maps(ruled), { user });
    assert.equal((await list("a")).status, 200);
    assert.equal((await list("nobody")).status, 403);
    await move(root, ruled, "b");
    assert.equal((await list("a")).status, 200);
    assert.equal((await list("nobody")).status, 403);
  });

  it("is moved, followed and cancelled by requests of operators alone", async () => {
    const asked = await make("asked", "root", on("root"));
    const path = `${logicalCluster("root:asked")}/move`;
    const body = { to: "b" };
    for (const user of ["a", "nobody"] as const)
      for (const door of [root, b])
        assert.equal((await door.request("POST", path, { user, body })).status, 403);
    const status = `/shards/root/apis/core.kcp.io/v1alpha1/shards/root/moves?cluster=${asked}`;
    const begun = await b.request("POST", path, { body });
    assert.equal(begun.status, 200, begun.text);
    assert.deepEqual([begun.object["from"], begun.object["to"]], ["root", "b"]);
    assert.equal((await b.get(status, { user: "a" })).status, 403);
    assert.equal((await b.request("DELETE", status)).object["stage"], "Cancelling");
    const reaches = (stage: string) =>
      shards.until(stage, async () => (await b.get(status)).object["stage"] === stage);
    await reaches("Cancelled");
    assert.equal(root.server.extension.routes.routeOf(asked), undefined);
    assert.equal((await b.request("POST", path, { body })).status, 200);
    await reaches("Done");
    assert.equal(root.server.extension.routes.routeOf(asked)?.shard, "b");
    const late = await b.request("DELETE", status);
    assert.equal(late.status, 400, late.text);
  });

  it("is refused for root, for an unknown shard, and for what others bind", async () => {
    const provider = await make("provider", "root", on("root"));
    const post = async (cluster: string, to: string) =>
      (await root.request("POST", `${logicalCluster(cluster)}/move`, { body: { to } })).object;
    assert.match((await post("root", "b")).message ?? "", /belongs to its shard/);
    assert.match((await post("root:provider", "c")).message ?? "", /no shard c/);
    await root.requestOk("POST", `/clusters/${provider}/apis/apis.kcp.io/v1alpha1/apiexports`, {
      body: { metadata: { name: "things.example.com" }, spec: {} },
    });
    assert.match((await post("root:provider", "b")).message ?? "", /1 apiexports.apis.kcp.io/);
  });

  it("is cancelled, with the reason, when it gets what others bind while it is copied", async () => {
    const late = await make("late", "root", on("root"));
    const { mover } = root.server.extension;
    assert.ok(mover !== undefined);
    await mover.move(late, "b");
    const resume = shards.stall("b");
    await root.requestOk("POST", `/clusters/${late}/apis/apis.kcp.io/v1alpha1/apiexports`, {
      body: { metadata: { name: "things.example.com" }, spec: {} },
    });
    resume();
    const stageOf = () => mover.statusOf(late)?.stage ?? "";
    await shards.until("it has ended", async () => ["Done", "Cancelled"].includes(stageOf()));
    assert.equal(stageOf(), "Cancelled");
    assert.match(mover.statusOf(late)?.message ?? "", /1 apiexports.apis.kcp.io/);
    await root.requestOk("POST", maps(late), { body: { metadata: { name: "here" } } });
    assert.equal((await b.get(maps(late))).status, 200);
  });
});
