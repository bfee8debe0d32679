/**
 * The limits of one tenant, at the limit and one beyond it, and that they do not affect another
 * tenant.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, describe, it } from "node:test";
import { MemoryStorage } from "../storage/memory/index.ts";
import { install, ListeningServer, TestServer, type TestServerOptions } from "../testing/index.ts";

const pathOf = (cluster: string) => `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
const named = (name: string) => ({ metadata: { name } });

const servers: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function started(options: TestServerOptions): Promise<TestServer> {
  const server = await TestServer.start(options);
  servers.push(server);
  return server;
}

describe("watches", () => {
  it("watches beyond a cluster's limit are rejected, and admitted again when one has ended", async () => {
    const server = await started({ tenantLimits: { watchesPerClusterMax: 2 } });
    const watch = (cluster: string) =>
      server.watch(`${pathOf(cluster)}?watch=true&resourceVersion=1`, { user: "admin" });
    await server.requestOk("POST", pathOf("a"), { body: named("x") });
    const open = [await watch("a"), await watch("a")] as const;
    const refused = await server.get(`${pathOf("a")}?watch=true&resourceVersion=1`);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers["retry-after"], "1");
    assert.equal(refused.text, "Too many requests, please try again later.\n");
    await (await watch("b")).leave();
    await open[0].leave();
    await (await watch("a")).leave();
    await open[1].leave();
  });

  it("watches beyond a user's limit are rejected, and a user of the same name in another cluster is not affected", async () => {
    const server = await started({ tenantLimits: { watchesPerUserMax: 1 } });
    await server.requestOk("POST", pathOf("a"), { body: named("x") });
    const first = await server.watch(`${pathOf("a")}?watch=true&resourceVersion=1`);
    const again = `${pathOf("a")}?watch=true&resourceVersion=1`;
    assert.equal((await server.get(again)).status, 429);
    await (await server.watch(again, { user: "a" })).leave();
    await (await server.watch(`${pathOf("b")}?watch=true&resourceVersion=1`)).leave();
    await first.leave();
  });
});

describe("watches of the server's own loops", () => {
  it("count neither for their cluster nor for all clusters", async () => {
    const server = await started({
      tenantLimits: { watchesPerClusterMax: 1, watchesPerUserMax: 1 },
    });
    const first = await server.watch(`${pathOf("a")}?watch=true`, { user: "a" });
    for (const path of [pathOf("a"), "/clusters/*/api/v1/configmaps"])
      for (let i = 0; i < 3; i++) await server.watch(`${path}?watch=true`, { user: "masters" });
    await first.leave();
    await (await server.watch(`${pathOf("a")}?watch=true`, { user: "a" })).leave();
  });
});

describe("watches that are requested concurrently", () => {
  const target = `${pathOf("a")}?watch=true`;

  it("are admitted up to the limit, and not one more", async () => {
    const server = await started({ tenantLimits: { watchesPerClusterMax: 5 } });
    const asked = Array.from({ length: 60 }, () => server.watch(target));
    const open = (await Promise.allSettled(asked)).filter(({ status }) => status === "fulfilled");
    assert.equal(open.length, 5);
  });

  it("are admitted up to the limit over the wire, and release their slots when their clients disconnect", async () => {
    const listening = await ListeningServer.start({ tenantLimits: { watchesPerClusterMax: 5 } });
    servers.push(listening);
    const statuses = async (session: ReturnType<ListeningServer["session"]>) => {
      const asked = Array.from({ length: 90 }, () => opened(session, target));
      return (await Promise.all(asked)).filter((status) => status === 200).length;
    };
    for (let i = 0; i < 3; i++) {
      const session = listening.session();
      assert.equal(await statuses(session), 5);
      session.destroy();
      await eventually(async () => {
        const metrics = (await listening.http2("/metrics")).body.toString("utf8");
        const open = [...metrics.matchAll(/^apiserver_longrunning_requests\{.*\} (\d+)$/gm)];
        return open.length > 0 && open.every(([, count]) => count === "0");
      });
    }
  });

  it("hold no slot when they are rejected, have no body, or are never read", async () => {
    const listening = await ListeningServer.start({ tenantLimits: { watchesPerClusterMax: 1 } });
    servers.push(listening);
    for (let i = 0; i < 3; i++) {
      assert.equal(
        (await listening.http2(`${target}&labelSelector=%21%21`, { user: "a" })).status,
        400,
      );
      assert.equal((await listening.http2(target, { user: "b" })).status, 403);
      const watchPath = pathOf("a").replace("/api/v1/", "/api/v1/watch/");
      assert.equal((await listening.http2(watchPath, { method: "HEAD", user: "a" })).status, 200);
    }
    for (let i = 0; i < 3; i++) {
      const session = listening.session();
      await once(session, "connect");
      // The client disconnects before the response, or right after it.
      session.request({ ":path": target, authorization: "Bearer token-of-a" }).close();
      session.destroy();
    }
    const session = listening.session();
    await eventually(async () => (await opened(session, target)) === 200);
  });
});

describe("objects", () => {
  it("objects beyond a cluster's limit are rejected with kcp's message, and other clusters are not affected", async () => {
    const server = await started({ tenantLimits: { objectsPerClusterMax: 3 } });
    // The namespace default is the first object.
    await server.requestOk("POST", pathOf("a"), { body: named("one") });
    server.clock.advance(60_000);
    await server.requestOk("POST", pathOf("a"), { body: named("two") });
    const refused = await server.request("POST", pathOf("a"), { body: named("three") });
    assert.equal(refused.status, 403);
    assert.equal(
      refused.object.message,
      'configmaps "three" is forbidden: logical cluster "a" has reached its total object count limit (3/3 objects); delete objects to free up capacity',
    );
    await server.requestOk("POST", pathOf("b"), { body: named("three") });
    for (let i = 0; i < 5; i++)
      await server.requestOk("POST", pathOf("root"), { body: named(`r${i}`) });
    // Updates, events and dry runs create no counted objects.
    await server.requestOk("PUT", `${pathOf("a")}/one`, {
      body: { ...named("one"), data: { k: "v" } },
    });
    await server.requestOk("DELETE", `${pathOf("a")}/one`);
    await server.requestOk("POST", pathOf("a"), { body: named("three") });
    server.clock.advance(60_000);
    assert.equal((await server.request("POST", pathOf("a"), { body: named("4") })).status, 403);
  });

  it("a deleted object frees its place, but not while it is only marked for deletion", async () => {
    const server = await started({ tenantLimits: { objectsPerClusterMax: 2 } });
    const metadata = { name: "held", finalizers: ["example.com/held"] };
    await server.requestOk("POST", pathOf("a"), { body: { metadata } });
    const create = () => server.request("POST", pathOf("a"), { body: named("next") });
    // A request to delete the object does not delete it, however often it is repeated.
    for (let i = 0; i < 3; i++) await server.requestOk("DELETE", `${pathOf("a")}/held`);
    assert.equal((await create()).status, 403);
    await server.patch(`${pathOf("a")}/held`, "merge", { metadata: { finalizers: null } });
    assert.equal((await create()).status, 201);
    assert.equal((await create()).status, 403);
  });

  it("objects whose write fails take no place", async () => {
    const server = await started({ tenantLimits: { objectsPerClusterMax: 3 } });
    await server.requestOk("POST", pathOf("a"), { body: named("one") });
    for (let i = 0; i < 3; i++)
      assert.equal((await server.request("POST", pathOf("a"), { body: named("one") })).status, 409);
    await server.requestOk("POST", pathOf("a"), { body: named("two") });
  });

  it("objects of a kind that only has the name of events are counted", async () => {
    const server = await started({ tenantLimits: { objectsPerClusterMax: 3 } });
    const group = "example.com";
    const names = { plural: "events", singular: "event", kind: "Event", listKind: "EventList" };
    const schema = { openAPIV3Schema: { type: "object" } };
    const versions = [{ name: "v1", served: true, storage: true, schema }];
    const spec = { group, scope: "Cluster", names, versions };
    await install(server, { ...named("events.example.com"), spec });
    const kind = { apiVersion: "example.com/v1", kind: "Event" };
    const statuses: number[] = [];
    for (const name of ["one", "two", "three"]) {
      const body = { ...kind, ...named(name) };
      const { status } = await server.request("POST", "/clusters/a/apis/example.com/v1/events", {
        body,
      });
      statuses.push(status);
    }
    assert.deepEqual(statuses, [201, 201, 403]);
  });
});

describe("bytes", () => {
  const body = (name: string, bytes: number) => ({
    ...named(name),
    data: { k: "v".repeat(bytes) },
  });
  const create = (server: TestServer, cluster: string, name: string, bytes: number) =>
    server.request("POST", pathOf(cluster), { body: body(name, bytes) });

  it("bytes of new objects beyond a cluster's limit are rejected, also before the next recount", async () => {
    const server = await started({ tenantLimits: { bytesPerClusterMax: 10_000 } });
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) statuses.push((await create(server, "a", `x${i}`, 3_000)).status);
    // The namespace default counts as well.
    assert.deepEqual(statuses, [201, 201, 403, 403, 403]);
    const refused = await create(server, "a", "more", 9_000);
    assert.match(
      refused.object.message ?? "",
      /^configmaps "more" is forbidden: logical cluster "a" has reached its total size limit \(\d+\/10000 bytes, 9\d{3} more asked for\); delete objects to free up capacity$/,
    );
    await server.requestOk("POST", pathOf("b"), { body: body("x", 3_000) });
    await server.requestOk("DELETE", `${pathOf("a")}/x0`);
    assert.equal((await create(server, "a", "next", 3_000)).status, 201);
    server.clock.advance(60_000);
    assert.equal((await create(server, "a", "last", 3_000)).status, 403);
  });

  it("the clusters that store the most bytes are metrics, which follow writes and deletions", async () => {
    const server = await started({ tenantLimits: { bytesPerClusterMax: 100_000 } });
    const stored = async () => {
      const { text } = await server.get("/metrics");
      const lines = text.matchAll(/^kcp_top_tenant_stored_bytes\{cluster="(\w)"\} (\d+)$/gm);
      return [...lines].map(([, cluster, bytes]) => [cluster, Number(bytes)] as const);
    };
    for (const [cluster, bytes] of [
      ["a", 2_000],
      ["b", 9_000],
    ] as const)
      await server.requestOk("POST", pathOf(cluster), { body: body("x", bytes) });
    const before = await stored();
    assert.deepEqual(
      before.map(([cluster]) => cluster),
      ["b", "a"],
    );
    const [largest = 0, smallest = 0] = before.map(([, bytes]) => bytes);
    assert.ok(largest - smallest === 7_000, `${largest} and ${smallest} bytes`);
    await server.requestOk("DELETE", `${pathOf("b")}/x`);
    assert.ok(Object.fromEntries(await stored())["b"] < largest - 9_000);
  });

  it("concurrent creates succeed as far as the limit of bytes permits", async () => {
    const server = await started({ tenantLimits: { bytesPerClusterMax: 10_000 } });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => create(server, "a", `x${i}`, 2_000)),
    );
    const created = answers.filter(({ status }) => status === 201).length;
    assert.ok(created >= 3 && created * 2_000 < 10_000, `${created} were created`);
  });

  it("a write that makes an object larger is rejected by any verb; a write that makes it smaller is not", async () => {
    const server = await started({ tenantLimits: { bytesPerClusterMax: 10_000 } });
    const target = `${pathOf("a")}/x`;
    await create(server, "a", "x", 1);
    const data = { k: "v".repeat(10_000) };
    const apply = {
      apiVersion: "v1",
      kind: "ConfigMap",
      ...named("x"),
      data: { more: "v".repeat(10_000) },
    };
    const grow = [
      () => server.request("PUT", target, { body: { ...named("x"), data } }),
      () => server.patch(target, "merge", { data }),
      () => server.patch(target, "strategic", { data }),
      () => server.patch(target, "json", [{ op: "add", path: "/data/l", value: data.k }]),
      () => server.patch(`${target}?fieldManager=m`, "apply", apply),
    ];
    for (const write of grow) assert.equal((await write()).status, 403);
    // Many small updates cannot exceed the limit either.
    let grown = 0;
    for (let i = 1; i < 20; i++) {
      const more = { data: { k: "v".repeat(1_000 * i) } };
      if ((await server.patch(target, "merge", more)).status === 200) grown = i;
    }
    assert.ok(grown >= 5 && grown < 10, `grown by ${grown} kB`);
    for (let i = grown - 1; i >= 0; i--) {
      const less = { data: { k: "v".repeat(1_000 * i) } };
      assert.equal((await server.patch(target, "merge", less)).status, 200);
    }
    assert.equal((await create(server, "a", "y", 5_000)).status, 201);
  });

  it("bytes may decrease in a cluster beyond its limit, and the server's own loops may still write", async () => {
    const storage = new MemoryStorage();
    const before = await started({ storage });
    await create(before, "a", "x", 20_000);
    const server = await started({ storage, tenantLimits: { bytesPerClusterMax: 10_000 } });
    const target = `${pathOf("a")}/x`;
    const put = (bytes: number, user: "admin" | "masters" = "admin") =>
      server.request("PUT", target, { body: body("x", bytes), user });
    assert.equal((await put(20_001)).status, 403);
    assert.equal((await put(19_000)).status, 200);
    assert.equal((await put(19_500)).status, 403);
    assert.equal((await put(19_500, "masters")).status, 200);
    assert.equal((await create(server, "a", "y", 1)).status, 403);
    await server.requestOk("DELETE", target);
    assert.equal((await create(server, "a", "y", 1)).status, 201);
  });
});

describe("a request through a real listener", () => {
  it("gets headers with the uids of its schema and level", async () => {
    const listening = await ListeningServer.start();
    servers.push(listening);
    const { headers } = await listening.http2(pathOf("a"), { user: "a" });
    assert.match(String(headers["x-kubernetes-pf-flowschema-uid"]), /^[0-9a-f-]{36}$/);
    assert.match(String(headers["x-kubernetes-pf-prioritylevel-uid"]), /^[0-9a-f-]{36}$/);
    const metrics = (await listening.http2("/metrics")).body.toString("utf8");
    assert.match(
      metrics,
      /apiserver_flowcontrol_dispatched_requests_total\{priority_level="global-default",flow_schema="global-default"\} 1\n/,
    );
    assert.match(metrics, /# TYPE apiserver_flowcontrol_dispatched_requests_total counter/);
  });

  it("is rejected with a 429 that clients understand when too many requests wait, and no seat is lost", async () => {
    const listening = await ListeningServer.start({
      flowControl: { seatsTotal: 12, eventLoopBudgetMicros: 1 },
    });
    servers.push(listening);
    // A connection is not read further while many of its requests wait: filling a queue takes many
    // connections.
    const sessions = Array.from({ length: 120 }, () => listening.session());
    await Promise.all(sessions.map((session) => once(session, "connect")));
    const answers = await Promise.all(
      sessions.flatMap((session) =>
        Array.from({ length: 4 }, () => statusOf(session, pathOf("a"))),
      ),
    );
    const refused = answers.filter(({ status }) => status === 429);
    assert.ok(refused.length > 0);
    assert.ok(refused.every(({ retryAfter }) => retryAfter === "1"));
    assert.ok(answers.every(({ status }) => status === 429 || status === 200));
    const metrics = (await listening.http2("/metrics")).body.toString("utf8");
    assert.match(metrics, /rejected_requests_total\{[^}]*reason="queue-full"\}/);
    assert.match(metrics, /current_executing_seats\{priority_level="global-default"\} 0\n/);
    assert.match(metrics, /current_inqueue_requests\{[^}]*flow_schema="global-default"\} 0\n/);
  });

  it("releases its seat when its client disconnects while it waits or runs", async () => {
    const listening = await ListeningServer.start({
      flowControl: { seatsTotal: 12, eventLoopBudgetMicros: 1 },
    });
    servers.push(listening);
    const session = listening.session();
    const pending = Array.from({ length: 200 }, () => statusOf(session, pathOf("a")));
    session.destroy();
    await Promise.allSettled(pending);
    const { status } = await listening.http2(pathOf("a"), { user: "a" });
    assert.equal(status, 200);
    const metrics = (await listening.http2("/metrics")).body.toString("utf8");
    assert.match(metrics, /current_executing_seats\{priority_level="global-default"\} 0\n/);
    assert.match(metrics, /current_inqueue_requests\{[^}]*flow_schema="global-default"\} 0\n/);
  });
});

/**
 * Polls until the condition holds: the server notices a disconnect asynchronously, and each check
 * takes a round trip.
 */
async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries++) if (await isSo()) return;
  assert.fail("it never came to pass");
}

/** The status of the response to a watch; an admitted watch stays open. */
function opened(session: ReturnType<ListeningServer["session"]>, path: string): Promise<number> {
  return new Promise((resolve) => {
    const stream = session.request({ ":path": path, authorization: "Bearer token-of-a" });
    stream.on("response", (headers) => resolve(Number(headers[":status"])));
    stream.on("error", () => resolve(0));
    stream.resume();
  });
}

function statusOf(
  session: ReturnType<ListeningServer["session"]>,
  path: string,
): Promise<{ status: number; retryAfter: string | undefined }> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path, authorization: "Bearer token-of-a" });
    let answer = { status: 0, retryAfter: undefined as string | undefined };
    stream.on("response", (headers) => {
      const retryAfter = headers["retry-after"];
      answer = { status: Number(headers[":status"]), retryAfter };
    });
    stream.on("close", () => resolve(answer));
    stream.on("error", reject);
    stream.resume();
  });
}
