import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Resumable } from "../base/index.ts";
import { jsonSchemaProps } from "./generated/apiextensions-v1.ts";
import { configMap } from "./generated/core-v1.ts";
import { decodeMessageResumable } from "./protobuf.ts";
import type { MessageShape } from "./shape.ts";

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(Math.floor(value / 128))];
}

function field(number: number, bytes: Uint8Array): Uint8Array {
  return Uint8Array.from([...varint((number << 3) | 2), ...varint(bytes.length), ...bytes]);
}

function repeated(count: number, bytes: Uint8Array): Uint8Array {
  const all = new Uint8Array(count * bytes.length);
  for (let i = 0; i < count; i++) all.set(bytes, i * bytes.length);
  return all;
}

const none = new Uint8Array();
const text = (value: string) => new TextEncoder().encode(value);

function piecesOf(work: Resumable<unknown>): number {
  let pieces = 1;
  while (work.next().done !== true) pieces++;
  return pieces;
}

/** All of them have tens of thousands of fields, or hundreds of kilobytes in one. */
const long: [what: string, shape: MessageShape, bytes: Uint8Array][] = [
  ["items of a list", configMap, field(1, repeated(40_000, field(13, none)))],
  ["fields that nobody knows", configMap, repeated(40_000, field(99, none))],
  ["entries of a map", configMap, repeated(15_000, field(2, field(1, text("k"))))],
  ["a message in a union", jsonSchemaProps, field(24, field(1, repeated(40_000, field(99, none))))],
  ["bytes", configMap, field(3, field(2, new Uint8Array(1_000_000)))],
  ["JSON in a text", jsonSchemaProps, field(8, field(1, text(`[${"[1,2,3],".repeat(10_000)}1]`)))],
];

describe("decoding a long protobuf message", () => {
  for (const [what, shape, bytes] of long) {
    it(`rests between ${what}`, () => {
      const pieces = piecesOf(decodeMessageResumable(shape, bytes));
      assert.ok(pieces >= 20, `${pieces} pieces`);
    });
  }
});
