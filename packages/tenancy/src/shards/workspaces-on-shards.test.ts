import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { StorageKey } from "@kcp-ts/apiserver/storage";
import { flushPendingWork, type TestServer } from "@kcp-ts/apiserver/testing";
import type { TenancyExtension } from "../tenancy-extension.ts";
import { startTestShards, type TestShards } from "../testing/index.ts";

const workspaces = (cluster: string) =>
  `/clusters/${cluster}/apis/tenancy.kcp.io/v1alpha1/workspaces`;
const shardPath = (name: string) => `/clusters/root/apis/core.kcp.io/v1alpha1/shards/${name}`;
const logicalCluster = (cluster: string) =>
  `/clusters/${cluster}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
const selecting = (name: string) => ({ location: { selector: { matchLabels: { name } } } });
const maps = (cluster: string) => `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
const unschedulable = "experimental.core.kcp.io/unschedulable";

interface MadeWorkspace {
  readonly spec: { readonly cluster: string; readonly URL: string };
  readonly status: { readonly phase: string };
}

describe("workspaces on several shards", () => {
  let shards: TestShards;
  let root: TestServer<TenancyExtension>;
  let b: TestServer<TenancyExtension>;
  before(async () => {
    shards = await startTestShards({ names: ["root", "b"] });
    root = shards.get("root");
    b = shards.get("b");
    await shards.until("b is known", async () => (await root.get(shardPath("b"))).status === 200);
  });
  after(() => shards.close());

  const make = async (name: string, spec: object = {}, parent = "root") =>
    (await root.requestOk("POST", workspaces(parent), {
      body: { metadata: { name }, spec },
    })) as unknown as MadeWorkspace;
  const read = async (name: string, parent = "root") =>
    (await root.get(`${workspaces(parent)}/${name}`)).object as unknown as MadeWorkspace;
  const untilReady = (name: string, parent = "root") =>
    shards.until(
      `${name} is ready`,
      async () => (await read(name, parent)).status?.phase === "Ready",
    );

  it("are created on the shard that they select, and are used by their path through any shard", async () => {
    const { spec } = await make("chosen", selecting("b"));
    assert.match(spec.cluster, /^[0-9a-z]{16}--b$/);
    await untilReady("chosen");
    for (const shard of [root, b]) {
      const name = shard === root ? "by-root" : "by-b";
      const made = await shard.request("POST", maps("root:chosen"), {
        body: { metadata: { name } },
      });
      assert.equal(made.status, 201, made.text);
    }
    assert.deepEqual((await b.get(maps(spec.cluster))).names, ["by-b", "by-root"]);
  });

  it("have children on the shard of their parent, which root resolves by their path", async () => {
    const org = await make("org", selecting("b"));
    await untilReady("org");
    const child = await make("team", {}, "root:org");
    assert.match(child.spec.cluster, /--b$/);
    await untilReady("team", "root:org");
    const found = await root.get(logicalCluster("root:org:team"));
    assert.equal(found.status, 200, found.text);
    assert.equal(found.object.metadata.annotations?.["kcp.io/cluster"], child.spec.cluster);
    assert.equal(org.spec.cluster.endsWith("--b"), true);
  });

  it("are divided over the shards without a selector", async () => {
    const made = [await make("one"), await make("two"), await make("three"), await make("four")];
    const shardsOf = new Set(made.map(({ spec }) => spec.cluster.slice(16)));
    assert.deepEqual([...shardsOf].sort(), ["", "--b"]);
  });

  it("are not created on a shard that is cordoned, and wait when they select it", async () => {
    const cordon = (value: string | null) =>
      root.patch(shardPath("b"), "merge", {
        metadata: { annotations: { [unschedulable]: value } },
      });
    await cordon("true");
    for (const name of ["fifth", "sixth"])
      assert.doesNotMatch((await make(name)).spec.cluster, /--b$/);
    const waiting = await make("waits", selecting("b"));
    assert.equal(waiting.status.phase, "Scheduling");
    await cordon(null);
    await untilReady("waits");
    assert.match((await read("waits")).spec.cluster, /--b$/);
  });

  it("take their content along when they are deleted", async () => {
    const { spec } = await make("goes", selecting("b"));
    await untilReady("goes");
    await root.requestOk("POST", maps("root:goes"), { body: { metadata: { name: "x" } } });
    await root.requestOk("DELETE", `${workspaces("root")}/goes`);
    await shards.until(
      "it is gone",
      async () => (await root.get(`${workspaces("root")}/goes`)).status === 404,
    );
    assert.equal((await b.get(logicalCluster(spec.cluster))).status, 404);
    assert.deepEqual((await b.get(maps(spec.cluster))).names, []);
  });

  it("leave nothing behind when their shard does not answer at their creation", async () => {
    shards.disconnect("b");
    const body = { metadata: { name: "never" }, spec: selecting("b") };
    const refused = await root.request("POST", workspaces("root"), { body });
    assert.equal(refused.status, 503, refused.text);
    assert.match(refused.object.message ?? "", /the shard b does not answer/);
    assert.equal((await root.get(`${workspaces("root")}/never`)).status, 404);
    shards.connect("b");
    await make("never", selecting("b"));
  });

  it("keep their content when the shard of their parent is restored from a backup that lacks them", async () => {
    const { spec } = await make("kept", selecting("b"));
    await untilReady("kept");
    await root.requestOk("POST", maps("root:kept"), { body: { metadata: { name: "x" } } });
    await shards.stop("root");
    const { storage } = root;
    const signal = new AbortController().signal;
    const lost = (
      await storage.list("/tenancy.kcp.io/workspaces//root/" as StorageKey, {
        entriesMax: 100,
        signal,
      })
    ).entries.find(({ key }) => key.endsWith("/kept"));
    assert.ok(lost !== undefined);
    await storage.commit({ key: lost.key, value: "delete", expected: lost.modifiedAt }, { signal });
    root = await shards.restart("root");
    await shards.stop("b");
    b = await shards.restart("b");
    const hourMs = 3_600_000;
    for (const server of [root, b]) server.clock.advance(2 * hourMs);
    await b.patch(logicalCluster(spec.cluster), "merge", {
      metadata: { labels: { seen: "again" } },
    });
    for (let minute = 0; minute < 5; minute++) {
      for (const server of [root, b]) {
        await flushPendingWork(server);
        server.clock.advance(60_000);
      }
    }
    assert.equal((await root.get(`${workspaces("root")}/kept`)).status, 404);
    assert.deepEqual((await b.get(maps(spec.cluster))).names, ["x"]);
  });
});
