/**
 * RFC 9113, sections 3, 4, 6 and 7: frames, settings and windows. Every rule that a client can
 * violate, and valid counterparts.
 */
import { describe } from "node:test";
import { errorCode, flag, frameType } from "./protocol.ts";
import {
  begun,
  cases,
  headersWith,
  opened,
  priority,
  reset,
  widen,
} from "./test-support/conformance.ts";
import { data, frame, get, number, settings } from "./test-support/peer.ts";

const { protocolError, frameSizeError, flowControlError, compressionError } = errorCode;
const x = Buffer.from("x");
const answersOne = { answers: [1] };
const answersNone = { answers: [] };

describe("the beginning of a connection", () => {
  cases([
    {
      section: "3.4",
      title: "a connection that begins as it must is served",
      send: [get(1)],
      expect: answersOne,
    },
    {
      section: "3.4",
      title: "a connection that begins with another frame than settings ends",
      greeting: Buffer.alloc(0),
      send: [get(1)],
      expect: { ends: protocolError },
    },
  ]);
});

describe("frames", () => {
  cases([
    {
      section: "4.1",
      title: "a frame of an unknown type is ignored",
      send: [frame({ type: 0xff, payload: x }), get(1)],
      expect: answersOne,
    },
    {
      section: "4.1",
      title: "flags that mean nothing are ignored",
      send: [frame({ type: 6, flags: 0x16, payload: Buffer.alloc(8) }), get(1)],
      expect: answersOne,
    },
    {
      section: "4.1",
      title: "the reserved bit of a stream's number is ignored",
      send: [frame({ type: 6, streamId: 0x8000_0000, payload: Buffer.alloc(8) }), get(1)],
      expect: answersOne,
    },
    {
      section: "4.2",
      title: "a frame of 16384 bytes is taken",
      send: [opened(1), data(1, Buffer.alloc(16_384), true)],
      expect: answersOne,
    },
    {
      section: "4.2",
      title: "a frame of data of 16385 bytes ends the connection",
      send: [opened(1), data(1, Buffer.alloc(16_385), true)],
      expect: { ends: frameSizeError },
    },
    {
      section: "4.2",
      title: "a frame of headers of 16385 bytes ends the connection",
      send: [headersWith(1, 0, Buffer.alloc(16_385))],
      expect: { ends: frameSizeError },
    },
    {
      section: "4.3",
      title: "a header block that cannot be read ends the connection",
      send: [headersWith(1, 0, [0x40, 0xff, 0xff])],
      expect: { ends: compressionError },
    },
    {
      section: "4.3",
      title: "a priority inside a header block ends the connection",
      send: [begun(1), priority(1, 0)],
      expect: { ends: protocolError },
    },
    {
      section: "4.3",
      title: "the headers of another stream inside a header block end the connection",
      send: [begun(1), get(3)],
      expect: { ends: protocolError },
    },
    {
      section: "5.5",
      title: "an unknown extension is ignored",
      send: [frame({ type: 0x16, payload: Buffer.alloc(8) }), get(1)],
      expect: answersOne,
    },
    {
      section: "5.5",
      title: "an unknown extension inside a header block ends the connection",
      send: [begun(1), frame({ type: 0x16, streamId: 1 })],
      expect: { ends: protocolError },
    },
    {
      section: "5.4.1",
      title: "an error of the connection ends it",
      send: [frame({ type: 6, streamId: 3, payload: Buffer.alloc(8) })],
      expect: { ends: protocolError },
    },
    {
      section: "7",
      title: "a farewell with an unknown code is taken",
      send: [frame({ type: 7, payload: [...number(0), ...number(0xff)] })],
      expect: answersNone,
    },
    {
      section: "7",
      title: "a reset with an unknown code is taken",
      isSilent: true,
      send: [opened(1), reset(1, 0xff)],
      expect: answersNone,
    },
  ]);
});

describe("PRIORITY, RST_STREAM, PING and GOAWAY", () => {
  cases([
    {
      section: "6.3",
      title: "the lowest priority is taken",
      send: [priority(1, 0, 0), get(1)],
      expect: answersOne,
    },
    {
      section: "6.3",
      title: "the highest priority is taken",
      send: [priority(1, 0, 255), get(1)],
      expect: answersOne,
    },
    {
      section: "6.3",
      title: "a priority after another stream is taken",
      send: [priority(1, 0), priority(3, 1), get(1)],
      expect: answersOne,
    },
    {
      section: "6.3",
      title: "an exclusive priority is taken",
      send: [priority(1, 0x8000_0000), get(1)],
      expect: answersOne,
    },
    {
      section: "6.3",
      title: "a priority of an idle stream opens none: a lower number may follow",
      send: [priority(5, 0), get(3)],
      expect: { answers: [3] },
    },
    {
      section: "6.3",
      title: "a priority of the connection ends it",
      send: [priority(0, 1)],
      expect: { ends: protocolError },
    },
    {
      section: "6.3",
      title: "a priority of another length than five ends the connection when its stream is idle",
      send: [frame({ type: 2, streamId: 1, payload: [0, 0, 0, 1] })],
      expect: { ends: frameSizeError },
    },
    {
      section: "6.3",
      title: "a priority of another length than five resets its stream",
      isSilent: true,
      send: [opened(1), frame({ type: 2, streamId: 1, payload: [0, 0, 0, 1] })],
      expect: { resets: [1, frameSizeError] },
    },
    {
      section: "6.4",
      title: "a reset is taken",
      isSilent: true,
      send: [opened(1), reset(1)],
      expect: answersNone,
    },
    {
      section: "6.4",
      title: "a reset of the connection ends it",
      send: [reset(0)],
      expect: { ends: protocolError },
    },
    {
      section: "6.4",
      title: "a reset of an idle stream ends the connection",
      send: [get(1), reset(3)],
      expect: { ends: protocolError },
    },
    {
      section: "6.4",
      title: "a reset of a stream of the server ends the connection",
      send: [get(3), reset(2)],
      expect: { ends: protocolError },
    },
    {
      section: "6.4",
      title: "a reset of another length than four ends the connection",
      send: [opened(1), frame({ type: 3, streamId: 1, payload: [0, 0, 1] })],
      expect: { ends: frameSizeError },
    },
    {
      section: "6.7",
      title: "a ping is answered",
      send: [frame({ type: 6, payload: Buffer.from("h2-tests") })],
      expect: answersNone,
    },
    {
      section: "6.7",
      title: "an answer to a ping is not answered",
      send: [frame({ type: 6, flags: 1, payload: Buffer.alloc(8) })],
      expect: answersNone,
    },
    {
      section: "6.7",
      title: "a ping of a stream ends the connection",
      send: [frame({ type: 6, streamId: 1, payload: Buffer.alloc(8) })],
      expect: { ends: protocolError },
    },
    {
      section: "6.7",
      title: "a ping of another length than eight ends the connection",
      send: [frame({ type: 6, payload: Buffer.alloc(6) })],
      expect: { ends: frameSizeError },
    },
    {
      section: "6.8",
      title: "a farewell is taken",
      send: [frame({ type: 7, payload: Buffer.alloc(8) })],
      expect: answersNone,
    },
    {
      section: "6.8",
      title: "a farewell of a stream ends the connection",
      send: [frame({ type: 7, streamId: 1, payload: Buffer.alloc(8) })],
      expect: { ends: protocolError },
    },
    {
      section: "6.8",
      title: "a farewell of fewer than eight bytes ends the connection",
      send: [frame({ type: 7, payload: Buffer.alloc(7) })],
      expect: { ends: frameSizeError },
    },
  ]);
});

describe("settings and windows", () => {
  const tooWide = 0x7fff_ffff;
  cases([
    {
      section: "6.5",
      title: "settings are taken",
      send: [settings([3, 100]), get(1)],
      expect: answersOne,
    },
    {
      section: "6.5",
      title: "an acknowledgement with a payload ends the connection",
      send: [frame({ type: 4, flags: 1, payload: [0] })],
      expect: { ends: frameSizeError },
    },
    {
      section: "6.5",
      title: "settings of a stream end the connection",
      send: [frame({ type: 4, streamId: 1, payload: [0, 3, 0, 0, 0, 100] })],
      expect: { ends: protocolError },
    },
    {
      section: "6.5",
      title: "half a setting ends the connection",
      send: [frame({ type: 4, payload: [0, 3, 0] })],
      expect: { ends: frameSizeError },
    },
    {
      section: "6.5.2",
      title: "a push setting of two ends the connection",
      send: [settings([2, 2])],
      expect: { ends: protocolError },
    },
    {
      section: "6.5.2",
      title: "a window setting beyond the limit ends the connection",
      send: [settings([4, 0x8000_0000])],
      expect: { ends: flowControlError },
    },
    {
      section: "6.5.2",
      title: "a frame size below the minimum ends the connection",
      send: [settings([5, 16_383])],
      expect: { ends: protocolError },
    },
    {
      section: "6.5.2",
      title: "a frame size above the maximum ends the connection",
      send: [settings([5, 16_777_216])],
      expect: { ends: protocolError },
    },
    {
      section: "6.5.2",
      title: "an unknown setting is ignored",
      send: [settings([0xff, 1]), get(1)],
      expect: answersOne,
    },
    {
      section: "6.5.3",
      title: "of several values of a setting the last one holds",
      send: [settings([4, 0], [4, 100]), get(1)],
      expect: answersOne,
    },
    {
      section: "6.9",
      title: "a window of the connection is taken",
      send: [widen(0, 1), get(1)],
      expect: answersOne,
    },
    {
      section: "6.9",
      title: "a window of a stream is taken",
      isSilent: true,
      send: [opened(1), widen(1, 1)],
      expect: answersNone,
    },
    {
      section: "6.9",
      title: "a window of the connection that does not grow ends it",
      send: [widen(0, 0)],
      expect: { ends: protocolError },
    },
    {
      section: "6.9",
      title: "a window of a stream that does not grow resets the stream",
      isSilent: true,
      send: [opened(1), widen(1, 0)],
      expect: { resets: [1, protocolError] },
    },
    {
      section: "6.9",
      title: "a window of another length than four ends the connection",
      send: [frame({ type: 8, payload: [0, 0, 1] })],
      expect: { ends: frameSizeError },
    },
    {
      section: "6.9.1",
      title: "a window of the connection that grows beyond the limit ends it",
      send: [widen(0, tooWide), widen(0, tooWide)],
      expect: { ends: flowControlError },
    },
    {
      section: "6.9.1",
      title: "a window of a stream that grows beyond the limit resets the stream",
      isSilent: true,
      send: [opened(1), widen(1, tooWide)],
      expect: { resets: [1, flowControlError] },
    },
    {
      section: "6.9.2",
      title: "a setting that makes an open window too wide ends the connection",
      isSilent: true,
      send: [opened(1), widen(1, 1), settings([4, tooWide])],
      expect: { ends: flowControlError },
    },
    {
      section: "6.9.2",
      title: "a window that a setting makes negative grows again",
      greeting: settings([4, 3]),
      send: [get(1), settings([4, 2]), settings([4, 20])],
      expect: answersOne,
    },
    {
      section: "6.9.1",
      title: "an answer comes through a window of one byte, opened byte by byte",
      greeting: settings([4, 1]),
      send: [get(1), ...Array.from({ length: 7 }, () => widen(1, 1))],
      expect: answersOne,
    },
    {
      section: "6.9.2",
      title: "an answer comes when a setting opens its window",
      greeting: settings([4, 0]),
      send: [get(1), settings([4, 8])],
      expect: answersOne,
    },
  ]);
});

describe("acknowledgements", () => {
  cases([
    {
      section: "6.5.3",
      title: "every frame of settings is acknowledged",
      send: [settings(), settings(), get(1)],
      expect: answersOne,
    },
    {
      section: "6.5.3",
      title: `an acknowledgement is of type ${frameType.settings}, and is not acknowledged`,
      send: [frame({ type: 4, flags: flag.ack }), get(1)],
      expect: answersOne,
    },
  ]);
});
