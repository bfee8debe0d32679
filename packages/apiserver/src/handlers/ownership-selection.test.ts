/**
 * Goal: `kcpSelection=ownership` finds every object that garbage collection needs, delivers every
 * deletion, and stays within its cluster.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { summarizeEvent, TestServer, type WatchReader } from "../testing/index.ts";

const pathIn = (cluster: string) => `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
const configmaps = pathIn("a");
const selection = "kcpSelection=ownership";

describe("the ownership selection", () => {
  let server: TestServer;
  let watches: WatchReader[];
  beforeEach(async () => {
    server = await TestServer.start();
    watches = [];
  });
  afterEach(async () => {
    for (const watch of watches) await watch.leave();
    await server.close();
  });

  const create = (name: string, metadata: object = {}, path = configmaps) =>
    server.requestOk("POST", path, { body: { metadata: { name, ...metadata } } });
  const owned = { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u" }] };
  const watch = async (path: string): Promise<WatchReader> => {
    const reader = await server.watch(`${path}?watch=1&${selection}`);
    watches.push(reader);
    return reader;
  };

  it("lists objects with owners and objects that wait for their dependents", async () => {
    await create("plain");
    await create("owned", owned);
    await create("held", { finalizers: ["example.com/x"] });
    await create("waiting", { finalizers: ["example.com/x"] });
    await server.requestOk("DELETE", `${configmaps}/waiting`, {
      body: { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Foreground" },
    });
    await create("orphaning", { finalizers: ["orphan"] });
    const { names } = await server.get(`${configmaps}?${selection}`);
    assert.deepEqual(names, ["orphaning", "owned", "waiting"]);
  });

  it("delivers these objects to a watch, changes into and out of the selection, and every deletion", async () => {
    const reader = await watch(configmaps);
    await create("plain");
    await create("owned", owned);
    await server.patch(`${configmaps}/plain`, "merge", { metadata: { labels: { a: "b" } } });
    await server.patch(`${configmaps}/plain`, "merge", { metadata: owned });
    await server.patch(`${configmaps}/owned`, "merge", { metadata: { ownerReferences: null } });
    await create("stranger");
    await server.requestOk("DELETE", `${configmaps}/stranger`);
    assert.deepEqual((await reader.take(4)).map(summarizeEvent), [
      "ADDED owned",
      "ADDED plain",
      "DELETED owned",
      "DELETED stranger",
    ]);
  });

  it("shows no object of another cluster, and objects of all clusters only to the wildcard", async () => {
    const reader = await watch(configmaps);
    await create("theirs", owned, pathIn("b"));
    await server.requestOk("DELETE", `${pathIn("b")}/theirs`);
    await create("ours", owned);
    assert.equal(summarizeEvent(await reader.next()), "ADDED ours");
    assert.deepEqual((await server.get(`${configmaps}?${selection}`)).names, ["ours"]);
    await create("theirs", owned, pathIn("b"));
    const all = await server.get(`/clusters/*/api/v1/configmaps?${selection}`, { user: "masters" });
    assert.deepEqual(all.names, ["ours", "theirs"]);
  });

  it("rejects other values, and other selectors beside it", async () => {
    for (const query of ["kcpSelection=all", `${selection}&labelSelector=a%3Db`]) {
      assert.equal((await server.request("GET", `${configmaps}?${query}`)).status, 400);
    }
  });
});

describe("selections by key or bytes", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await TestServer.start();
  });
  afterEach(() => server.close());
  const asMasters = (path: string) => server.get(path, { user: "masters" });

  it("a name matches the complete name, in all clusters", async () => {
    for (const cluster of ["a", "b"]) {
      for (const name of ["one", "and.one"]) {
        await server.requestOk("POST", pathIn(cluster), { body: { metadata: { name } } });
      }
    }
    const query = (text: string) => `/clusters/*/api/v1/configmaps?fieldSelector=${text}`;
    assert.deepEqual((await asMasters(query("metadata.name%3Done"))).names, ["one", "one"]);
    const none = query("metadata.name%3Done,metadata.namespace%3Dother");
    assert.deepEqual((await asMasters(none)).names, []);
    const not = query("metadata.name!%3Done");
    assert.deepEqual((await asMasters(not)).names, ["and.one", "and.one"]);
  });

  it("the phase of a namespace matches the phase only, wherever else the value occurs", async () => {
    const namespaces = "/clusters/a/api/v1/namespaces";
    const annotations = { note: "Terminating", other: '"Terminating"' };
    await server.requestOk("POST", namespaces, {
      body: { metadata: { name: "mentions", annotations } },
    });
    await server.requestOk("POST", namespaces, { body: { metadata: { name: "going" } } });
    await server.requestOk("DELETE", `${namespaces}/going`);
    const query = (value: string) =>
      `/clusters/*/api/v1/namespaces?fieldSelector=status.phase${value}`;
    assert.deepEqual((await asMasters(query("%3DTerminating"))).names, ["going"]);
    assert.deepEqual((await asMasters(query("!%3DTerminating"))).names, ["mentions"]);
  });
});
