/**
 * RFC 9113, section 8, and RFC 7541: requests as headers, bodies and trailers, and the encoding of
 * headers.
 */
import { describe } from "node:test";
import { errorCode, flag } from "./protocol.ts";
import { type Case, cases } from "./test-support/conformance.ts";
import { block, data, frame, get, headers, postFields } from "./test-support/peer.ts";

type Fields = readonly (readonly [string, string])[];
const { protocolError, compressionError } = errorCode;
const answersOne = { answers: [1] };
const refused = { resets: [1, protocolError] as const };
const base: Fields = [
  [":method", "GET"],
  [":scheme", "https"],
  [":path", "/"],
  [":authority", "x"],
];
const without = (name: string) => base.filter(([each]) => each !== name);
const asked = (fields: Fields) => [headers(1, fields, { isEnd: true })];
const posted = (length: string, ...bodies: readonly string[]) => [
  headers(1, [...postFields, ["content-length", length]], { isEnd: false }),
  ...bodies.map((body, at) => data(1, Buffer.from(body), at === bodies.length - 1)),
];

describe("requests", () => {
  const opened = headers(1, postFields, { isEnd: false });
  cases([
    { section: "8.1", title: "a GET is answered", send: [get(1)], expect: answersOne },
    {
      section: "8.1",
      title: "a HEAD is answered",
      send: asked([[":method", "HEAD"], ...without(":method")]),
      expect: answersOne,
    },
    {
      section: "8.1",
      title: "a POST is answered",
      send: [opened, data(1, Buffer.from("x"), true)],
      expect: answersOne,
    },
    {
      section: "8.1",
      title: "a POST with trailers is answered",
      send: [opened, data(1, Buffer.from("x")), headers(1, [["x-sum", "1"]], { isEnd: true })],
      expect: answersOne,
    },
    {
      section: "8.1",
      title: "further headers that do not end the request reset it",
      send: [opened, headers(1, [["x-sum", "1"]], { isEnd: false })],
      expect: refused,
    },
    {
      section: "8.2",
      title: "a header's name in upper case resets the request",
      send: asked([...base, ["X-Test", "ok"]]),
      expect: refused,
    },
    {
      section: "8.2.1",
      title: "a header's value with a line end resets the request",
      send: asked([...base, ["x-test", "a\nb"]]),
      expect: refused,
    },
    {
      section: "8.2.2",
      title: "a header of the connection resets the request",
      send: asked([...base, ["connection", "keep-alive"]]),
      expect: refused,
    },
    {
      section: "8.2.2",
      title: "other transfer codings than trailers reset the request",
      send: asked([...base, ["te", "trailers, deflate"]]),
      expect: refused,
    },
    {
      section: "8.2.2",
      title: "trailers may be announced",
      send: asked([...base, ["te", "trailers"]]),
      expect: answersOne,
    },
    {
      section: "8.3",
      title: "an unknown pseudo-header resets the request",
      send: asked([...base, [":test", "ok"]]),
      expect: refused,
    },
    {
      section: "8.3",
      title: "a pseudo-header of answers resets the request",
      send: asked([...base, [":status", "200"]]),
      expect: refused,
    },
    {
      section: "8.3",
      title: "a pseudo-header among the trailers resets the request",
      send: [opened, headers(1, [[":method", "GET"]], { isEnd: true })],
      expect: refused,
    },
    {
      section: "8.3",
      title: "a pseudo-header after a header resets the request",
      send: asked([...without(":path"), ["x-test", "ok"], [":path", "/"]]),
      expect: refused,
    },
    {
      section: "8.3.1",
      title: "an empty path resets the request",
      send: asked([...without(":path"), [":path", ""]]),
      expect: refused,
    },
    ...[":method", ":scheme", ":path"].flatMap((name): Case[] => [
      {
        section: "8.3.1",
        title: `a request without ${name} is reset`,
        send: asked(without(name)),
        expect: refused,
      },
      {
        section: "8.3.1",
        title: `a request with ${name} twice is reset`,
        send: asked([base.find(([each]) => each === name) as [string, string], ...base]),
        expect: refused,
      },
    ]),
    {
      section: "8.1.1",
      title: "a body that is longer than announced resets the request",
      send: posted("1", "four"),
      expect: refused,
    },
    {
      section: "8.1.1",
      title: "a body that is shorter than announced resets the request",
      send: posted("5", "four"),
      expect: refused,
    },
    {
      section: "8.1.1",
      title: "a body in parts that is not as long as announced resets the request",
      send: posted("1", "te", "st"),
      expect: refused,
    },
    {
      section: "8.1.1",
      title: "a body that is as long as announced is taken",
      send: posted("4", "te", "st"),
      expect: answersOne,
    },
  ]);
});

const coded = (...bytes: readonly (number | string)[]) =>
  Buffer.concat(
    bytes.map((each) =>
      typeof each === "number" ? Buffer.from([each]) : Buffer.from(each, "hex"),
    ),
  );
const text = (value: string) => coded(value.length, Buffer.from(value).toString("hex"));
const request = (...parts: readonly Buffer[]) => [
  frame({
    type: 1,
    flags: flag.endHeaders | flag.endStream,
    streamId: 1,
    payload: Buffer.concat([...parts]),
  }),
];
/** GET, https, / by index. */
const numbered = coded(0x82, 0x87, 0x84);
/**
 * `custom-key` and `custom-value` in the Huffman code (RFC 7541, C.4.3); 58 is the index of
 * `user-agent`.
 */
const huffmanKey = coded("8825a849e95ba97d7f");
const huffmanValue = coded("8925a849e95bb8e8b4bf");
const forms: readonly [title: string, bits: number, prefixMax: number][] = [
  ["that is to be kept", 0x40, 63],
  ["that is not to be kept", 0x00, 15],
  ["that is never to be kept", 0x10, 15],
];

describe("header blocks", () => {
  cases([
    {
      section: "RFC 7541, 6.1",
      title: "a header may come by its number",
      send: request(numbered),
      expect: answersOne,
    },
    ...forms.flatMap(([form, bits, prefixMax]): Case[] => {
      const named = 58 < prefixMax ? coded(bits | 58) : coded(bits | prefixMax, 58 - prefixMax);
      const of = (title: string, ...parts: Buffer[]): Case => ({
        section: "RFC 7541, 6.2",
        title: `a header ${form} may come ${title}`,
        send: request(numbered, ...parts),
        expect: answersOne,
      });
      return [
        of("with the number of its name", named, text("custom-value")),
        of("with the number of its name, in Huffman's code", named, huffmanValue),
        of("with a new name", coded(bits), text("custom-key"), text("custom-value")),
        of("with a new name, in Huffman's code", coded(bits), huffmanKey, huffmanValue),
      ];
    }),
    {
      section: "RFC 7541, 6.3",
      title: "a table size may come first",
      send: request(coded(0x3f, 0x61), numbered),
      expect: answersOne,
    },
    {
      section: "RFC 7541, 6.3",
      title: "two table sizes may come first",
      send: request(coded(0x20, 0x3f, 0x61), numbered),
      expect: answersOne,
    },
    {
      section: "RFC 7541, 2.3.3",
      title: "a number beyond both tables ends the connection",
      send: request(numbered, coded(0xff, 0x00)),
      expect: { ends: compressionError },
    },
    {
      section: "RFC 7541, 2.3.3",
      title: "the number of a name beyond both tables ends the connection",
      send: request(numbered, coded(0x7f, 0x00), text("x")),
      expect: { ends: compressionError },
    },
    {
      section: "RFC 7541, 4.2",
      title: "a table size after headers ends the connection",
      send: request(numbered, coded(0x20)),
      expect: { ends: compressionError },
    },
    {
      section: "RFC 7541, 5.1",
      title: "a number that does not end ends the connection",
      send: request(numbered, coded("ffffffffffffffffff")),
      expect: { ends: compressionError },
    },
    {
      section: "RFC 7541, 5.2",
      title: "more than seven bits of padding end the connection",
      send: request(numbered, coded(0x00), text("x-test"), coded("89a8eb10649cbfffffff")),
      expect: { ends: compressionError },
    },
    {
      section: "RFC 7541, 5.2",
      title: "padding with zeros ends the connection",
      send: request(numbered, coded(0x00), text("x-test"), coded("8125a8".slice(0, 2), "00")),
      expect: { ends: compressionError },
    },
    {
      section: "RFC 7541, 5.2",
      title: "the end-of-string symbol ends the connection",
      send: request(numbered, coded(0x00), text("x-test"), coded("84fffffffc")),
      expect: { ends: compressionError },
    },
    {
      section: "RFC 7541, 5.2",
      title: "a text beyond the end of its block ends the connection",
      send: request(numbered, coded(0x00, 0x20)),
      expect: { ends: compressionError },
    },
    {
      section: "RFC 7541, 6.1",
      title: "the number zero ends the connection",
      send: request(numbered, coded(0x80)),
      expect: { ends: compressionError },
    },
    {
      section: "RFC 7541, 6.3",
      title: "a table size beyond the announced one ends the connection",
      send: request(coded(0x3f, 0xe2, 0x1f), numbered),
      expect: { ends: compressionError },
    },
    {
      section: "RFC 9113, 4.3",
      title: "the tables of both sides stay the same over a refused request",
      send: [
        headers(1, [["x", "y"]], { isEnd: true }),
        frame({ type: 1, flags: 5, streamId: 3, payload: block(base) }),
      ],
      expect: refused,
    },
  ]);
});
