import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { pipeline } from "./pipeline.ts";
import { MemoryStorage } from "./storage/memory/index.ts";
import { FaultyStorage, summarizeEvent, TestServer } from "./testing/index.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";

let storage: FaultyStorage;
let server: TestServer;
beforeEach(async () => {
  storage = new FaultyStorage(new MemoryStorage());
  server = await TestServer.start({ storage });
  await server.requestOk("POST", configmaps, { body: { metadata: { name: "x" } } });
});
afterEach(() => server.close());

describe("the request pipeline", () => {
  it("runs its stages in the order of ARCHITECTURE.md", () => {
    const names = pipeline.map(([name]) => name);
    assert.deepEqual(names, [
      ...["route", "deadline", "authenticate", "audit", "impersonate"],
      ...["flowControl", "authorize", "resolve", "receiveBody", "flowControlOfBody", "dispatch"],
    ]);
  });

  it("authenticates before it authorizes, and authorizes before it resolves the resource", async () => {
    const wrong = { authorization: "Bearer wrong" };
    for (const path of [configmaps, "/api/v1/nothing", "/nothing"]) {
      const unknown = await server.get(path, { user: "anonymous", headers: wrong });
      assert.equal(unknown.status, 401, path);
      assert.equal((await server.get(path, { user: "anonymous" })).status, 403, path);
    }
    const { object } = await server.get(configmaps, { user: "b" });
    assert.equal(
      object.message,
      'configmaps is forbidden: User "b" cannot list resource "configmaps" in API group "" in the namespace "default"',
    );
  });

  it("logs no request that only its client can mend: a tenant cannot fill the log", async () => {
    await server.requestOk("POST", configmaps, { body: { metadata: { name: "patched" } } });
    const headers = { "content-type": "application/json-patch+json" };
    const body = [{ op: "test", path: "/data/a", value: "2" }];
    const answer = await server.request("PATCH", `${configmaps}/patched`, { body, headers });
    assert.equal(answer.status, 422);
    assert.equal(JSON.stringify(server.logged).includes("failed unexpectedly"), false);
  });

  it("responds 504 to a request that exceeds its timeout", async () => {
    const release = storage.holdCommits();
    const body = { metadata: { name: "slow" } };
    const times: [query: string, ms: number][] = [
      ["?timeout=2s", 2000],
      ["?timeout=1m30s", 34_000],
      ["", 34_000],
      ["?timeout=0s", 34_000],
    ];
    for (const [query, ms] of times) {
      const answering = server.request("POST", `${configmaps}${query}`, { body });
      await settle();
      server.clock.advance(ms - 1);
      await settle();
      server.clock.advance(1);
      const answer = await answering;
      assert.equal(answer.status, 504, query);
      assert.equal(answer.object.reason, "Timeout");
      assert.match(answer.object.message ?? "", /^Timeout: request did not complete/);
    }
    release();
  });

  it("leaves no timer behind", async () => {
    const timers = server.clock.pending;
    await server.get(configmaps);
    await server.get("/nothing");
    await server.request("POST", configmaps, { body: "{" });
    assert.equal(server.clock.pending, timers);
  });
});

describe("a store that fails", () => {
  it("fails reads and writes with 500s that do not expose the cause, fails readyz, and then recovers", async () => {
    storage.fail();
    const requests: [method: string, path: string, body?: object][] = [
      ["POST", configmaps, { metadata: { name: "y" } }],
      ["POST", configmaps.replace("default", "elsewhere"), { metadata: { name: "y" } }],
      ["PATCH", `${configmaps}/x`, { data: { a: "b" } }],
      ["PATCH", `${configmaps}/new?fieldManager=me`, { metadata: { name: "new" } }],
      ["PUT", `${configmaps}/x`, { metadata: { name: "x" } }],
      ["DELETE", `${configmaps}/x`],
      ["DELETE", configmaps],
      ["GET", `${configmaps}/x`],
      ["GET", configmaps],
      ["GET", `${configmaps}?watch=1`],
    ];
    for (const [method, path, body] of requests) {
      const type = path.includes("fieldManager") ? "apply-patch+yaml" : "merge-patch+json";
      const headers = method === "PATCH" ? { "content-type": `application/${type}` } : {};
      const answer = await server.request(method, path, { body, headers });
      assert.equal(answer.status, 500, `${method} ${path}`);
      assert.equal(answer.object.reason, "InternalError");
      assert.equal(
        answer.object.message,
        "Internal error occurred: the store cannot take this request now; see the server's log",
        `${method} ${path}`,
      );
      assert.equal(answer.headers["retry-after"], undefined);
    }
    const told = server.logged.filter(({ message }) => message.startsWith("requests fail"));
    assert.deepEqual(
      told.map(({ fields }) => fields),
      [{ fault: "the disk is on fire" }],
    );
    assert.equal(JSON.stringify(server.logged).includes("failed unexpectedly"), false);
    assert.equal((await server.get("/readyz")).status, 500);
    assert.equal((await server.get("/livez")).status, 200);
    storage.recover();
    // The feed retries a little later.
    await settle();
    server.clock.advance(100);
    await settle();
    const created = await server.request("POST", configmaps, { body: { metadata: { name: "y" } } });
    assert.equal(created.status, 201);
    assert.deepEqual((await server.get(configmaps)).names, ["x", "y"]);
    assert.equal((await server.get("/readyz")).status, 200);
  });

  it("does not end watches: they resume where they stopped", async () => {
    const watch = await server.watch(`${configmaps}?watch=1`);
    assert.equal(summarizeEvent(await watch.next()), "ADDED x");
    const next = watch.next();
    await settle();
    storage.fail();
    await settle();
    storage.recover();
    await server.requestOk("POST", configmaps, { body: { metadata: { name: "during" } } });
    server.clock.advance(100);
    assert.equal(summarizeEvent(await next), "ADDED during");
    await watch.leave();
  });
});

describe("stopping the server", () => {
  it("fails readyz first, while requests are still served", async () => {
    server.server.beginDraining();
    const ready = await server.get("/readyz?verbose");
    assert.equal(ready.status, 500);
    assert.match(ready.text, /^\[-\]shutdown failed: reason withheld$/m);
    assert.equal((await server.get("/livez")).status, 200);
    assert.equal((await server.get(configmaps)).status, 200);
    const body = { metadata: { name: "late" } };
    assert.equal((await server.request("POST", configmaps, { body })).status, 201);
  });

  it("ends watches without an error event, and new watches at once", async () => {
    const watch = await server.watch(`${configmaps}?watch=1`);
    await watch.take(1);
    const rest = watch.rest();
    await server.server.drain();
    assert.deepEqual(await rest, []);
    const late = await server.watch(`${configmaps}?watch=1`);
    assert.deepEqual((await late.rest()).map(summarizeEvent), ["ADDED x"]);
  });

  it("waits for writes in flight, which are acknowledged and kept", async () => {
    const release = storage.holdCommits();
    const writing = server.request("POST", configmaps, { body: { metadata: { name: "last" } } });
    await settle();
    assert.equal(storage.held, 1);
    let isDrained = false;
    const draining = server.server.drain().then(() => {
      isDrained = true;
    });
    await settle();
    assert.equal(isDrained, false);
    release();
    assert.equal((await writing).status, 201);
    await draining;
    await server.server.close();
    const again = await TestServer.start({ storage });
    assert.equal((await again.get(`${configmaps}/last`)).status, 200);
    await again.server.close();
  });

  it("leaves no timer and no feed behind after close", async () => {
    const watch = await server.watch(`${configmaps}?watch=1`);
    await watch.take(1);
    const rest = watch.rest();
    await server.server.close();
    assert.deepEqual(await rest, []);
    assert.equal(server.clock.pending, 0);
  });
});

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
