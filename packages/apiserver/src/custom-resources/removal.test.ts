/**
 * The deletion of a definition: it waits for finalizers, permits no new objects, leaves no objects
 * behind, and survives a crash in between.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { condition, conditionOf, definitionsPath, install, TestServer } from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const crd = `/clusters/a${definitionsPath}/crontabs.stable.example.com`;
const path = "/clusters/a/apis/stable.example.com/v1/namespaces/default/crontabs";

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start();
  await install(server, cronTabs());
});
afterEach(() => server.close());

async function gone(): Promise<void> {
  const watch = await server.watch(`/clusters/a${definitionsPath}?watch=1`);
  if ((await server.get(crd)).status === 404) return watch.leave();
  for (;;) if ((await watch.take(1))[0]?.type === "DELETED") break;
  await watch.leave();
}

function held(name: string): object {
  return { metadata: { name, finalizers: ["example.com/hold"] }, spec: {} };
}

describe("deleting a definition", () => {
  it("waits for instances with finalizers", async () => {
    await server.requestOk("POST", path, { body: held("held") });
    await server.requestOk("POST", path, { body: { metadata: { name: "free" } } });
    const marked = await server.requestOk("DELETE", crd);
    assert.deepEqual(marked.metadata["finalizers"], ["customresourcecleanup.apiextensions.k8s.io"]);
    assert.equal(conditionOf(marked, "Terminating")?.reason, "InstanceDeletionPending");
    const busy = await condition(server, "crontabs.stable.example.com", "Terminating", "True");
    assert.ok(conditionOf(busy, "Terminating")?.reason.startsWith("InstanceDeletion"));
    // The instances are deleted at the same time: either of them may be the first.
    const left = async () => (await server.get(path)).items;
    const isMarked = (one: Awaited<ReturnType<typeof left>>[number] | undefined) =>
      one?.metadata["deletionTimestamp"] !== undefined;
    let items = await left();
    while (items.length > 1 || !isMarked(items[0])) {
      await new Promise(setImmediate);
      items = await left();
    }
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ["held"],
    );
    assert.equal((await server.get(crd)).status, 200);
    await server.patch(`${path}/held`, "merge", { metadata: { finalizers: null } });
    await gone();
    assert.equal((await server.get(path)).status, 404);
  });

  it("rejects new instances meanwhile, and discovery shows that", async () => {
    await server.requestOk("POST", path, { body: held("held") });
    await server.requestOk("DELETE", crd);
    const refused = await server.request("POST", path, { body: { metadata: { name: "late" } } });
    assert.equal(refused.status, 403);
    assert.equal(
      refused.object.message,
      'crontabs.stable.example.com "late" is forbidden: create not allowed while custom resource definition is terminating',
    );
    const { resources } = await server.requestOk("GET", "/clusters/a/apis/stable.example.com/v1");
    assert.deepEqual((resources as { verbs: string[] }[])[0]?.verbs, [
      "delete",
      "deletecollection",
      "get",
      "list",
      "watch",
    ]);
    await server.patch(`${path}/held`, "merge", { metadata: { finalizers: null } });
    await gone();
  });

  it("leaves nothing behind for a definition of the same name", async () => {
    await server.requestOk("POST", path, { body: { metadata: { name: "old" } } });
    await server.requestOk("DELETE", crd);
    await gone();
    await install(server, cronTabs());
    assert.deepEqual((await server.get(path)).items, []);
    const { signal } = new AbortController();
    const { entries } = await server.storage.list("/stable.example.com/" as never, {
      signal,
      entriesMax: 10,
    });
    assert.deepEqual(entries, []);
  });

  it("continues after a restart", async () => {
    await server.requestOk("POST", path, { body: held("held") });
    await server.requestOk("DELETE", crd);
    while (
      (await server.requestOk("GET", `${path}/held`)).metadata["deletionTimestamp"] === undefined
    )
      await new Promise(setImmediate);
    await server.server.close();
    server = await TestServer.start({ storage: server.storage });
    await server.patch(`${path}/held`, "merge", { metadata: { finalizers: null } });
    await gone();
  });

  it("that was never established does not look for instances", async () => {
    const names = { plural: "others", singular: "crontab", kind: "Other", shortNames: [] };
    await server.requestOk("POST", `/clusters/a${definitionsPath}`, { body: cronTabs({ names }) });
    await condition(server, "others.stable.example.com", "NamesAccepted", "False");
    const one = `/clusters/a${definitionsPath}/others.stable.example.com`;
    await server.requestOk("DELETE", one);
    while ((await server.get(one)).status !== 404) await new Promise(setImmediate);
  });

  it("with preconditions that do not hold does nothing", async () => {
    const answer = await server.request("DELETE", crd, {
      body: { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid: "other" } },
    });
    assert.equal(answer.status, 409);
    assert.equal((await server.requestOk("GET", crd)).metadata["deletionTimestamp"], undefined);
  });

  it("as a dry run changes nothing", async () => {
    await server.requestOk("DELETE", `${crd}?dryRun=All`);
    assert.equal((await server.requestOk("GET", crd)).metadata["deletionTimestamp"], undefined);
    assert.equal((await server.get(path)).status, 200);
  });
});
