/** Conformance tests of Kubernetes for watches, under the names that they have there. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { Api } from "./api.ts";

let plane: TestControlPlane;
let api: Api;
let clusters = 0;
before(async () => {
  plane = await startTestControlPlane({ physicalClusters: false });
});
after(() => plane.close());
beforeEach(() => {
  api = new Api(plane.client.transport, `/clusters/watches${clusters++}`);
});

const configMaps = "/api/v1/namespaces/default/configmaps";
const labelled = (value: string) => ({ "watch-this-configmap": value });
const selecting = (...values: readonly string[]) =>
  `labelSelector=watch-this-configmap%20in%20(${values.join("%2C")})`;
const create = (name: string, value: string) =>
  api.expectSuccess("POST", configMaps, { metadata: { name, labels: labelled(value) } });
const mutate = (name: string, mutation: number) =>
  api.merge(`${configMaps}/${name}`, { data: { mutation: String(mutation) } });
type Watch = Awaited<ReturnType<Api["watch"]>>;
const seen = async (watch: Watch): Promise<readonly unknown[]> => {
  const { type, object } = await watch.next();
  return [type, object.metadata.name, object.data?.["mutation"]];
};

describe("conformance: watches", () => {
  it("Watchers should observe add, update, and delete watch notifications on configmaps", async () => {
    const [a, b, both] = await Promise.all([
      api.watch(`${configMaps}?${selecting("A")}`),
      api.watch(`${configMaps}?${selecting("B")}`),
      api.watch(`${configMaps}?${selecting("A", "B")}`),
    ]);
    await create("a", "A");
    await mutate("a", 1);
    await mutate("a", 2);
    await api.expectSuccess("DELETE", `${configMaps}/a`);
    await create("b", "B");
    await api.expectSuccess("DELETE", `${configMaps}/b`);
    const ofA = [
      ["ADDED", "a", undefined],
      ["MODIFIED", "a", "1"],
      ["MODIFIED", "a", "2"],
      ["DELETED", "a", "2"],
    ];
    const ofB = [
      ["ADDED", "b", undefined],
      ["DELETED", "b", undefined],
    ];
    for (const [watch, expected] of [
      [a, ofA],
      [b, ofB],
      [both, [...ofA, ...ofB]],
    ] as const) {
      for (const each of expected) assert.deepEqual(await seen(watch), each);
      watch.close();
    }
  });

  it("Watchers should be able to start watching from a specific resource version", async () => {
    await create("a", "from-resource-version");
    const { metadata } = await mutate("a", 1);
    await mutate("a", 2);
    await api.expectSuccess("DELETE", `${configMaps}/a`);
    const watch = await api.watch(
      `${configMaps}?${selecting("from-resource-version")}&resourceVersion=${metadata.resourceVersion}`,
    );
    assert.deepEqual(await seen(watch), ["MODIFIED", "a", "2"]);
    assert.deepEqual(await seen(watch), ["DELETED", "a", "2"]);
    watch.close();
  });

  it("Watchers should be able to restart watching from the last resource version observed by the previous watch", async () => {
    const query = `${configMaps}?${selecting("watch-closed")}`;
    const first = await api.watch(query);
    await create("a", "watch-closed");
    await mutate("a", 1);
    assert.deepEqual(await seen(first), ["ADDED", "a", undefined]);
    const last = await first.next();
    assert.equal(last.type, "MODIFIED");
    first.close();
    await mutate("a", 2);
    const from = last.object.metadata.resourceVersion;
    const second = await api.watch(`${query}&resourceVersion=${from}`);
    await api.expectSuccess("DELETE", `${configMaps}/a`);
    assert.deepEqual(await seen(second), ["MODIFIED", "a", "2"]);
    assert.deepEqual(await seen(second), ["DELETED", "a", "2"]);
    second.close();
  });

  it("Watchers should observe an object deletion if it stops meeting the requirements of the selector", async () => {
    const relabel = (value: string) =>
      api.merge(`${configMaps}/a`, { metadata: { labels: labelled(value) } });
    const watch = await api.watch(`${configMaps}?${selecting("label-changed")}`);
    await create("a", "label-changed");
    await mutate("a", 1);
    await relabel("wrong-value");
    await mutate("a", 2);
    await relabel("label-changed");
    await mutate("a", 3);
    await api.expectSuccess("DELETE", `${configMaps}/a`);
    for (const expected of [
      ["ADDED", "a", undefined],
      ["MODIFIED", "a", "1"],
      ["DELETED", "a", "1"],
      ["ADDED", "a", "2"],
      ["MODIFIED", "a", "3"],
      ["DELETED", "a", "3"],
    ])
      assert.deepEqual(await seen(watch), expected);
    watch.close();
  });

  it("Watchers should receive events on concurrent watches in same order", async () => {
    const count = 100;
    const versions = async (watch: Watch, length: number) => {
      const read: unknown[] = [];
      while (read.length < length) read.push((await watch.next()).object.metadata.resourceVersion);
      watch.close();
      return read;
    };
    const main = await api.watch(`${configMaps}?${selecting("order")}`);
    const changes = (async () => {
      for (let index = 0; index < count; index++) {
        if (index % 3 === 0) await create(`c${index}`, "order");
        else if (index % 3 === 1) await mutate(`c${index - 1}`, index);
        else await api.expectSuccess("DELETE", `${configMaps}/c${index - 2}`);
      }
    })();
    const all: unknown[] = [];
    const followers: { readonly after: number; readonly watch: Watch }[] = [];
    for (let index = 0; index < count; index++) {
      const version = (await main.next()).object.metadata.resourceVersion;
      all.push(version);
      if (index % 10 === 0 && index + 1 < count) {
        const query = `${configMaps}?${selecting("order")}&resourceVersion=${version}`;
        followers.push({ after: index, watch: await api.watch(query) });
      }
    }
    await changes;
    main.close();
    for (const { after, watch } of followers)
      assert.deepEqual(await versions(watch, count - after - 1), all.slice(after + 1));
  });
});
