import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStatusError, statusError } from "@kcp-ts/machinery/status";
import { FakeClock } from "@kcp-ts/testkit";
import { FakeApiServer } from "../fake-server/index.ts";
import { configMaps } from "../kinds/index.ts";
import { Client } from "./client.ts";
import { type InProcessHandler, InProcessTransport } from "./in-process-transport.ts";
import { sharedDeadlineMs } from "./shared-deadlines.ts";
import { isTransportError, TransportError, type TransportRequest } from "./transport.ts";
import { watchLineBytesMax } from "./watch.ts";

const resource = "/v1/configmaps";
const target = { namespace: "default", name: "a" };

function setUp() {
  const clock = new FakeClock();
  const server = new FakeApiServer({ clock });
  const client = new Client({ transport: server.transport(), clock });
  return { clock, server, client, maps: client.resource(configMaps) };
}

/** A client whose requests are recorded and get prepared responses. */
function scripted(
  handle: InProcessHandler,
  options: { fieldManager?: string; applyManager?: string; userAgent?: string } = {},
) {
  const sent: TransportRequest[] = [];
  const clock = new FakeClock();
  const transport = new InProcessTransport((request) => {
    sent.push(request);
    return handle(request);
  });
  const warnings: string[] = [];
  const client = new Client({
    transport,
    clock,
    ...options,
    onWarning: (text) => warnings.push(text),
  });
  return { sent, clock, client, warnings, maps: client.resource(configMaps) };
}

const ok = { status: 200, body: '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}' };

describe("a client without managed fields", () => {
  it("asks for their absence, and takes what a server without that offer sends", async () => {
    const { sent, client } = scripted(() => ok);
    const maps = client.withoutManagedFields().resource(configMaps);
    assert.equal((await maps.get(target)).metadata.name, "a");
    await maps.getMetadata(target);
    const accepted = sent.map(({ headers }) => headers["accept"]);
    assert.equal(accepted[0], "application/json;drop=metadata.managedFields,application/json");
    assert.match(String(accepted[1]), /^application\/json;as=PartialObjectMetadata/);
  });
});

describe("client verbs", () => {
  it("creates, reads, updates, patches and deletes", async () => {
    const { maps } = setUp();
    const created = await maps.create({ metadata: target, data: { a: "1" } });
    assert.equal(created.kind, "ConfigMap");
    assert.equal(created.apiVersion, "v1");
    assert.deepEqual(await maps.get(target), created);

    const updated = await maps.update({ ...created, data: { a: "2" } });
    assert.notEqual(updated.metadata.resourceVersion, created.metadata.resourceVersion);
    await assert.rejects(maps.update({ ...created, data: {} }), { reason: "Conflict", code: 409 });

    const patched = await maps.patch(target, { type: "merge", patch: { data: { b: "3" } } });
    assert.deepEqual(patched.data, { a: "2", b: "3" });

    await maps.delete(target);
    await assert.rejects(maps.get(target), { reason: "NotFound", code: 404 });
    assert.equal(await maps.find(target), undefined);
  });

  it("modify reads and modifies the object again after a conflicting write", async () => {
    const { maps, server, clock } = setUp();
    await maps.create({ metadata: target, data: {} });
    let calls = 0;
    const done = maps.modify(target, (current) => {
      if (++calls === 1) server.put({ resource, ...target }, { data: { theirs: "1" } });
      return { ...current, data: { ...current.data, ours: "1" } };
    });
    await clock.advanceAndFlush(1000);
    assert.deepEqual((await done).data, { theirs: "1", ours: "1" });
    assert.equal(calls, 2);
  });

  it("gives up after the maximum number of conflicts", async () => {
    const { maps, server, clock } = setUp();
    await maps.create({ metadata: target });
    let calls = 0;
    const done = maps.modify(
      target,
      (current) => {
        server.put({ resource, ...target }, { data: { n: String(++calls) } });
        return { ...current, data: {} };
      },
      { attemptsMax: 3 },
    );
    const rejected = assert.rejects(done, { reason: "Conflict" });
    await clock.advanceAndFlush(10_000);
    await rejected;
    assert.equal(calls, 3);
  });

  it("iterates over the pages of one consistent list", async () => {
    const { maps, server } = setUp();
    for (let i = 0; i < 7; i++) server.put({ resource, namespace: "default", name: `n${i}` });
    const names: string[] = [];
    for await (const page of maps.pages({ pageSize: 3 })) {
      names.push(page.items.map((item) => item.metadata.name).join());
      server.put({ resource, namespace: "default", name: `z${names.length}` });
    }
    assert.deepEqual(names, ["n0,n1,n2", "n3,n4,n5", "n6"]);
    let items = 0;
    for await (const _ of maps.items({ pageSize: 4 })) items++;
    assert.equal(items, 10);
  });

  it("throws Expired when history is compacted between two pages", async () => {
    const { maps, server } = setUp();
    for (let i = 0; i < 4; i++) server.put({ resource, namespace: "default", name: `n${i}` });
    const pages = maps.pages({ pageSize: 2 });
    await pages.next();
    server.store.tick();
    server.store.compact();
    await assert.rejects(pages.next(), { reason: "Expired" });
  });

  it("watches until the signal aborts, and then ends without an error", async () => {
    const { maps, server } = setUp();
    const controller = new AbortController();
    const seen: string[] = [];
    const { revision } = server.store;
    const watching = (async () => {
      const options = { resourceVersion: String(revision), signal: controller.signal };
      for await (const event of maps.watch(options)) {
        if (event.type !== "BOOKMARK") seen.push(`${event.type} ${event.object.metadata.name}`);
        if (seen.length === 3) controller.abort();
      }
    })();
    server.put({ resource, ...target });
    server.put({ resource, ...target }, { data: { a: "1" } });
    server.remove({ resource, ...target });
    await watching;
    assert.deepEqual(seen, ["ADDED a", "MODIFIED a", "DELETED a"]);
  });

  it("throws the Status of a watch whose version is too old", async () => {
    const { maps, server } = setUp();
    server.store.tick();
    server.store.compact();
    await assert.rejects(maps.watch({ resourceVersion: "100" }).next(), { reason: "Expired" });
  });
});

describe("the field manager of an apply that names none", () => {
  for (const [is, options, manager] of [
    ["is the program of the user agent", { userAgent: "shop/1.2 (linux)" }, "shop"],
    ["is the SDK for a client without a user agent", {}, "kcp-ts-sdk"],
    ["is not longer than servers permit", { userAgent: "a".repeat(200) }, "a".repeat(128)],
    ["is the controller's in its client", { applyManager: "pages", userAgent: "shop" }, "pages"],
    ["is the client's if it has one", { applyManager: "pages", fieldManager: "mine" }, "mine"],
  ] as const) {
    it(is, async () => {
      const { sent, client } = scripted(() => ok, options);
      const maps = client.inCluster("team").resource(configMaps);
      await maps.apply({ metadata: target });
      await maps.applyStatus({ metadata: target });
      await maps.apply({ metadata: target }, { fieldManager: "named" });
      const managers = sent.map(({ path }) => new URLSearchParams(path.split("?")[1]));
      assert.deepEqual(
        managers.map((query) => query.get("fieldManager")),
        [manager, manager, "named"],
      );
    });
  }

  it("leaves that of other writes to the server", async () => {
    const { sent, maps } = scripted(() => ok, { applyManager: "pages" });
    await maps.create({ metadata: target });
    assert.deepEqual(
      sent.map(({ path }) => path),
      ["/api/v1/namespaces/default/configmaps"],
    );
  });
});

describe("requests", () => {
  it("carry content types, field managers and options as the API requires", async () => {
    const { sent, maps } = scripted(() => ok, { fieldManager: "tester" });
    await maps.apply({ metadata: { ...target, managedFields: [] }, data: {} }, { force: true });
    await maps.patch(
      target,
      { type: "json", operations: [{ op: "remove", path: "/data" }] },
      { dryRun: true },
    );
    await maps.patchStatus(target, { type: "strategic-merge", patch: {} }, { fieldManager: "x" });
    await maps.delete(target, { propagationPolicy: "Foreground", preconditions: { uid: "u" } });
    await maps.deleteCollection({ namespace: "n", labelSelector: "a in (b,c)" });
    await maps.subresource<unknown>("token").create(target, { spec: {} });
    assert.deepEqual(
      sent.map(({ method, path, headers }) => `${method} ${path} ${headers["content-type"]}`),
      [
        "PATCH /api/v1/namespaces/default/configmaps/a?force=true&fieldManager=tester application/apply-patch+yaml",
        "PATCH /api/v1/namespaces/default/configmaps/a?dryRun=All&fieldManager=tester application/json-patch+json",
        "PATCH /api/v1/namespaces/default/configmaps/a/status?fieldManager=x application/strategic-merge-patch+json",
        "DELETE /api/v1/namespaces/default/configmaps/a application/json",
        "DELETE /api/v1/namespaces/n/configmaps?labelSelector=a%20in%20(b%2Cc) application/json",
        "POST /api/v1/namespaces/default/configmaps/a/token?fieldManager=tester application/json",
      ],
    );
    assert.equal(
      sent[0]?.body,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"a"},"data":{}}',
    );
    assert.deepEqual(JSON.parse(String(sent[3]?.body)), {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: "Foreground",
      preconditions: { uid: "u" },
    });
  });

  it("reject names that would address another path", async () => {
    const { sent, maps } = scripted(() => ok);
    for (const name of ["..", ".", "", "a/b", "a%2fb"]) {
      await assert.rejects(maps.get({ namespace: "default", name }), { reason: "BadRequest" });
    }
    await maps.get({ namespace: "default", name: "system:node?x" });
    assert.deepEqual(
      sent.map(({ path }) => path),
      ["/api/v1/namespaces/default/configmaps/system%3Anode%3Fx"],
    );
  });

  it("go to the given cluster, which replaces the previous one in the path", async () => {
    const { sent, client } = scripted(() => ok);
    const prefixed = client.withBasePath("/services/x/clusters/root");
    await client.inCluster("root:org").resource(configMaps).get(target);
    await prefixed.inCluster("*").resource(configMaps).get(target);
    assert.deepEqual(
      sent.map(({ path }) => path.replace(/\/api\/.*/, "")),
      ["/clusters/root:org", "/services/x/clusters/*"],
    );
  });

  it("keep integers that exceed a double", async () => {
    const body =
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"n":9007199254740993}';
    const { sent, maps } = scripted(() => ({ status: 200, body }));
    await maps.update(await maps.get(target));
    assert.equal(JSON.parse(body).kind, "ConfigMap");
    assert.match(String(sent[1]?.body), /"n":9007199254740993\}/);
  });

  it("set the kind of list items that come without one", async () => {
    const body =
      '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"a"}}]}';
    const { maps } = scripted(() => ({ status: 200, body }));
    const [item] = (await maps.list()).items;
    assert.equal(item?.kind, "ConfigMap");
    assert.equal(item?.apiVersion, "v1");
  });

  it("pass warnings to the program", async () => {
    const headers = { warning: '299 - "unknown field \\"spec.x\\"", 299 - "deprecated"' };
    const { maps, warnings } = scripted(() => ({ ...ok, headers }));
    await maps.get(target);
    assert.deepEqual(warnings, ['unknown field "spec.x"', "deprecated"]);
  });
});

describe("timeouts of requests", () => {
  const busy = {
    status: 429,
    headers: { "retry-after": "2" },
    body: JSON.stringify(statusError.tooManyRequests(2).status),
  };

  it("a request waits for Retry-After and is retried", async () => {
    let left = 2;
    const { maps, clock, sent } = scripted(() => (left-- > 0 ? busy : ok));
    const done = maps.get(target);
    await clock.advanceAndFlush(3999);
    assert.equal(sent.length, 2);
    await clock.advanceAndFlush(1);
    assert.equal((await done).metadata.name, "a");
    assert.equal(clock.pendingTimers, 0);
  });

  it("a request fails after ten retries", async () => {
    const { maps, clock, sent } = scripted(() => busy);
    const rejected = assert.rejects(maps.get(target), { reason: "TooManyRequests" });
    await clock.advanceAndFlush(60_000);
    await rejected;
    assert.equal(sent.length, 11);
  });

  it("a wait ends with the signal, or with the request's timeout", async () => {
    const controller = new AbortController();
    const { maps, clock } = scripted(() => busy);
    const aborted = assert.rejects(maps.get(target, { signal: controller.signal }), /enough/);
    await clock.advanceAndFlush(1);
    controller.abort(new Error("enough"));
    await aborted;

    const hanging = scripted(
      ({ signal }) =>
        new Promise((_, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason));
        }),
    );
    const late = assert.rejects(hanging.maps.get(target), (e) => isTransportError(e, "timeout"));
    await hanging.clock.advanceAndFlush(90_000 + sharedDeadlineMs);
    await late;
    assert.equal(clock.pendingTimers + hanging.clock.pendingTimers, 0);
  });

  it("requests that share a deadline get at least their own time, and leave no timer", async () => {
    const { client, clock } = scripted(({ signal, path }) =>
      path === "/quick"
        ? ok
        : new Promise((_, reject) => {
            signal?.addEventListener("abort", () => reject(signal.reason));
          }),
    );
    const request = { method: "GET", path: "/slow" } as const;
    const ended: string[] = [];
    const send = (name: string) => client.json(request).catch(() => ended.push(name));
    void send("first");
    await clock.advanceAndFlush(sharedDeadlineMs - 1);
    void send("second");
    await client.json({ ...request, path: "/quick" });
    await clock.advanceAndFlush(1);
    void send("third");
    await clock.advanceAndFlush(89_999);
    assert.deepEqual(ended, []);
    await clock.advanceAndFlush(1);
    assert.deepEqual(ended, ["first", "second"]);
    await clock.advanceAndFlush(sharedDeadlineMs);
    assert.deepEqual(ended, ["first", "second", "third"]);
    assert.equal(clock.pendingTimers, 0);
  });

  it("a read is retried after a broken connection, but not a write whose outcome is unknown", async () => {
    const breakOnce = () => {
      let broken = false;
      return () => {
        if (broken) return ok;
        broken = true;
        throw new TransportError("connection-lost", "reset");
      };
    };
    const reader = scripted(breakOnce());
    await reader.maps.get(target);
    assert.equal(reader.sent.length, 2);
    const writer = scripted(breakOnce());
    await assert.rejects(writer.maps.create({ metadata: target }), { code: "connection-lost" });
    assert.equal(writer.sent.length, 1);
  });

  it("the error has the time to wait, also when only the header has it", async () => {
    const { client } = scripted(() => ({
      status: 429,
      headers: { "retry-after": "7" },
      body: '{"kind":"Status","code":429,"reason":"TooManyRequests"}',
    }));
    const request = { method: "GET", path: "/", retriesMax: 0 } as const;
    const error = await client.json(request).catch((reason: unknown) => reason);
    assert.ok(isStatusError(error, "TooManyRequests"));
    assert.equal(error.status.details?.retryAfterSeconds, 7);
  });

  it("a response that is no Status becomes a StatusError", async () => {
    const { maps } = scripted(() => ({ status: 502, body: "<html>bad gateway</html>" }));
    const error = await maps.get(target).catch((reason: unknown) => reason);
    assert.ok(isStatusError(error, "InternalError"));
    assert.equal(error.code, 502);
    assert.match(error.message, /bad gateway/);
  });
});

describe("reading a watch", () => {
  async function* chunks(...parts: Uint8Array[]) {
    yield* parts;
  }
  const encode = (text: string) => new TextEncoder().encode(text);
  const event = '{"type":"ADDED","object":{"metadata":{"name":"ä€"}}}\n';

  async function names(parts: Uint8Array[]): Promise<string[]> {
    const { maps } = scripted(() => ({ status: 200, body: chunks(...parts) }));
    const found: string[] = [];
    for await (const { type, object } of maps.watch()) {
      if (type !== "BOOKMARK") found.push(object.metadata.name);
    }
    return found;
  }

  it("returns the same events for any split into chunks", async () => {
    const bytes = encode(event + event);
    for (let cut = 0; cut <= bytes.length; cut++) {
      assert.deepEqual(await names([bytes.subarray(0, cut), bytes.subarray(cut)]), ["ä€", "ä€"]);
    }
    const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
    assert.deepEqual(await names(single), ["ä€", "ä€"]);
  });

  it("drops an event that is cut off by the end of the stream", async () => {
    assert.deepEqual(await names([encode(event + event.slice(0, 20))]), ["ä€"]);
  });

  it("returns only the requested members of objects, and complete errors", async () => {
    const object =
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"uid":"u","name":"a"},"data":{"b":"c"}}';
    const error = '{"kind":"Status","code":410,"reason":"Expired","message":"too old"}';
    const lines = [`{"type":"ADDED","object":${object}}`, `{"type":"ERROR","object":${error}}`];
    const { maps } = scripted(() => ({
      status: 200,
      body: chunks(encode(`${lines.join("\n")}\n`)),
    }));
    const batches = maps.watchBatches({ members: { metadata: { name: true } } });
    const expected = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    const first = await batches.next();
    assert.deepEqual(first.value, [{ type: "ADDED", object: expected }]);
    await assert.rejects(batches.next(), { reason: "Expired", message: "too old" });
  });

  it("rejects a line that is not an event, and a line without end", async () => {
    await assert.rejects(names([encode('{"type":"NEWS","object":{"metadata":{}}}\n')]));
    await assert.rejects(names([encode("[]\n")]));
    const half = new Uint8Array(watchLineBytesMax / 2);
    assert.deepEqual(await names([half, half]), []);
    await assert.rejects(names([half, half, new Uint8Array(1)]), { code: "connection-lost" });
  });
});
