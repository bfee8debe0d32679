/**
 * The shutdown of the listener: it accepts no new connections, and requests and watches in flight
 * end properly.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { beforeEach, describe, it } from "node:test";
import { MemoryStorage } from "../storage/memory/index.ts";
import { FaultyStorage, ListeningServer, readToEnd, untilWatches } from "../testing/index.ts";
import { Listener } from "./index.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";
const authorization = "Bearer token-of-admin";
const never = new AbortController().signal;

let storage: FaultyStorage;
let server: ListeningServer;
beforeEach(async () => {
  storage = new FaultyStorage(new MemoryStorage());
  server = await ListeningServer.start({ storage, keepAlive: true });
});

describe("a listener that drains", () => {
  it("rejects new connections", async () => {
    await server.listener.drain(never);
    const socket = connect(server.port, "127.0.0.1");
    const [error] = await once(socket, "error");
    assert.equal((error as { code?: string }).code, "ECONNREFUSED");
    await server.test.close();
  });

  it("closes idle connections, of both protocols", async () => {
    assert.equal((await server.http1("/livez")).status, 200);
    const session = server.session();
    const stream = session.request({ ":path": "/livez" });
    stream.resume();
    await once(stream, "close");
    const closed = once(session, "close");
    await server.listener.drain(never);
    await closed;
    await server.test.close();
  });

  it("lets a write in flight finish, over both protocols", async () => {
    const release = storage.holdCommits();
    const post = (name: string) => ({ method: "POST", body: `{"metadata":{"name":"${name}"}}` });
    const writes = [server.http1(configmaps, post("one")), server.http2(configmaps, post("two"))];
    while (storage.held < 2) await new Promise((resolve) => setImmediate(resolve));
    const draining = Promise.all([server.listener.drain(never), server.test.server.drain()]);
    await new Promise((resolve) => setImmediate(resolve));
    release();
    const answers = await Promise.all(writes);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201],
    );
    await draining;
    await server.test.close();
  });

  it("ends watches with a proper end of the stream", async () => {
    const session = server.session();
    const stream = session.request({ ":path": `${configmaps}?watch=1`, authorization });
    await once(stream, "response");
    const ended = once(stream, "end");
    stream.resume();
    const socket = await server.raw();
    const reading = readToEnd(socket);
    socket.write(
      `GET ${configmaps}?watch=1 HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n`,
    );
    await untilWatches(server.test, 2);
    const draining = Promise.all([server.listener.drain(never), server.test.server.drain()]);
    await ended;
    await once(stream, "close");
    assert.equal(stream.rstCode, 0);
    const text = await reading;
    assert.match(text, /\r\n0\r\n\r\n$/, "the last chunk is there");
    assert.ok(!text.includes("ERROR"));
    await draining;
    await server.test.close();
  });

  it("closes the remaining connections when the timeout passes", async () => {
    const session = server.session();
    const stream = session.request({ ":path": `${configmaps}?watch=1`, authorization });
    stream.on("error", () => {});
    await once(stream, "response");
    const socket = await server.raw();
    const closed = new Promise((resolve) => stream.once("close", resolve));
    const giveUp = new AbortController();
    const draining = server.listener.drain(giveUp.signal);
    await new Promise((resolve) => setImmediate(resolve));
    giveUp.abort();
    await draining;
    await closed;
    if (!socket.destroyed) await once(socket.resume(), "close");
    await server.test.close();
  });
});

describe("a listener", () => {
  it("reloads its certificate without closing connections", async () => {
    const session = server.session();
    const first = session.request({ ":path": "/livez" });
    first.resume();
    await once(first, "close");
    assert.throws(() => server.listener.reload({ certificatePem: "x", privateKeyPem: "y" }));
    const second = session.request({ ":path": "/livez" });
    const [headers] = await once(second, "response");
    assert.equal(headers[":status"], 200);
    second.resume();
    await server.close();
  });

  it("reports that a port is in use", async () => {
    const taken = new Listener({
      host: "127.0.0.1",
      port: server.port,
      tls: { certificatePem: server.certificate.cert, privateKeyPem: server.certificate.key },
      handle: () => Promise.reject(new Error("unused")),
      onDebug: () => {},
    });
    await assert.rejects(taken.listen(), { code: "EADDRINUSE" });
    await server.close();
  });
});
