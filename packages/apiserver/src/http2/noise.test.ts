/** Peers that send useless frames or do not read, and connections that drain. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UnreadResponseBudget } from "../event-loop/index.ts";
import { abuseBudgetMax } from "./inbound.ts";
import { errorCode } from "./protocol.ts";
import { BodyParts } from "./server-stream.ts";
import {
  bodyOf,
  bytesOf,
  data,
  frame,
  get,
  goAwayFrames,
  headers,
  number,
  ok,
  Peer,
  postFields,
  resets,
  settings,
} from "./test-support/peer.ts";

describe("useless frames", () => {
  const noises: [title: string, noise: (id: number) => Buffer[]][] = [
    [
      "requests that are reset at once",
      (id) => [get(id), frame({ type: 3, streamId: id, payload: number(8) })],
    ],
    ["pings", () => [frame({ type: 6, payload: Buffer.alloc(8) })]],
    ["settings", () => [settings()]],
    ["acknowledgements of settings", () => [frame({ type: 4, flags: 1 })]],
    ["answers to pings", () => [frame({ type: 6, flags: 1, payload: Buffer.alloc(8) })]],
    ["farewells", () => [frame({ type: 7, payload: Buffer.alloc(8) })]],
    ["priorities", (id) => [frame({ type: 2, streamId: id, payload: Buffer.alloc(5) })]],
    ["frames of unknown types", () => [frame({ type: 200 })]],
    ["requests that make no sense", (id) => [headers(id, [["x", "y"]], { isEnd: true })]],
  ];
  for (const [title, noise] of noises) {
    it(`${title}: some are borne, and more with time; a flood is not`, async () => {
      const peer = new Peer();
      let id = 1;
      const make = (count: number) => {
        for (let i = 0; i < count && !peer.isEnded; i++, id += 2) peer.send(...noise(id));
      };
      make(abuseBudgetMax - 10);
      assert.equal(peer.isEnded, false);
      peer.clock.advance(60_000);
      make(abuseBudgetMax - 10);
      assert.equal(peer.isEnded, false);
      make(50);
      assert.equal(goAwayFrames(await peer.received()), errorCode.enhanceYourCalm);
    });
  }

  it("windows that are widened without data to send are tolerated for a while", async () => {
    const peer = new Peer();
    const widened = frame({ type: 8, payload: number(1) });
    for (let sent = 0; sent < abuseBudgetMax - 10; sent++) peer.send(widened);
    assert.equal(peer.isEnded, false);
    for (let sent = 0; sent < 100 && !peer.isEnded; sent++) peer.send(widened);
    assert.equal(goAwayFrames(await peer.received()), errorCode.enhanceYourCalm);
  });

  it("windows that are widened for each DATA frame are never counted", async () => {
    const peer = new Peer();
    peer.send(get(1));
    peer.streams[0]?.writeHead(200, {});
    let bytes = 0;
    for (let sent = 0; sent < 4 * abuseBudgetMax; sent++) {
      peer.streams[0]?.write(Buffer.alloc(200));
      if (sent % 100 === 0) bytes += bytesOf(await peer.received(), 1);
      const by = number(200);
      peer.send(frame({ type: 8, payload: by }), frame({ type: 8, streamId: 1, payload: by }));
    }
    assert.equal(peer.isEnded, false);
    assert.equal(bytes + bytesOf(await peer.received(), 1), 4 * abuseBudgetMax * 200);
  });

  it("a window that is opened byte by byte for ever is counted", async () => {
    const peer = new Peer({ greeting: settings([4, 0]), onStream: ok("x".repeat(100_000)) });
    peer.send(get(1));
    const byte = frame({ type: 8, streamId: 1, payload: number(1) });
    for (let sent = 0; sent < 50_000 && !peer.isEnded; sent++) peer.send(byte);
    const received = await peer.received();
    assert.equal(goAwayFrames(received), errorCode.enhanceYourCalm);
    assert.ok(bytesOf(received, 1) < 10 * abuseBudgetMax);
  });

  it("a body in frames of one byte is held in a few buffers", () => {
    const parts = new BodyParts();
    for (let sent = 0; sent < 100_000; sent++) parts.push(Buffer.from([sent & 0xff]), false);
    assert.ok(parts.count <= 3, `${parts.count} pieces`);
    const whole = parts.take();
    assert.equal(whole.length, 100_000);
    assert.equal(whole[99_999], 99_999 & 0xff);
  });

  it("a request that does not begin yet holds no long body: it is refused, and may be retried", async () => {
    const unread = new UnreadResponseBudget({ bytesPerConnectionMax: 10, bytesMax: 100 });
    const peer = new Peer({ unread, greeting: settings([4, 0]), onStream: ok("x".repeat(50)) });
    peer.send(get(1), headers(3, postFields, { isEnd: false }));
    for (let sent = 0; sent < 8; sent++) peer.send(data(3, Buffer.alloc(4096)));
    assert.deepEqual(resets(await peer.received()), [[3, errorCode.refusedStream]]);
  });

  it("a client that sends and resets requests, but also reads responses, is served", () => {
    const peer = new Peer();
    let id = 1;
    for (let i = 0; i < abuseBudgetMax * 5; i++, id += 4) {
      peer.send(get(id), frame({ type: 3, streamId: id, payload: number(8) }), get(id + 2));
      peer.streams.at(-1)?.respond(204, {}, undefined);
    }
    assert.equal(peer.isEnded, false);
  });

  it("a client that sends and never reads is disconnected, and its memory is bounded", async () => {
    const peer = new Peer({ onStream: ok("x".repeat(1000)) });
    await peer.received();
    peer.isBlocked = true;
    peer.send(get(1));
    for (let id = 3; id < 200_000 && !peer.isEnded; id += 2) peer.send(get(id));
    assert.ok(peer.connection.openStreams <= 100);
    // Beyond the limit of open streams, each is refused, until the abuse budget is spent.
    assert.ok(peer.isEnded);
  });
});

describe("draining", () => {
  it("sends GOAWAY, finishes open streams, refuses new ones, and ends", async () => {
    const peer = new Peer();
    peer.send(get(1));
    peer.connection.drain();
    peer.send(get(3));
    const received = await peer.received();
    assert.equal(goAwayFrames(received), errorCode.noError);
    assert.deepEqual(resets(received), [[3, errorCode.refusedStream]]);
    assert.equal(peer.isEnded, false);
    peer.streams[0]?.respond(200, {}, Buffer.from("done"));
    assert.equal(bodyOf(await peer.received(), 1), "done");
    assert.ok(peer.isEnded);
  });

  it("ends an idle connection at once", () => {
    const peer = new Peer();
    peer.connection.drain();
    assert.ok(peer.isEnded);
  });
});
