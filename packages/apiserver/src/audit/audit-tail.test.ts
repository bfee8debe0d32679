/** The audit events of a server, read as they happen. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";
import { AuditTail, tailBytesMax, tailReadersMax } from "./audit-tail.ts";
import { parseAuditPolicy } from "./policy.ts";

const mapsOf = (cluster: string) => `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;

interface AuditEvent {
  readonly objectRef?: { readonly name: string };
  readonly user: { readonly username: string };
  readonly annotations: Readonly<Record<string, string>>;
}

describe("the audit events as they happen", () => {
  const servers: TestServer[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });
  const start = async () => {
    const policy = parseAuditPolicy({
      apiVersion: "audit.k8s.io/v1",
      kind: "Policy",
      omitStages: ["RequestReceived"],
      rules: [{ level: "None", nonResourceURLs: ["/audit"] }, { level: "Metadata" }],
    });
    const server = await TestServer.start({ audit: { policy, backends: () => [] } });
    servers.push(server);
    return server;
  };
  const read = async (server: TestServer, query = "") => {
    const reader = await server.watch(`/audit${query}`, { user: "masters" });
    return {
      leave: () => reader.leave(),
      next: async () => (await reader.next()) as never as AuditEvent,
    };
  };
  const create = (server: TestServer, cluster: "a" | "b", name: string) =>
    server.requestOk("POST", mapsOf(cluster), { body: { metadata: { name } }, user: cluster });

  it("reach a reader from its request on, of all logical clusters or of one", async () => {
    const server = await start();
    await create(server, "a", "before");
    const [all, ofB] = [await read(server), await read(server, "?cluster=b")];
    await create(server, "a", "one");
    await create(server, "b", "two");
    const [one, two] = [await all.next(), await all.next()];
    assert.deepEqual([one.objectRef?.name, one.user.username], ["one", "a"]);
    assert.equal(one.annotations["kcp.io/cluster"], "a");
    assert.equal(two.objectRef?.name, "two");
    assert.equal((await ofB.next()).objectRef?.name, "two");
    await Promise.all([all.leave(), ofB.leave()]);
  });

  it("are of the process: no tenant reads them, and no logical cluster has them", async () => {
    const server = await start();
    for (const user of ["a", "b", "nobody", "anonymous"] as const)
      for (const target of ["/audit", "/audit?cluster=a", "/clusters/root/audit"])
        assert.equal((await server.get(target, { user })).status, 403, `${user} ${target}`);
    // The owner of a logical cluster may read every path of it.
    for (const [cluster, user] of [
      ["a", "a"],
      ["root", "masters"],
    ] as const) {
      const response = await server.get(`/clusters/${cluster}/audit`, { user });
      assert.equal(response.status, 501);
      assert.equal(response.text, "shard-level endpoint not available at workspace scope");
    }
  });

  it("are not there without a policy", async () => {
    const server = await TestServer.start();
    servers.push(server);
    assert.equal((await server.get("/audit", { user: "masters" })).status, 404);
  });

  it("end with their reader, and for all readers with the server", async () => {
    const server = await start();
    const readers = [];
    for (let at = 0; at < tailReadersMax; at++) readers.push(await read(server));
    const refused = await server.get("/audit", { user: "masters" });
    assert.equal(refused.status, 429);
    await readers[0]?.leave();
    const last = await server.watch("/audit", { user: "masters" });
    const [server0] = servers.splice(0);
    await server0?.close();
    assert.deepEqual(await last.rest(), []);
  });
});

describe("a reader of audit events that is slow", () => {
  it("loses events beyond its buffer and learns how many, and others lose none", async () => {
    const tail = new AuditTail({
      onDropped: () => undefined,
      onError: (error) => assert.fail(String(error)),
    });
    const open = () => tail.serve({ onClose: () => undefined }, new URLSearchParams());
    const [slow, fast] = [open(), open()].map(({ body }) =>
      (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator](),
    ) as [AsyncIterator<Uint8Array>, AsyncIterator<Uint8Array>];
    const event = { padding: "x".repeat(tailBytesMax / 4 - 100) };
    const bytesOf = async (reader: AsyncIterator<Uint8Array>) =>
      ((await reader.next()).value as Uint8Array).length;
    let read = 0;
    for (let at = 0; at < 6; at++) {
      tail.write(event);
      read += await bytesOf(fast);
    }
    const length = JSON.stringify(event).length + 1;
    assert.equal(read, 6 * length);
    for (let at = 0; at < 4; at++) assert.equal(await bytesOf(slow), length);
    const { value } = await slow.next();
    assert.deepEqual(JSON.parse(String(Buffer.from(value as Uint8Array))), {
      kind: "EventsDropped",
      count: 2,
    });
  });
});
