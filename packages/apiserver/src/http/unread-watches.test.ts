/**
 * Watches of clients that do not read: their memory is bounded in sum, they end, and the watches of
 * other clients go on.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { describe, it } from "node:test";
import { ListeningServer, untilWatches } from "../testing/index.ts";

const bytesPerTenantMax = 4 << 20;
const [a, b] = ["a", "b"].map(
  (cluster) => `/clusters/${cluster}/api/v1/namespaces/default/configmaps`,
) as [string, string];
const large = "x".repeat(500_000);

const start = () => ListeningServer.start({ unread: { bytesPerTenantMax } });
type Server = Awaited<ReturnType<typeof start>>;
const create = (server: Server, path: string, name: string) =>
  server.test.requestOk("POST", path, { body: { metadata: { name }, data: { large } } });

/** Opens watches that are never read; each protocol has its own opener. */
type Opener = (server: Server, count: number, query: string) => Promise<() => void>;

const overHttp2: Opener = async (server, count, query) => {
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, {
    ca: server.ca,
    settings: { initialWindowSize: 0 },
  });
  session.on("error", () => {});
  const answers: Promise<unknown>[] = [];
  for (let left = count; left > 0; left--) {
    const path = `${a}?watch=1&${query}`;
    const stream = session.request({ ":path": path, authorization: "Bearer token-of-a" });
    stream.on("error", () => {});
    answers.push(once(stream, "response"));
  }
  await Promise.all(answers);
  return () => session.destroy();
};

const overSockets =
  (more: string): Opener =>
  async (server, count, query) => {
    const sockets = await Promise.all(Array.from({ length: count }, () => server.raw()));
    for (const socket of sockets) {
      socket.pause();
      socket.write(
        `GET ${a}?watch=1&${query} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-of-a\r\n${more}\r\n`,
      );
    }
    return () => {
      for (const socket of sockets) socket.destroy();
    };
  };

const openers: Readonly<Record<string, Opener>> = {
  "over HTTP/2": overHttp2,
  "over HTTP/1.1": overSockets(""),
  "over WebSockets": overSockets(
    "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
  ),
};

describe("unread watches", () => {
  for (const [how, open] of Object.entries(openers))
    for (const query of [
      "",
      "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    ])
      it(`${how} hold no more than their tenant may, from ${query === "" ? "events" : "the objects they begin with"} on, and another's go on`, async () => {
        const server = await start();
        const { unread } = server.test.server;
        let most = 0;
        for (let n = 0; n < 4; n++) await create(server, a, `first-${n}`);
        const version = (await server.test.requestOk("GET", a)).metadata.resourceVersion;
        const leave = await open(server, 10, query === "" ? `resourceVersion=${version}` : query);
        const other = await server.test.watch(`${b}?watch=1`);
        for (let n = 0; n < 24; n++) {
          await create(server, a, `later-${n}`);
          await create(server, b, `other-${n}`);
          most = Math.max(most, unread.bytesOf("a"));
          assert.equal((await other.next())?.object.metadata.name, `other-${n}`);
        }
        // One event more than allowed exists until a watch is evicted.
        assert.ok(most <= bytesPerTenantMax + 1_000_000, `${most} bytes`);
        assert.ok(most >= large.length, "something was to be held");
        await other.leave();
        leave();
        await untilWatches(server.test, 0);
        assert.equal(unread.bytes, 0, "nothing is held any more");
        await server.close();
      });

  it("end cleanly when they fall behind but read on, and a client that resumes loses no event", async () => {
    const server = await start();
    const first = await create(server, a, "first");
    const reader = await server.test.watch(
      `${a}?watch=1&resourceVersion=${first.metadata.resourceVersion}`,
    );
    const next = reader.next();
    await new Promise((resolve) => setImmediate(resolve));
    await create(server, a, "read");
    const version = (await next)?.object.metadata.resourceVersion;
    for (let n = 0; n < 20; n++) await create(server, a, `missed-${n}`);
    assert.deepEqual(await reader.rest(), []);
    const again = await server.test.watch(`${a}?watch=1&resourceVersion=${version}`);
    const names = (await again.take(20)).map(({ object }) => object.metadata.name);
    assert.deepEqual(
      names,
      Array.from({ length: 20 }, (_, n) => `missed-${n}`),
    );
    await again.leave();
    await server.close();
  });
});
