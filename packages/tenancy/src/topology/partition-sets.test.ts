/**
 * Goal: a PartitionSet has the Partitions that the labels of shards require, through all changes of
 * shards, of Partitions and of this server.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Storage, StorageError } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { type AnyObject, until } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../testing/index.ts";

const masters = { user: "masters" } as const;
const topology = (cluster = "team") => `/clusters/${cluster}/apis/topology.kcp.io/v1alpha1`;
const shardsPath = "/clusters/root/apis/core.kcp.io/v1alpha1/shards";

const setOf = (spec: object, name = "regions") => ({ metadata: { name }, spec });
const notExcluded = { matchExpressions: [{ key: "excluded", operator: "DoesNotExist" }] };
const byRegion = { dimensions: ["region"], shardSelector: notExcluded };

async function start(storage: Storage = new MemoryStorage()): Promise<TestServer> {
  const test = await TestServer.start({ storage });
  await test.server.bootstrap("https://kcp.example.com");
  return test;
}

const addShard = (test: TestServer, name: string, labels: object) =>
  test.requestOk("POST", shardsPath, {
    ...masters,
    body: {
      metadata: { name, labels, annotations: { "experimental.core.kcp.io/unschedulable": "true" } },
      spec: { baseURL: "https://base.kcp.test.dev" },
    },
  });

const relabel = (test: TestServer, name: string, labels: object) =>
  test.patch(`${shardsPath}/${name}`, "merge", { metadata: { labels } }, masters);

async function partitionsIn(test: TestServer, cluster?: string): Promise<readonly AnyObject[]> {
  return (await test.requestOk("GET", `${topology(cluster)}/partitions`, masters)).items ?? [];
}

const selectorOf = (partition: AnyObject) =>
  (partition["spec"] as { selector: { matchLabels: Record<string, string> } }).selector;

async function regions(test: TestServer): Promise<string[]> {
  const found = await partitionsIn(test);
  return found.map((one) => selectorOf(one).matchLabels["region"] ?? "").sort();
}

interface Told {
  readonly count?: number;
  readonly conditions: readonly Record<string, string>[];
}

async function told(test: TestServer, name = "regions"): Promise<Told> {
  const set = await test.requestOk("GET", `${topology()}/partitionsets/${name}`, masters);
  return (set["status"] ?? { conditions: [] }) as unknown as Told;
}

const conditionOf = ({ conditions }: Told, type: string) =>
  conditions.find((one) => one["type"] === type);

const settled = (test: TestServer, wanted: readonly string[]) =>
  until(test, `the regions are ${wanted.join(", ")}`, async () => {
    const [status, found] = [await told(test), await regions(test)];
    return (
      conditionOf(status, "PartitionSetValid")?.["status"] === "True" &&
      conditionOf(status, "PartitionsReady")?.["status"] === "True" &&
      status.count === wanted.length &&
      found.join() === wanted.join()
    );
  });

describe("a PartitionSet", () => {
  it("follows shards as they are created, relabelled and deleted", async () => {
    const test = await start();
    await test.requestOk("POST", `${topology()}/partitionsets`, {
      ...masters,
      body: setOf(byRegion),
    });
    await settled(test, []);
    await addShard(test, "one", { region: "eu" });
    await settled(test, ["eu"]);
    await addShard(test, "two", { region: "us" });
    await settled(test, ["eu", "us"]);
    await relabel(test, "two", { region: "eu" });
    await settled(test, ["eu"]);
    await addShard(test, "three", { region: "ap" });
    await settled(test, ["ap", "eu"]);
    await relabel(test, "three", { excluded: "true" });
    await settled(test, ["eu"]);
    for (const name of ["one", "two"])
      await test.requestOk("DELETE", `${shardsPath}/${name}`, masters);
    await settled(test, []);
    await test.close();
  });

  it("owns the Partitions that it creates, and copies its selector into them", async () => {
    const test = await start();
    const body = setOf(byRegion);
    const set = await test.requestOk("POST", `${topology()}/partitionsets`, { ...masters, body });
    await addShard(test, "one", { region: "eu" });
    await settled(test, ["eu"]);
    const [made] = await partitionsIn(test);
    assert.ok(made);
    assert.deepEqual(made.metadata["ownerReferences"], [
      {
        apiVersion: "topology.kcp.io/v1alpha1",
        kind: "PartitionSet",
        name: "regions",
        uid: set.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    assert.deepEqual(selectorOf(made), { matchLabels: { region: "eu" }, ...notExcluded });
    await test.close();
  });

  it("follows changes of its spec, and keeps Partitions that are still required", async () => {
    const test = await start();
    await addShard(test, "one", { region: "eu", cloud: "a" });
    await addShard(test, "two", { region: "us", cloud: "b" });
    await test.requestOk("POST", `${topology()}/partitionsets`, {
      ...masters,
      body: setOf(byRegion),
    });
    await settled(test, ["eu", "us"]);
    const before = await partitionsIn(test);
    const change = (spec: object) =>
      test.patch(`${topology()}/partitionsets/regions`, "merge", { spec }, masters);
    await change({ dimensions: ["region", "region"] });
    await settled(test, ["eu", "us"]);
    const uids = (found: readonly AnyObject[]) => found.map(({ metadata }) => metadata.uid);
    assert.deepEqual(uids(await partitionsIn(test)), uids(before));
    await change({ shardSelector: { ...notExcluded, matchLabels: { cloud: "a" } } });
    await settled(test, ["eu"]);
    assert.deepEqual(selectorOf((await partitionsIn(test))[0] as AnyObject).matchLabels, {
      region: "eu",
      cloud: "a",
    });
    await test.close();
  });

  it("recreates Partitions that a client changes or deletes", async () => {
    const test = await start();
    await addShard(test, "one", { region: "eu" });
    await test.requestOk("POST", `${topology()}/partitionsets`, {
      ...masters,
      body: setOf(byRegion),
    });
    await settled(test, ["eu"]);
    const path = `${topology()}/partitions/${(await partitionsIn(test))[0]?.metadata.name}`;
    const spec = { selector: { matchLabels: { region: "moon" } } };
    assert.equal((await test.patch(path, "merge", { spec }, masters)).status, 200);
    await settled(test, ["eu"]);
    await test.requestOk("DELETE", path, masters);
    await settled(test, ["eu"]);
    await test.close();
  });

  it("leaves Partitions of other owners alone, and reports one that has the name of its own", async () => {
    const test = await start();
    await addShard(test, "one", { region: "eu" });
    await test.requestOk("POST", `${topology()}/partitionsets`, {
      ...masters,
      body: setOf(byRegion),
    });
    await settled(test, ["eu"]);
    const [made] = await partitionsIn(test);
    const name = String(made?.metadata.name);
    // The same name with another owner: a user created the Partition while the set's own was
    // missing.
    await test.patch(
      `${topology()}/partitions/${name}`,
      "merge",
      { metadata: { ownerReferences: null } },
      masters,
    );
    await until(test, "the set says that its name is taken", async () => {
      await relabel(test, "one", { seen: "again" });
      const ready = conditionOf(await told(test), "PartitionsReady");
      return ready?.["status"] === "False" && String(ready["message"]).includes(name);
    });
    assert.equal((await partitionsIn(test)).length, 1);
    await test.requestOk("DELETE", `${topology()}/partitions/${name}`, masters);
    await settled(test, ["eu"]);
    await test.close();
  });

  it("has a Partition name truncated as upstream truncates it", async () => {
    const test = await start();
    const labels = Object.fromEntries(
      [1, 2, 3, 4, 5].map((at) => [`label${at}`, `value${at}-${"1234567890".repeat(5)}`]),
    );
    await addShard(test, "long", labels);
    const body = setOf({ dimensions: Object.keys(labels) });
    await test.requestOk("POST", `${topology()}/partitionsets`, { ...masters, body });
    await until(test, "it is made", async () => (await partitionsIn(test)).length === 1);
    const name = String((await partitionsIn(test))[0]?.metadata.name);
    const whole = `regions-${Object.values(labels).join("-")}`;
    assert.equal(name.slice(0, -5), whole.slice(0, 58));
    await test.close();
  });

  it("is rejected with an invalid selector", async () => {
    const test = await start();
    const bad: readonly (readonly [what: string, shardSelector: object])[] = [
      [
        "a key too long",
        expression({ key: `region/${"1234567890".repeat(7)}`, operator: "Exists" }),
      ],
      [
        "a value that begins wrongly",
        expression({ key: "region", operator: "In", values: ["_A"] }),
      ],
      ["values of nothing", expression({ key: "region", operator: "Exists", values: ["a"] })],
      ["no values", expression({ key: "region", operator: "NotIn" })],
      ["an operator that is none", expression({ key: "region", operator: "Near" })],
      ["a wrong prefix of a label", { matchLabels: { "12_34/aaa": "x" } }],
      ["a wrong value of a label", { matchLabels: { region: "12%%34" } }],
    ];
    for (const [what, shardSelector] of bad) {
      const body = setOf({ dimensions: ["region"], shardSelector });
      const answer = await test.request("POST", `${topology()}/partitionsets`, {
        ...masters,
        body,
      });
      assert.equal(answer.status, 422, what);
    }
    await test.close();
  });

  it("has at most ten dimensions", async () => {
    const test = await start();
    const create = (count: number) => {
      const dimensions = Array.from({ length: count }, (_, at) => `d${at}`);
      const body = setOf({ dimensions }, `of-${count}`);
      return test.request("POST", `${topology()}/partitionsets`, { ...masters, body });
    };
    assert.equal((await create(10)).status, 201);
    assert.equal((await create(11)).status, 422);
    await test.close();
  });
});

const expression = (one: object) => ({ matchExpressions: [one] });

describe("topology among tenants", () => {
  it("belongs to its tenant: neither sets nor partitions are read or changed from another logical cluster", async () => {
    const test = await start();
    await addShard(test, "one", { region: "eu" });
    const own = { user: "a", body: setOf(byRegion) } as const;
    await test.requestOk("POST", `${topology("a")}/partitionsets`, own);
    await until(test, "a has it", async () => (await partitionsIn(test, "a")).length === 1);
    assert.deepEqual(await partitionsIn(test, "b"), []);
    const name = (await partitionsIn(test, "a"))[0]?.metadata.name;
    for (const path of [`partitions/${name}`, "partitions", "partitionsets/regions"]) {
      assert.equal((await test.get(`${topology("a")}/${path}`, { user: "b" })).status, 403, path);
      const deletion = await test.request("DELETE", `${topology("a")}/${path}`, { user: "b" });
      assert.equal(deletion.status, 403, path);
    }
    await test.close();
  });

  it("reveals to a tenant no more of the shards than the labels that the tenant asks for by name", async () => {
    const test = await start();
    await addShard(test, "one", { region: "eu", secret: "canary" });
    const body = setOf(byRegion);
    await test.requestOk("POST", `${topology("a")}/partitionsets`, { user: "a", body });
    await until(test, "a has it", async () => (await partitionsIn(test, "a")).length === 1);
    for (const path of ["partitions", "partitionsets"]) {
      const { text } = await test.get(`${topology("a")}/${path}`, { user: "a" });
      assert.ok(!text.includes("canary"), path);
    }
    assert.equal((await test.get(shardsPath, { user: "a" })).status, 403);
    await test.close();
  });

  it("is deleted with its logical cluster", async () => {
    const test = await start();
    await addShard(test, "one", { region: "eu" });
    const workspaces = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces";
    const made = await test.requestOk("POST", workspaces, {
      ...masters,
      body: { metadata: { name: "w" } },
    });
    const { cluster } = made["spec"] as { cluster: string };
    const body = setOf(byRegion);
    await test.requestOk("POST", `${topology(cluster)}/partitionsets`, { ...masters, body });
    await until(test, "it is made", async () => (await partitionsIn(test, cluster)).length === 1);
    await test.requestOk("DELETE", `${workspaces}/w`, masters);
    await until(test, "nothing is left", async () => {
      const signal = new AbortController().signal;
      const { entries } = await test.storage.list("/topology.kcp.io/" as never, {
        signal,
        entriesMax: 10,
      });
      return entries.length === 0;
    });
    await test.close();
  });
});

describe("a PartitionSet and a store that fails", () => {
  /** Fails one write, counted from when it is armed; or every write from then on. */
  function failing(inner: MemoryStorage): {
    storage: Storage;
    arm: (at: number, forEver?: boolean) => void;
  } {
    let [left, isForEver] = [Number.POSITIVE_INFINITY, false];
    const storage = new Proxy(inner, {
      get(target, name) {
        if (name === "close") return async () => {};
        const value = Reflect.get(target, name, target) as unknown;
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (name === "commit" && (--left === 0 || (isForEver && left < 0)))
            throw new StorageError("unavailable", "the store was told to fail");
          return value.apply(target, args) as unknown;
        };
      },
    }) as unknown as Storage;
    return {
      storage,
      arm: (at, forEver = false) => {
        [left, isForEver] = [at, forEver];
      },
    };
  }

  for (let at = 1; at <= 5; at++) {
    it(`write ${at} of a change fails: it is done later`, async () => {
      const { storage, arm } = failing(new MemoryStorage());
      const test = await start(storage);
      await addShard(test, "one", { region: "eu" });
      await addShard(test, "two", { region: "us" });
      await test.requestOk("POST", `${topology()}/partitionsets`, {
        ...masters,
        body: setOf(byRegion),
      });
      await settled(test, ["eu", "us"]);
      // The first write is the client's own, and may be rejected: it is sent again.
      arm(at);
      for (let tries = 0; tries < 2; tries++)
        await test.patch(
          `${topology()}/partitionsets/regions`,
          "merge",
          { spec: { shardSelector: null } },
          masters,
        );
      await until(test, "the Partitions say what the set says now", async () =>
        (await partitionsIn(test)).every((one) => !("matchExpressions" in selectorOf(one))),
      );
      await settled(test, ["eu", "us"]);
      await test.close();
    });

    it(`the server goes down at write ${at} of a change: the next one finishes it, and makes nothing twice`, async () => {
      const memory = new MemoryStorage();
      const { storage, arm } = failing(memory);
      const broken = await start(storage);
      await addShard(broken, "one", { region: "eu" });
      await addShard(broken, "two", { region: "us" });
      arm(at, true);
      const body = setOf(byRegion);
      const path = `${topology()}/partitionsets`;
      const { status } = await broken.request("POST", path, { ...masters, body });
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      await broken.close();
      const test = await start(memory);
      if (status !== 201) await test.requestOk("POST", path, { ...masters, body });
      await settled(test, ["eu", "us"]);
      await test.close();
    });
  }

  it("reconciled by two servers at once has each Partition once", async () => {
    const memory = new MemoryStorage();
    const { storage } = failing(memory);
    const [first, second] = [await start(storage), await start(storage)];
    await first.requestOk("POST", `${topology()}/partitionsets`, {
      ...masters,
      body: setOf(byRegion),
    });
    for (const [at, region] of ["ap", "eu", "us"].entries())
      await addShard(first, `shard-${at}`, { region });
    await settled(first, ["ap", "eu", "us"]);
    await settled(second, ["ap", "eu", "us"]);
    await first.close();
    await second.close();
  });
});
