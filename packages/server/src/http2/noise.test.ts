/** Peers that make noise or do not listen, and connections that are to end. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { patienceMax } from "./patience.ts";
import { errorCode } from "./protocol.ts";
import {
  bodyOf,
  frame,
  get,
  goneAway,
  headers,
  number,
  ok,
  Peer,
  resets,
  settings,
} from "./test-support/peer.ts";

describe("noise", () => {
  const noises: [title: string, noise: (id: number) => Buffer[]][] = [
    [
      "requests that are reset at once",
      (id) => [get(id), frame({ type: 3, streamId: id, payload: number(8) })],
    ],
    ["pings", () => [frame({ type: 6, payload: Buffer.alloc(8) })]],
    ["settings", () => [settings()]],
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
      make(patienceMax - 10);
      assert.equal(peer.isEnded, false);
      peer.clock.advance(60_000);
      make(patienceMax - 10);
      assert.equal(peer.isEnded, false);
      make(50);
      assert.equal(goneAway(await peer.received()), errorCode.enhanceYourCalm);
    });
  }

  it("a client that asks and resets, but also listens, is served", () => {
    const peer = new Peer();
    let id = 1;
    for (let i = 0; i < patienceMax * 5; i++, id += 4) {
      peer.send(get(id), frame({ type: 3, streamId: id, payload: number(8) }), get(id + 2));
      peer.streams.at(-1)?.answer(204, {}, undefined);
    }
    assert.equal(peer.isEnded, false);
  });

  it("a client that sends and never reads is cut off, and what it left is bounded", async () => {
    const peer = new Peer({ onStream: ok("x".repeat(1000)) });
    await peer.received();
    peer.isBlocked = true;
    peer.send(get(1));
    for (let id = 3; id < 200_000 && !peer.isEnded; id += 2) peer.send(get(id));
    assert.ok(peer.connection.openStreams <= 100);
    // Beyond the streams that may be open, each is refused, until patience ends.
    assert.ok(peer.isEnded);
  });
});

describe("draining", () => {
  it("says goodbye, finishes what is open, refuses what is new, and ends", async () => {
    const peer = new Peer();
    peer.send(get(1));
    peer.connection.drain();
    peer.send(get(3));
    const received = await peer.received();
    assert.equal(goneAway(received), errorCode.noError);
    assert.deepEqual(resets(received), [[3, errorCode.refusedStream]]);
    assert.equal(peer.isEnded, false);
    peer.streams[0]?.answer(200, {}, Buffer.from("done"));
    assert.equal(bodyOf(await peer.received(), 1), "done");
    assert.ok(peer.isEnded);
  });

  it("a connection that nothing is open on ends at once", () => {
    const peer = new Peer();
    peer.connection.drain();
    assert.ok(peer.isEnded);
  });
});
