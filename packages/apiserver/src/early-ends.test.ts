/**
 * A request that ends early, in any way, is answered or closed, and releases everything: no
 * listeners, no counted watches and no seats remain.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { bootstrapAuthorizer, unionAuthorizer } from "./authorization/index.ts";
import { timeoutDefaultMinMs } from "./handlers/index.ts";
import { configMaps, type ResourceDefinition } from "./registry/index.ts";
import { ListeningServer, openWatches, TestServer, untilWatches } from "./testing/index.ts";

const gadgets = "/clusters/a/api/v1/namespaces/default/gadgets";
const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";
const times = 8;

const gadgetsDefinition: ResourceDefinition = {
  ...configMaps,
  resource: "gadgets",
  kind: "Gadget",
  singular: "gadget",
  shortNames: [],
};

describe("watches that end early", () => {
  let server: ListeningServer;
  /** Callbacks that wait for the definition to be replaced. */
  const waiting = new Set<() => void>();
  before(async () => {
    const definition = {
      ...gadgetsDefinition,
      onRetired: (callback: () => void) => {
        waiting.add(callback);
        return () => waiting.delete(callback);
      },
    };
    server = await ListeningServer.start({
      resources: [definition],
      tenantLimits: { watchesPerClusterMax: 3, watchesPerUserMax: 3 },
    });
  });
  after(() => server.close());

  /** Asserts that nothing is held, and that the full number of watches can be opened again. */
  async function nothingIsLeft(): Promise<void> {
    await untilWatches(server.test, 0);
    while (waiting.size > 0) await new Promise((resolve) => setImmediate(resolve));
    const sessions = await Promise.all(Array.from({ length: 3 }, () => leavingWatch("GET", "1")));
    assert.equal(waiting.size, 3);
    for (const session of sessions) session.destroy();
    await untilWatches(server.test, 0);
  }

  /** Opens a watch over HTTP/2, reads its response headers, and leaves. */
  async function leavingWatch(method: string, watch: string) {
    const session = server.session();
    const stream = session.request({
      ":method": method,
      ":path": `${gadgets}?watch=${watch}`,
      authorization: "Bearer token-of-a",
    });
    stream.on("error", () => {});
    stream.end();
    const [answer] = await once(stream, "response");
    assert.equal(answer[":status"], 200);
    return session;
  }

  const methods = ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get"];
  for (const method of methods)
    for (const watch of ["1", "true", "0", "nonsense"])
      it(`${method} with watch=${watch} leaves nothing behind, over HTTP/1.1 and HTTP/2`, async () => {
        for (let left = times; left > 0; left--) {
          const query = `${gadgets}?watch=${watch}`;
          const asked = { method, user: "a" as const };
          if (method !== "get") await server.http1(query, asked);
          await server.http2(query, asked);
        }
        await nothingIsLeft();
      });

  it("a client that disconnects at once leaves nothing behind", async () => {
    for (let left = times; left > 0; left--) {
      const session = server.session();
      const stream = session.request({
        ":path": `${gadgets}?watch=1`,
        authorization: "Bearer token-of-a",
      });
      stream.on("error", () => {});
      if (left % 2 === 0) stream.close(8);
      else await once(session, "connect");
      session.destroy();
    }
    await nothingIsLeft();
  });

  it("a client that disconnects in the middle of a watch leaves nothing behind, over HTTP/1.1 and HTTP/2", async () => {
    for (let left = times; left > 0; left--) {
      (await leavingWatch("GET", "1")).destroy();
      const socket = await server.raw();
      socket.write(
        `GET ${gadgets}?watch=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-of-a\r\n\r\n`,
      );
      await once(socket, "data");
      socket.destroy();
      await untilWatches(server.test, 0);
    }
    await nothingIsLeft();
  });

  it("rejected watches leave nothing behind", async () => {
    const queries = [
      "resourceVersion=nonsense",
      "resourceVersion=999999999999",
      "fieldSelector=a.b%3Dc",
      "timeoutSeconds=x",
    ];
    for (let left = times; left > 0; left--)
      for (const query of queries) {
        const { status } = await server.http2(`${gadgets}?watch=1&timeout=1s&${query}`, {
          user: "a",
          headers: query.includes("999999") ? { accept: "application/yaml" } : {},
        });
        assert.ok(status >= 400, `${query}: ${status}`);
      }
    await nothingIsLeft();
  });

  it("a WebSocket with an invalid handshake leaves nothing behind", async () => {
    for (let left = times; left > 0; left--) {
      const socket = await server.raw();
      socket.write(
        `GET ${gadgets}?watch=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-of-a\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 12\r\n\r\n`,
      );
      const [answer] = await once(socket, "data");
      assert.match(String(answer), /^HTTP\/1.1 400 /);
      socket.destroy();
    }
    await nothingIsLeft();
  });

  it("replacing a definition ends its watches", async () => {
    const session = await leavingWatch("GET", "1");
    assert.equal(await openWatches(server.test), 1);
    for (const callback of [...waiting]) callback();
    await untilWatches(server.test, 0);
    assert.equal(waiting.size, 0);
    session.destroy();
  });
});

describe("a request that exceeds its timeout", () => {
  it("stops when the stage that it waited for resolves later, even if no stage has read its signal", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = await TestServer.start({
      authorization: (rbac) => {
        const inner = unionAuthorizer([bootstrapAuthorizer, rbac]);
        return {
          authorize: async (attributes) => {
            if (attributes.resource === "configmaps") await held;
            return inner.authorize(attributes);
          },
        };
      },
    });
    const answering = server.request("POST", `${configmaps}?timeout=2s`, {
      body: { metadata: { name: "late" } },
    });
    await new Promise((resolve) => setImmediate(resolve));
    server.clock.advance(3000);
    assert.equal((await answering).status, 504);
    release();
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual((await server.get(configmaps)).names, []);
    await server.close();
  });
});

describe("a response that fails in the stage finish", () => {
  it("is a 500, whether or not the request waited, and counts as answered", async () => {
    // This warning is not a string: writing it into a header throws.
    const definition = { ...gadgetsDefinition, warnings: [null as unknown as string] };
    const server = await ListeningServer.start({ resources: [definition] });
    const body = JSON.stringify({ metadata: { name: "x" } });
    const asked = { method: "POST", body, headers: { "content-type": "application/json" } };
    for (const { status } of [
      await server.http2(gadgets, asked),
      await server.http1(gadgets, asked),
      await server.http2(`${gadgets}/x`),
      await server.http1(`${gadgets}/x`),
      await server.http1(`${gadgets}?watch=1`),
    ])
      assert.equal(status, 500);
    assert.equal((await server.http2(configmaps)).status, 200);
    assert.equal(await openWatches(server.test), 0);
    // `drain` would wait forever for a request that was not counted as answered.
    await server.test.server.drain();
    await server.close();
  });

  for (const [what, headers] of [
    ["whose header cannot be sent", { "x-broken": "a\r\nb: c" }],
    ["whose maker throws", undefined],
  ] as const)
    it(`${what} ends its own request, not the process`, async () => {
      const server = await ListeningServer.start({
        wrap: (request, handle) => {
          if (request.target === "/livez") return handle(request);
          if (headers === undefined) throw new Error("on purpose");
          return { status: 200, headers: { ...headers }, body: Buffer.from("x") };
        },
      });
      for (const asked of [server.http1("/x"), server.http2("/x")]) await asked.catch(() => {});
      assert.equal((await server.http1("/livez")).status, 200);
      assert.equal((await server.http2("/livez")).status, 200);
      await server.close();
    });
});

describe("a watch without a timeout", () => {
  it("ends after 30 to 60 minutes, at a random time of its own", async () => {
    const server = await TestServer.start();
    const readers = [];
    for (let left = 40; left > 0; left--) readers.push(await server.watch(`${configmaps}?watch=1`));
    const ended: number[] = [];
    let minutes = 0;
    for (const [at, reader] of readers.entries())
      void reader.rest().then(() => {
        ended[at] = minutes;
      });
    for (; minutes < 62; minutes++) {
      server.clock.advance(60_000);
      for (let turns = 0; turns < 4; turns++) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(ended.filter((each) => each !== undefined).length, 40);
    assert.ok(Math.min(...ended) >= timeoutDefaultMinMs / 60_000 - 1, `${Math.min(...ended)}`);
    assert.ok(Math.max(...ended) <= (2 * timeoutDefaultMinMs) / 60_000, `${Math.max(...ended)}`);
    assert.ok(new Set(ended).size > 10, `${new Set(ended).size} different minutes`);
    await server.close();
  });
});
