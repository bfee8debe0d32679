/** RFC 9113, sections 5.1, 6.1, 6.2 and 6.10: streams, their states, and their frames. */
import { describe } from "node:test";
import { errorCode, flag } from "./protocol.ts";
import {
  begun,
  type Case,
  cases,
  continuation,
  headersWith,
  opened,
  priority,
  reset,
  widen,
} from "./test-support/conformance.ts";
import { block, data, frame, get, getFields, headers, number } from "./test-support/peer.ts";

const { protocolError, streamClosed, frameSizeError } = errorCode;
const x = Buffer.from("x");
const answersOne = { answers: [1] };
const answersNone = { answers: [] };

/** `stateOf` has sent the frames that bring stream 1 into the state. */
const lateFrames = (
  state: string,
  stateOf: readonly Buffer[],
  more: Partial<Case> = {},
): Case[] => [
  {
    section: "5.1",
    title: `data on a stream that is ${state}`,
    send: [...stateOf, data(1, x, true)],
    expect: { ends: streamClosed },
    ...more,
  },
  {
    section: "5.1",
    title: `headers on a stream that is ${state}`,
    send: [...stateOf, opened(1)],
    expect: { ends: streamClosed },
    ...more,
  },
  {
    section: "5.1",
    title: `a continuation on a stream that is ${state}`,
    send: [...stateOf, continuation(1, block(getFields))],
    ...more,
    expect: { ends: protocolError },
  },
];

describe("the states of a stream", () => {
  cases([
    {
      section: "5.1",
      title: "data on an idle stream ends the connection",
      send: [data(1, x, true)],
      expect: { ends: protocolError },
    },
    {
      section: "5.1",
      title: "a reset of an idle stream ends the connection",
      send: [reset(1)],
      expect: { ends: protocolError },
    },
    {
      section: "5.1",
      title: "a window of an idle stream ends the connection",
      send: [widen(1, 100)],
      expect: { ends: protocolError },
    },
    {
      section: "5.1",
      title: "a continuation on an idle stream ends the connection",
      send: [continuation(1, block(getFields))],
      expect: { ends: protocolError },
    },
    {
      section: "5.1",
      title: "a priority of an idle stream is taken",
      send: [priority(1, 0), get(1)],
      expect: answersOne,
    },
    ...lateFrames("ended by both sides", [get(1)]),
    ...lateFrames("ended by the client", [get(1)], {
      isSilent: true,
      expect: { resets: [1, streamClosed] },
    }),
    ...lateFrames("reset by the client", [opened(1), reset(1)], {
      isSilent: true,
      expect: { resets: [1, streamClosed] },
    }),
    {
      section: "5.1",
      title: "a window of a stream that the client has ended is taken",
      send: [get(1), widen(1, 100)],
      expect: answersOne,
    },
    {
      section: "5.1",
      title: "a priority of a stream that the client has ended is taken",
      send: [get(1), priority(1, 0)],
      expect: answersOne,
    },
    {
      section: "5.1",
      title: "a reset of a stream that the client has ended is taken",
      isSilent: true,
      send: [get(1), reset(1)],
      expect: answersNone,
    },
    {
      section: "5.1",
      title: "a priority of a closed stream is taken",
      send: [get(1), reset(1), priority(1, 0)],
      expect: answersOne,
    },
    {
      section: "5.1",
      title: "data of a request that was refused is still on its way",
      send: [headers(1, [["x", "y"]], { isEnd: false }), data(1, x), data(1, x, true)],
      expect: { resets: [1, protocolError] },
    },
    {
      section: "5.1.1",
      title: "a request with an even number ends the connection",
      send: [get(2)],
      expect: { ends: protocolError },
    },
    {
      section: "5.1.1",
      title: "a request whose number goes back ends the connection",
      send: [get(5), get(3)],
      expect: { ends: protocolError },
    },
    {
      section: "5.1.1",
      title: "data of a stream that was passed over ends the connection",
      send: [get(5), data(3, x)],
      expect: { ends: protocolError },
    },
    {
      section: "5.1.2",
      title: "a request beyond those that may be open is refused",
      isSilent: true,
      send: Array.from({ length: 101 }, (_, at) => get(2 * at + 1)),
      expect: { resets: [201, errorCode.refusedStream] },
    },
    {
      section: "5.3.1",
      title: "headers of a stream that depends on itself are refused",
      send: [
        headersWith(
          1,
          flag.priority,
          Buffer.concat([number(1), Buffer.from([16]), block(getFields)]),
        ),
      ],
      expect: { resets: [1, protocolError] },
    },
    {
      section: "5.3.1",
      title: "a priority of an idle stream that depends on itself ends the connection",
      send: [priority(1, 1)],
      expect: { ends: protocolError },
    },
    {
      section: "5.3.1",
      title: "a priority of an open stream that depends on itself resets it",
      isSilent: true,
      send: [opened(1), priority(1, 1)],
      expect: { resets: [1, protocolError] },
    },
  ]);
});

describe("data and headers", () => {
  cases([
    {
      section: "6.1",
      title: "a body of one frame is taken",
      send: [opened(1), data(1, x, true)],
      expect: answersOne,
    },
    {
      section: "6.1",
      title: "a body of several frames is taken",
      send: [opened(1), data(1, x), data(1, x), data(1, x, true)],
      expect: answersOne,
    },
    {
      section: "6.1",
      title: "a body with padding is taken",
      send: [opened(1), frame({ type: 0, flags: 9, streamId: 1, payload: [3, 120, 0, 0, 0] })],
      expect: answersOne,
    },
    {
      section: "6.1",
      title: "data of the connection ends it",
      send: [data(0, x)],
      expect: { ends: protocolError },
    },
    {
      section: "6.1",
      title: "data after the end of a stream that is worked on resets it",
      isSilent: true,
      send: [get(1), data(1, x)],
      expect: { resets: [1, streamClosed] },
    },
    {
      section: "6.1",
      title: "more padding than data ends the connection",
      send: [opened(1), frame({ type: 0, flags: 9, streamId: 1, payload: [6, 1, 1] })],
      expect: { ends: protocolError },
    },
    { section: "6.2", title: "headers in one frame are taken", send: [get(1)], expect: answersOne },
    {
      section: "6.2",
      title: "headers with padding are taken",
      send: [headersWith(1, flag.padded, [2, ...block(getFields), 0, 0])],
      expect: answersOne,
    },
    {
      section: "6.2",
      title: "headers with a priority are taken",
      send: [headersWith(1, flag.priority, [0, 0, 0, 0, 255, ...block(getFields)])],
      expect: answersOne,
    },
    {
      section: "6.2",
      title: "headers that are too short for their priority end the connection",
      send: [headersWith(1, flag.priority, [0, 0])],
      expect: { ends: frameSizeError },
    },
    {
      section: "6.2",
      title: "unfinished headers before a priority end the connection",
      send: [begun(1), priority(1, 0)],
      expect: { ends: protocolError },
    },
    {
      section: "6.2",
      title: "unfinished headers before those of another stream end the connection",
      send: [begun(1), get(3)],
      expect: { ends: protocolError },
    },
    {
      section: "6.2",
      title: "headers of the connection end it",
      send: [get(0)],
      expect: { ends: protocolError },
    },
    {
      section: "6.2",
      title: "more padding than headers ends the connection",
      send: [headersWith(1, flag.padded, [200, ...block(getFields)])],
      expect: { ends: protocolError },
    },
    {
      section: "6.6",
      title: "a push of a client ends the connection",
      send: [
        frame({
          type: 5,
          flags: flag.endHeaders,
          streamId: 1,
          payload: [0, 0, 0, 2, ...block(getFields)],
        }),
      ],
      expect: { ends: protocolError },
    },
    {
      section: "6.10",
      title: "headers in two frames are taken",
      send: [begun(1, block(getFields.slice(0, 1))), continuation(1, block(getFields.slice(1)))],
      expect: answersOne,
    },
    {
      section: "6.10",
      title: "headers in three frames are taken",
      send: [
        begun(1, block(getFields.slice(0, 1))),
        continuation(1, block(getFields.slice(1, 2)), false),
        continuation(1, block(getFields.slice(2))),
      ],
      expect: answersOne,
    },
    {
      section: "6.10",
      title: "anything but a continuation after a continuation ends the connection",
      send: [begun(1), continuation(1, Buffer.alloc(0), false), data(1, x)],
      expect: { ends: protocolError },
    },
    {
      section: "6.10",
      title: "a continuation of the connection ends it",
      send: [begun(1), continuation(0, Buffer.alloc(0))],
      expect: { ends: protocolError },
    },
    {
      section: "6.10",
      title: "a continuation of another stream ends the connection",
      send: [begun(1), continuation(3, Buffer.alloc(0))],
      expect: { ends: protocolError },
    },
    {
      section: "6.10",
      title: "a continuation after finished headers ends the connection",
      send: [opened(1), continuation(1, block([["x", "y"]]))],
      expect: { ends: protocolError },
    },
    {
      section: "6.10",
      title: "a continuation after the last continuation ends the connection",
      send: [begun(1), continuation(1, Buffer.alloc(0)), continuation(1, Buffer.alloc(0))],
      expect: { ends: protocolError },
    },
    {
      section: "6.10",
      title: "a continuation after data ends the connection",
      send: [opened(1), data(1, x), continuation(1, block([["x", "y"]]))],
      expect: { ends: protocolError },
    },
  ]);
});
