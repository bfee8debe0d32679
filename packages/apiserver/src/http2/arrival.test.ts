/** Requests begin when their bodies have arrived. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventLoopLimits, InboundBudget } from "../event-loop/index.ts";
import { errorCode } from "./protocol.ts";
import { data, frame, get, headers, number, Peer, postFields } from "./test-support/peer.ts";

const { arrivalMaxMs, awaitedBodyBytesMax } = eventLoopLimits.inbound;

/** A peer whose requests record when they begin. */
function peerOf(inbound?: InboundBudget) {
  const begun: number[] = [];
  const peer = new Peer({
    onStream: (stream) => stream.onBodyArrived(() => begun.push(stream.id)),
    ...(inbound === undefined ? {} : { inbound }),
  });
  return { peer, begun };
}

const open = (streamId: number, ...fields: [string, string][]) =>
  headers(streamId, [...postFields, ...fields], { isEnd: false });

describe("an HTTP/2 request", () => {
  it("begins with the last byte of its body, and has it then", () => {
    const bodies: string[] = [];
    const peer = new Peer({
      onStream: (stream) =>
        stream.onBodyArrived(() => stream.readBody(100, (body) => bodies.push(String(body)))),
    });
    peer.send(open(1), open(3), data(3, Buffer.from("b")));
    assert.deepEqual(bodies, []);
    peer.send(data(3, Buffer.from("c"), true), data(1, Buffer.from("a"), true));
    assert.deepEqual(bodies, ["bc", "a"]);
  });

  it("begins at once without a body", () => {
    const { peer, begun } = peerOf();
    peer.send(get(1));
    assert.deepEqual(begun, [1]);
  });

  it("begins at once when its client expects 100-continue", () => {
    const { peer, begun } = peerOf();
    peer.send(open(1, ["expect", "100-continue"]));
    assert.deepEqual(begun, [1]);
  });

  it("begins at once when a long body is announced", () => {
    const { peer, begun } = peerOf();
    peer.send(open(1, ["content-length", String(awaitedBodyBytesMax)]));
    assert.deepEqual(begun, []);
    peer.send(open(3, ["content-length", String(awaitedBodyBytesMax + 1)]));
    assert.deepEqual(begun, [3]);
  });

  it("begins when its body turns out to be long", () => {
    const { peer, begun } = peerOf();
    peer.send(open(1), data(1, Buffer.alloc(awaitedBodyBytesMax - 1)));
    assert.deepEqual(begun, []);
    peer.send(data(1, Buffer.alloc(1)));
    assert.deepEqual(begun, [1]);
  });

  it("begins without its body when the body's timeout passes, and not before", () => {
    const { peer, begun } = peerOf();
    peer.send(open(1));
    peer.clock.advance(arrivalMaxMs - 1);
    peer.send(open(3));
    assert.deepEqual(begun, []);
    peer.clock.advance(1);
    assert.deepEqual(begun, [1]);
    peer.clock.advance(arrivalMaxMs);
    assert.deepEqual(begun, [1, 3]);
  });

  it("does not begin when its client resets it or disconnects", () => {
    const { peer, begun } = peerOf();
    peer.send(open(1), open(3));
    peer.send(frame({ type: 3, streamId: 1, payload: number(errorCode.cancel) }));
    peer.connection.closed();
    peer.clock.advance(10 * arrivalMaxMs);
    assert.deepEqual(begun, []);
  });

  it("begins at once when too many requests wait for bodies, until some of these have arrived or ended", () => {
    const inbound = new InboundBudget({ ...eventLoopLimits.inbound, arrivingMax: 2 });
    const one = peerOf(inbound);
    const other = peerOf(inbound);
    one.peer.send(open(1), open(3));
    other.peer.send(open(1));
    assert.deepEqual(other.begun, [1]);
    one.peer.send(data(1, Buffer.from("x"), true));
    other.peer.send(open(3));
    assert.deepEqual(other.begun, [1]);
    one.peer.connection.closed();
    other.peer.send(open(5), open(7));
    assert.deepEqual(other.begun, [1, 7]);
  });
});
