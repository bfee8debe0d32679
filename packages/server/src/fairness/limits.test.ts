/** What one tenant may hold, at the limit and one beyond it, and that its neighbour does not notice. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, describe, it } from "node:test";
import { ListeningServer, TestServer, type TestServerOptions } from "../testing/index.ts";
import { BodyBudget } from "./body-budget.ts";
import { tooBusy } from "./too-busy.ts";

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
  it("are refused beyond a cluster's limit, and find room when one has ended", async () => {
    const server = await started({ tenantLimits: { watchesPerClusterMax: 2 } });
    const watch = (cluster: string) =>
      server.watch(`${pathOf(cluster)}?watch=true&resourceVersion=1`, { user: "admin" });
    await server.must("POST", pathOf("a"), { body: named("x") });
    const open = [await watch("a"), await watch("a")] as const;
    // A watch counts when it is read.
    await Promise.all(open.map((each) => each.next()));
    const refused = await server.get(`${pathOf("a")}?watch=true&resourceVersion=1`);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers["retry-after"], "1");
    assert.equal(refused.text, "Too many requests, please try again later.\n");
    await (await watch("b")).leave();
    await open[0].leave();
    await (await watch("a")).leave();
    await open[1].leave();
  });

  it("are refused beyond a user's limit, whose namesake elsewhere is somebody else", async () => {
    const server = await started({ tenantLimits: { watchesPerUserMax: 1 } });
    await server.must("POST", pathOf("a"), { body: named("x") });
    const first = await server.watch(`${pathOf("a")}?watch=true&resourceVersion=1`);
    await first.next();
    const again = `${pathOf("a")}?watch=true&resourceVersion=1`;
    assert.equal((await server.get(again)).status, 429);
    await (await server.watch(again, { user: "a" })).leave();
    await (await server.watch(`${pathOf("b")}?watch=true&resourceVersion=1`)).leave();
    await first.leave();
  });
});

describe("objects", () => {
  it("are refused beyond a cluster's limit, in the words of kcp, and nobody else's are", async () => {
    const server = await started({ tenantLimits: { objectsPerClusterMax: 3 } });
    // The namespace default is the first object.
    await server.must("POST", pathOf("a"), { body: named("one") });
    server.clock.advance(60_000);
    await server.must("POST", pathOf("a"), { body: named("two") });
    const refused = await server.request("POST", pathOf("a"), { body: named("three") });
    assert.equal(refused.status, 403);
    assert.equal(
      refused.object.message,
      'logical cluster "a" has reached its total object count limit (3/3 objects); delete objects to free up capacity',
    );
    await server.must("POST", pathOf("b"), { body: named("three") });
    for (let i = 0; i < 5; i++) await server.must("POST", pathOf("root"), { body: named(`r${i}`) });
    // Updates, events and dry runs are no new objects.
    await server.must("PUT", `${pathOf("a")}/one`, { body: { ...named("one"), data: { k: "v" } } });
    await server.must("DELETE", `${pathOf("a")}/one`);
    server.clock.advance(60_000);
    await server.must("POST", pathOf("a"), { body: named("three") });
  });

  it("are refused beyond a cluster's bytes", async () => {
    const server = await started({ tenantLimits: { bytesPerClusterMax: 10_000 } });
    const body = { ...named("big"), data: { k: "v".repeat(10_000) } };
    await server.must("POST", pathOf("a"), { body });
    server.clock.advance(60_000);
    const refused = await server.request("POST", pathOf("a"), { body: named("more") });
    assert.equal(refused.status, 403);
    assert.match(refused.object.message ?? "", /^logical cluster "a" has reached its total size/);
    await server.must("POST", pathOf("b"), { body });
  });
});

describe("bodies in memory", () => {
  it("are taken up to the limits of all and of one cluster, and given back", () => {
    const budget = new BodyBudget({ bodyBytesMax: 100, bodyBytesPerClusterMax: 60 });
    budget.take("a", 60);
    assert.throws(() => budget.take("a", 1), tooBusy);
    budget.take("b", 40);
    assert.throws(() => budget.take("c", 1), tooBusy);
    budget.release("a", 60);
    budget.take("c", 60);
    budget.release("b", 40);
    budget.release("c", 60);
    assert.deepEqual([budget.held, budget.clusterCount], [0, 0]);
  });
});

describe("a request through a real listener", () => {
  it("is told what it counted as", async () => {
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

  it("is refused with a 429 that clients understand when too much waits, and no seat is lost", async () => {
    const listening = await ListeningServer.start({
      fairness: { seatsTotal: 12, turnBudgetMicros: 1 },
    });
    servers.push(listening);
    // One connection is not read further while much of it waits: it takes many to fill a queue.
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

  it("gives its seat back when its client leaves while it waits or works", async () => {
    const listening = await ListeningServer.start({
      fairness: { seatsTotal: 12, turnBudgetMicros: 1 },
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
