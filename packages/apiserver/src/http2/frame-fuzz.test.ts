/**
 * Seeded fuzzing: random frames in random order, split at random, on a connection whose end a
 * simple model of RFC 9113, 5.1 predicts. `KCP_SEED` and `KCP_HISTORIES` choose others.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "../testing/index.ts";
import { errorCode, flag } from "./protocol.ts";
import { opened, priority, reset, widen } from "./test-support/conformance.ts";
import { data, frame, get, goAwayFrames, Peer, resets, settings } from "./test-support/peer.ts";

const seedFirst = Number(process.env["KCP_SEED"] ?? 1);
const histories = Number(process.env["KCP_HISTORIES"] ?? 400);
const seeds = Array.from({ length: histories }, (_, at) => seedFirst + at);
const streamsMax = 3;

type State = "open" | "working" | "ended" | "reset" | "cut";

/**
 * The behaviour of a connection for complete, well-formed frames. Complete requests are answered,
 * except every other one, which never is.
 */
class Model {
  readonly states = new Map<number, State>();
  lastId = 0;
  ends: number | undefined;
  readonly resets: [number, number][] = [];

  #reset(id: number, code: number): void {
    this.resets.push([id, code]);
    this.states.set(id, this.states.get(id) === "working" ? "ended" : "cut");
  }

  headers(id: number, isEnd: boolean): void {
    const state = this.states.get(id);
    if (id % 2 === 0) this.ends = errorCode.protocolError;
    // Headers without END_STREAM are not trailers, and these have fields that trailers must not
    // have.
    else if (state === "open") this.#reset(id, errorCode.protocolError);
    else if (id <= this.lastId) this.#late(id);
    else {
      this.lastId = id;
      const open = [...this.states.values()].filter(
        (each) => each === "open" || each === "working",
      );
      if (open.length < streamsMax) this.states.set(id, isEnd ? this.#received(id) : "open");
      else {
        this.resets.push([id, errorCode.refusedStream]);
        this.states.set(id, isEnd ? "ended" : "cut");
      }
    }
  }

  data(id: number, isEnd: boolean): void {
    if (this.#isIdle(id)) this.ends = errorCode.protocolError;
    else if (this.states.get(id) !== "open") this.#late(id);
    else if (isEnd) this.states.set(id, this.#received(id));
  }

  rst(id: number): void {
    const state = this.states.get(id);
    if (this.#isIdle(id)) this.ends = errorCode.protocolError;
    else if (state === "open") this.states.set(id, "reset");
    else if (state === "working") this.states.set(id, "ended");
  }

  window(id: number): void {
    if (id !== 0 && this.#isIdle(id)) this.ends = errorCode.protocolError;
  }

  priority(id: number, dependency: number): void {
    const state = this.states.get(id);
    if (id !== 0 && id !== dependency) return;
    if (state === "open" || state === "working") this.#reset(id, errorCode.protocolError);
    else this.ends = errorCode.protocolError;
  }

  #isIdle(id: number): boolean {
    return id % 2 === 0 || id > this.lastId;
  }

  #received(id: number): State {
    return id % 4 === 1 ? "ended" : "working";
  }

  #late(id: number): void {
    const state = this.states.get(id);
    if (state === undefined) this.ends = errorCode.protocolError;
    else if (state === "ended") this.ends = errorCode.streamClosed;
    else if (state === "reset") this.resets.push([id, errorCode.streamClosed]);
    else if (state === "working") this.#reset(id, errorCode.streamClosed);
  }
}

function randomFrame(random: SeededRandom, model: Model): Buffer {
  const id = random.pick([
    model.lastId + 2 - ((model.lastId + 1) % 2),
    model.lastId,
    1 + random.below(9),
    random.below(40),
  ]);
  const isEnd = random.below(2) === 0;
  switch (random.below(9)) {
    case 0:
    case 1:
      model.headers(id, isEnd);
      return isEnd ? get(id) : opened(id);
    case 2:
    case 3:
      model.data(id, isEnd);
      return data(id, Buffer.alloc(random.below(20)), isEnd);
    case 4:
      model.rst(id);
      return reset(id);
    case 5:
      model.window(id);
      return widen(id, 1);
    case 6: {
      const dependency = random.pick([0, id, id + 2]);
      model.priority(id, dependency);
      return priority(id, dependency);
    }
    case 7:
      return settings([3, random.below(100)]);
    default:
      return frame({ type: random.pick([6, 7, 99]), payload: Buffer.alloc(8) });
  }
}

function peerOf(): Peer {
  return new Peer({
    limits: { streamsPerConnectionMax: streamsMax },
    onStream: (stream) =>
      stream.readBody(1 << 20, (result) => {
        if (!(result instanceof Error) && stream.id % 4 === 1) stream.respond(204, {}, undefined);
      }),
  });
}

function sendInParts(peer: Peer, bytes: Buffer, random: SeededRandom): void {
  for (let at = 0; at < bytes.length; ) {
    const to = at + 1 + random.below(random.pick([1, 9, 100]));
    peer.send(bytes.subarray(at, to));
    at = to;
  }
}

describe("random frames", () => {
  it("a connection processes well-formed frames as the RFC requires, however they are split", async () => {
    let ended = 0;
    for (const seed of seeds) {
      const random = new SeededRandom(seed);
      const model = new Model();
      const frames: Buffer[] = [];
      const length = 1 + random.below(40);
      while (frames.length < length && model.ends === undefined)
        frames.push(randomFrame(random, model));
      const peer = peerOf();
      sendInParts(peer, Buffer.concat(frames), random);
      const received = await peer.received();
      assert.equal(goAwayFrames(received), model.ends, `seed ${seed}`);
      assert.deepEqual(resets(received), model.resets, `seed ${seed}`);
      const open = [...model.states.values()].filter(
        (each) => each === "open" || each === "working",
      );
      assert.equal(
        peer.connection.openStreams,
        model.ends === undefined ? open.length : 0,
        `seed ${seed}`,
      );
      if (model.ends !== undefined) ended++;
    }
    assert.ok(ended > histories / 4 && ended < histories, `${ended} of ${histories} ended`);
  });

  it("a connection survives malformed frames: it stays open or ends with a known code, and holds nothing afterwards", async () => {
    const known = new Set<number>(Object.values(errorCode));
    for (const seed of seeds) {
      const random = new SeededRandom(seed);
      const model = new Model();
      const peer = peerOf();
      for (let frames = 0; frames < 60 && !peer.isEnded; frames++) {
        const bytes = Buffer.from(randomFrame(random, model));
        const kind = random.below(4);
        if (kind === 0) bytes[random.below(bytes.length)] = random.below(256);
        else if (kind === 1)
          bytes[4] = random.pick([flag.endHeaders, flag.padded, flag.priority, 0xff, 0]);
        else if (kind === 2) bytes[3] = random.below(12);
        sendInParts(peer, bytes, random);
        assert.ok(peer.connection.openStreams <= streamsMax, `seed ${seed}`);
      }
      const code = goAwayFrames(await peer.received());
      assert.equal(peer.isEnded, code !== undefined, `seed ${seed}`);
      if (code !== undefined) assert.ok(known.has(code), `seed ${seed}: code ${code}`);
      peer.connection.closed();
      assert.equal(peer.connection.openStreams, 0, `seed ${seed}`);
    }
  });
});
