/**
 * Goal: streams through one tunnel arrive completely, do not delay each other, and end with the
 * tunnel; a side that violates the protocol is disconnected.
 */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { awakeGraceMs, systemClock } from "@kcp-ts/machinery/base";
import type { JsonValue } from "@kcp-ts/machinery/json";
import { WebSocketConnection } from "@kcp-ts/sdk/websocket";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { Multiplexer, pingMs, pingTimeoutMs } from "./multiplexer.ts";
import { firstCreditBytes, frameHead, frameKind, muxProtocol } from "./mux-frames.ts";
import type { MuxStream } from "./mux-stream.ts";
import { TestConnections } from "./test-support/test-connections.ts";

const wires = new TestConnections();
afterEach(() => wires.cutAll());

interface Opened {
  readonly stream: MuxStream;
  readonly head: JsonValue;
}

function tunnel(onOpen: (opened: Opened, agent: Multiplexer) => void) {
  const [near, far] = wires.make();
  const closed: (Error | undefined)[] = [];
  const plane = new Multiplexer({
    connection: near,
    role: "server",
    clock: systemClock,
    onClose: (error) => closed.push(error),
  });
  const agent: Multiplexer = new Multiplexer({
    connection: far,
    role: "client",
    clock: systemClock,
    onOpen: (stream, head) => onOpen({ stream, head }, agent),
    onClose: () => {},
  });
  return { plane, agent, closed, near, far };
}

async function read(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

describe("multiplexer", () => {
  it("transfers requests, responses and bytes in both directions", async () => {
    const { plane, agent } = tunnel(({ stream, head }, at) => {
      at.sendReply(stream, { status: 200, asked: head });
      stream.pipe(stream);
    });
    const { stream, sendReply } = plane.open({ name: "a" });
    assert.deepEqual(await sendReply, { status: 200, asked: { name: "a" } });
    stream.write("one, ");
    stream.end("two");
    assert.equal((await read(stream)).toString(), "one, two");
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(plane.openStreams + agent.openStreams, 0);
    plane.close();
  });

  it("loses and mixes up no bytes, in any order of writes", async () => {
    const random = new SeededRandom(20_260);
    const { plane } = tunnel(({ stream }) => stream.pipe(stream));
    const talk = async () => {
      const { stream } = plane.open({});
      const sent: Buffer[] = [];
      const heard = read(stream);
      const count = 1 + Math.floor(random.next() * 40);
      for (let part = 0; part < count; part++) {
        const bytes = Buffer.alloc(Math.floor(random.next() * 120_000), part);
        sent.push(bytes);
        if (!stream.write(bytes)) await new Promise((resolve) => stream.once("drain", resolve));
      }
      stream.end();
      assert.ok((await heard).equals(Buffer.concat(sent)));
    };
    await Promise.all(Array.from({ length: 12 }, talk));
    assert.equal(plane.openStreams, 0);
    plane.close();
  });

  it("delivers bytes that were sent before the other side left", async () => {
    const { plane } = tunnel(({ stream }) => {
      stream.end(Buffer.alloc(200_000, 7), () => stream.destroy());
    });
    const { stream } = plane.open({});
    assert.equal((await read(stream)).length, 200_000);
    plane.close();
  });

  it("a slow reader delays no other stream, and buffers no more than its credit", async () => {
    const written = new Map<number, number>();
    const { plane } = tunnel(({ stream }) => {
      const chunk = Buffer.alloc(16 << 10, 1);
      const push = () => {
        while (!stream.destroyed) {
          written.set(stream.id, (written.get(stream.id) ?? 0) + chunk.length);
          if (!stream.write(chunk)) break;
        }
      };
      stream.on("drain", push);
      push();
    });
    const slow = plane.open({}).stream;
    const fast = plane.open({}).stream;
    let bytes = 0;
    for await (const part of fast) {
      bytes += (part as Buffer).length;
      if (bytes > 20 << 20) break;
    }
    const kept = written.get(slow.id) ?? 0;
    assert.ok(kept <= firstCreditBytes + (64 << 10), `${kept} bytes were taken for nobody`);
    assert.ok(slow.readableLength <= 64 << 10);
    plane.close();
  });

  it("a stream that is destroyed is reset on the other side", async () => {
    const gone = new Promise<string>((resolve) => {
      const { plane } = tunnel(({ stream }) => {
        stream.on("error", ({ message }) => resolve(message));
        stream.resume();
      });
      plane.open({}).stream.destroy(new Error("the client went away"));
    });
    assert.equal(await gone, "the client went away");
  });

  it("ends its streams with the tunnel", async () => {
    const { plane, far } = tunnel(() => {});
    const { stream } = plane.open({});
    const ended = new Promise((resolve) => stream.once("close", resolve));
    stream.resume();
    far.destroy();
    await ended;
    assert.equal(stream.destroyed, true);
  });

  it("disconnects a side that exceeds its credit, opens a stream without permission, or sends an invalid message", async () => {
    const bad: ((socket: WebSocketConnection, id: number) => void)[] = [
      (socket, id) => {
        for (let sent = 0; sent <= firstCreditBytes; sent += 1 << 14)
          socket.send(frameHead(frameKind.data, id), Buffer.alloc(1 << 14));
      },
      (socket) => socket.send(frameHead(frameKind.open, 77), Buffer.from("{}")),
      (socket, id) => socket.send(frameHead(99, id)),
      (socket, id) => socket.send(frameHead(frameKind.answer, id), Buffer.from("{no")),
      (socket, id) => socket.send(frameHead(frameKind.credit, id), Buffer.from("1")),
      (socket) => socket.send(Buffer.from([1])),
    ];
    for (const misbehave of bad) {
      const [near, far] = wires.make();
      const error = await new Promise<Error | undefined>((resolve) => {
        const plane = new Multiplexer({
          connection: near,
          role: "server",
          clock: systemClock,
          onClose: resolve,
        });
        const { stream } = plane.open({});
        const socket = new WebSocketConnection({
          stream: far,
          role: "client",
          messageBytesMax: 1 << 20,
          onMessage: () => {},
          onClose: () => {},
        });
        misbehave(socket, stream.id);
      });
      assert.match(String(error?.message), /^the tunnel was broken off: /);
    }
  });

  it("disconnects a side that has been silent for too long", async () => {
    const clock = new FakeClock();
    const [near, far] = wires.make();
    far.resume();
    const ended = new Promise<Error | undefined>((resolve) => {
      new Multiplexer({ connection: near, role: "server", clock, onClose: resolve });
    });
    clock.advance(pingMs + pingTimeoutMs + awakeGraceMs);
    assert.match(String((await ended)?.message), /silent for too long/);
    assert.equal(muxProtocol, "v1.tunnel.workload.kcp.io");
  });
});
