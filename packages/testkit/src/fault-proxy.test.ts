import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { FaultProxy } from "./fault-proxy.ts";

describe("the fault proxy", () => {
  let echo: Server;
  let proxy: FaultProxy;
  const sockets: Socket[] = [];

  before(async () => {
    echo = createServer((socket) => {
      socket.on("error", () => socket.destroy());
      socket.pipe(socket);
    });
    echo.listen(0, "127.0.0.1");
    await once(echo, "listening");
  });
  after(() => echo.close());
  beforeEach(async () => {
    const { port } = echo.address() as { port: number };
    proxy = await FaultProxy.start({ host: "127.0.0.1", port });
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await proxy.dispose();
  });

  async function connect(): Promise<Socket> {
    const socket = dial(proxy.port, "127.0.0.1");
    sockets.push(socket);
    await once(socket, "connect");
    return socket;
  }

  /** Sends bytes and reads them back; how long that took. */
  async function roundTrip(socket: Socket, bytes: Buffer): Promise<number> {
    const startedAt = systemClock.monotonic();
    socket.write(bytes);
    const received: Buffer[] = [];
    for (let count = 0; count < bytes.length; ) {
      const [chunk] = (await once(socket, "data")) as [Buffer];
      received.push(chunk);
      count += chunk.length;
    }
    assert.deepEqual(Buffer.concat(received), bytes);
    return systemClock.monotonic() - startedAt;
  }

  it("forwards bytes in order without a fault", async () => {
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i & 0xff));
    await roundTrip(await connect(), bytes);
  });

  it("delays bytes in both directions by the latency, and keeps their order", async () => {
    const socket = await connect();
    proxy.setFaults({ latencyMs: 50 });
    assert.ok((await roundTrip(socket, Buffer.from("hello"))) >= 95);
    await roundTrip(socket, Buffer.from(Array.from({ length: 100_000 }, (_, i) => i & 0xff)));
  });

  it("forwards no more bytes per second than its limit", async () => {
    const socket = await connect();
    proxy.setFaults({ bytesPerSecond: 100_000 });
    assert.ok((await roundTrip(socket, Buffer.alloc(20_000))) >= 195);
  });

  it("drops bytes while connections stay open, and forwards later ones again", async () => {
    const socket = await connect();
    proxy.setFaults({ blackhole: true });
    const late = await connect();
    socket.write("lost");
    late.write("lost");
    await sleep(systemClock, 50);
    assert.equal(proxy.openConnections, 2);
    proxy.setFaults({});
    await roundTrip(socket, Buffer.from("kept"));
  });

  it("rejects new connections and keeps old ones", async () => {
    const old = await connect();
    proxy.setFaults({ refuse: true });
    const refused = connect().then((socket) => once(socket, "data"));
    await assert.rejects(refused, { code: "ECONNRESET" });
    await roundTrip(old, Buffer.from("still here"));
    assert.equal(proxy.acceptedConnections, 2);
  });

  it("stalls the open connections for good, and forwards new ones", async () => {
    const stalled = await connect();
    await roundTrip(stalled, Buffer.from("up"));
    let received = 0;
    stalled.on("data", (bytes: Buffer) => {
      received += bytes.length;
    });
    proxy.stallConnections();
    stalled.write("lost");
    await roundTrip(await connect(), Buffer.from("new"));
    await sleep(systemClock, 50);
    assert.equal(received, 0);
    assert.equal(stalled.destroyed, false);
    assert.equal(proxy.openConnections, 2);
  });

  it("resets all connections on request", async () => {
    const socket = await connect();
    await roundTrip(socket, Buffer.from("up"));
    const reset = once(socket, "data");
    proxy.dropConnections();
    await assert.rejects(reset, { code: "ECONNRESET" });
    assert.equal(proxy.openConnections, 0);
  });
});
