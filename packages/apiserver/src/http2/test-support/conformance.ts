/**
 * Cases of the two RFCs: the frames of a client, and the expected frames of the server. For tests
 * of this folder.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { flag, frameType } from "../protocol.ts";
import type { ServerStream } from "../server-stream.ts";
import {
  block,
  bodyOf,
  frame,
  getFields,
  goAwayFrames,
  headers,
  number,
  Peer,
  postFields,
  resets,
  type SentFrame,
} from "./peer.ts";

export type Expectation =
  /** These streams are answered to their end, and the connection stays open. */
  | { readonly answers: readonly number[] }
  /** The connection ends with this code. */
  | { readonly ends: number }
  /** This stream is reset with this code, and the connection stays open. */
  | { readonly resets: readonly [streamId: number, code: number] };

export interface Case {
  /** A section of RFC 9113, unless another RFC is named. */
  readonly section: string;
  readonly title: string;
  readonly send: readonly Buffer[];
  readonly expect: Expectation;
  /** Requests are received and not answered. */
  readonly isSilent?: boolean;
  readonly greeting?: Buffer;
}

/** Also sends one byte at a time, because bytes that are sent together need not arrive together. */
export function cases(list: readonly Case[]): void {
  for (const each of list)
    it(`${each.section}: ${each.title}`, async () => {
      for (const partBytes of [Number.POSITIVE_INFINITY, 1]) await play(each, partBytes);
    });
}

async function play(
  { send, expect, isSilent = false, greeting }: Case,
  partBytes: number,
): Promise<void> {
  const peer = new Peer({
    onStream: isSilent ? () => {} : echo,
    ...(greeting === undefined ? {} : { greeting }),
  });
  const bytes = Buffer.concat(send);
  for (let at = 0; at < bytes.length; at += partBytes)
    peer.send(bytes.subarray(at, at + Math.min(partBytes, bytes.length)));
  peer.send(frame({ type: frameType.ping, payload: Buffer.from("the last") }));
  await judge(peer, await peer.received(), expect);
}

async function judge(peer: Peer, frames: readonly SentFrame[], expect: Expectation): Promise<void> {
  if ("ends" in expect) {
    assert.equal(goAwayFrames(frames), expect.ends, "how the connection ended");
    assert.ok(peer.isEnded);
    assert.equal(peer.connection.openStreams, 0);
    return;
  }
  assert.equal(goAwayFrames(frames), undefined, "the connection was to go on");
  assert.ok(
    frames.some(({ type, flags, payload }) => {
      return type === frameType.ping && flags === 1 && payload.toString() === "the last";
    }),
    "the last ping was to be answered",
  );
  if ("resets" in expect) assert.deepEqual(resets(frames), [expect.resets]);
  else {
    assert.deepEqual(resets(frames), []);
    for (const id of expect.answers) assert.equal(bodyOf(frames, id), "answered");
    assert.equal(
      frames.filter(({ flags, type }) => type < 2 && (flags & 1) === 1).length,
      expect.answers.length,
    );
  }
}

/** Responds when the request is complete. */
function echo(stream: ServerStream): void {
  stream.readBody(1 << 20, (result) => {
    if (result instanceof Error) return;
    stream.respond(200, {}, Buffer.from("answered"));
  });
}

export const opened = (id: number) => headers(id, postFields, { isEnd: false });
export const priority = (streamId: number, dependency: number, weight = 0) =>
  frame({ type: 2, streamId, payload: [...number(dependency), weight] });
export const reset = (streamId: number, code = 8) =>
  frame({ type: 3, streamId, payload: number(code) });
export const widen = (streamId: number, by: number) =>
  frame({ type: 8, streamId, payload: number(by) });
export const continuation = (streamId: number, payload: Buffer, isEnd = true) =>
  frame({ type: 9, streamId, flags: isEnd ? flag.endHeaders : 0, payload });
/** A request with unfinished headers. */
export const begun = (streamId: number, payload = block(getFields)) =>
  frame({ type: 1, flags: flag.endStream, streamId, payload });
export const headersWith = (streamId: number, flags: number, payload: readonly number[] | Buffer) =>
  frame({ type: 1, flags: flag.endHeaders | flag.endStream | flags, streamId, payload });
