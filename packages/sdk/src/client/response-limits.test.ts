/**
 * An untrusted server: its responses are bounded, and long responses yield to the event loop while
 * they are read.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sleep } from "@kcp-ts/machinery/base";
import { bounds } from "@kcp-ts/machinery/bounds";
import { FakeClock } from "@kcp-ts/testkit";
import { pods } from "../kinds/index.ts";
import { Client } from "./client.ts";
import { responseBody } from "./response-body.ts";
import { type ResponseLimits, untrustedServerLimits } from "./response-limits.ts";
import type { Transport, TransportRequest } from "./transport.ts";

type Answer = (request: TransportRequest) => { status?: number; chunks: Iterable<string> };

/** How many bytes of the server's response were read. */
function hostile(
  answer: Answer,
  responseLimits: ResponseLimits | undefined = untrustedServerLimits,
) {
  const sent = { bytes: 0, requests: 0 };
  const transport: Transport = {
    async send(request) {
      sent.requests++;
      const { status = 200, chunks } = answer(request);
      const body = responseBody(
        (async function* () {
          for (const chunk of chunks) {
            sent.bytes += chunk.length;
            yield new TextEncoder().encode(chunk);
          }
        })(),
      );
      return { status, headers: {}, body };
    },
    close: async () => {},
  };
  return { client: new Client({ transport, responseLimits, retriesMax: 0 }), sent };
}

function* forever(first: string, chunk: string): Generator<string> {
  yield first;
  for (;;) yield chunk;
}

const { bytesMax, valuesMax, membersMax, depthMax } = bounds.clusterAnswer;
const filler = "x".repeat(64 << 10);

async function turnsOf(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work;
  isOver = true;
  return turns;
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe("a bounded client", () => {
  it("gives up on a response without end, at its limit", async () => {
    const { client, sent } = hostile(() => ({ chunks: forever('{"a":"', filler) }));
    const longer = new RegExp(`longer than ${bytesMax} bytes`);
    await assert.rejects(client.json({ method: "GET", path: "/version" }), longer);
    assert.ok(sent.bytes < bytesMax + (1 << 20), `${sent.bytes} bytes`);
  });

  const tooMuch: Readonly<Record<string, readonly [text: string, words: string]>> = {
    values: [`[${"0,".repeat(valuesMax)}0]`, `limit is ${valuesMax} values`],
    objects: [`[${"{},".repeat(valuesMax)}{}]`, `limit is ${valuesMax} values`],
    levels: [
      `${"[".repeat(depthMax + 1)}${"]".repeat(depthMax + 1)}`,
      `limit is ${depthMax} levels`,
    ],
    members: [
      `{${Array.from({ length: membersMax + 1 }, (_, i) => `"k${i}":1`).join()}}`,
      `limit is ${membersMax} members`,
    ],
  };
  for (const [title, [text, words]] of Object.entries(tooMuch))
    it(`refuses more ${title} than an answer may have, before they are made`, async () => {
      const { client } = hostile(() => ({ chunks: [text] }));
      await assert.rejects(client.json({ method: "GET", path: "/apis" }), new RegExp(words));
    });

  it("reads a long response in many turns of the event loop, with the correct result", async () => {
    const value = { list: Array.from({ length: valuesMax / 4 }, (_, i) => ({ name: `n${i}`, i })) };
    const { client } = hostile(() => ({ chunks: [JSON.stringify(value)] }));
    let read: unknown;
    const turns = await turnsOf(
      client.json({ method: "GET", path: "/openapi/v2" }).then((one) => {
        read = one;
      }),
    );
    assert.deepEqual(read, value);
    assert.ok(turns > 5, `${turns} turns`);
  });

  it("does not fully read an error response that is longer than any Status", async () => {
    const { client, sent } = hostile(() => ({
      status: 500,
      chunks: forever('{"kind":"Status",', filler),
    }));
    await assert.rejects(client.json({ method: "GET", path: "/version" }), { code: 500 });
    assert.ok(sent.bytes < 2 << 20, `${sent.bytes} bytes`);
  });

  it("treats an error response with very many causes as a response that is not a Status", async () => {
    const status = { kind: "Status", message: "no", details: { causes: Array(50_000).fill({}) } };
    const { client } = hostile(() => ({ status: 403, chunks: [JSON.stringify(status)] }));
    await assert.rejects(client.json({ method: "GET", path: "/version" }), {
      code: 403,
      message: /^the server answered 403: /,
    });
  });
});

describe("a list of a bounded client", () => {
  const pod = (name: string, more: object = {}) => ({
    kind: "Pod",
    apiVersion: "v1",
    metadata: { name, namespace: "default" },
    ...more,
  });
  const head = '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[';

  it("equals the server's list, complete, in pages and in batches", async () => {
    const items = [pod("a"), pod("b", { spec: { big: "x".repeat(100_000) } }), pod("c")];
    const chunks = [`${head}${items.map((one) => JSON.stringify(one)).join()}]}`];
    const resource = hostile(() => ({ chunks })).client.resource(pods);
    assert.deepEqual((await resource.list()).items, items);
    assert.equal((await resource.list()).metadata.resourceVersion, "1");
    assert.deepEqual((await all(resource.batches())).flat(), items);
    assert.deepEqual(await all(resource.items()), items);
    assert.deepEqual([...(await resource.lazyList()).items], items);
  });

  const endless: Readonly<
    Record<string, readonly [first: string, chunk: string, bytesMax: number]>
  > = {
    "one item": [`${head}{"a":"`, filler, 5 << 20],
    "what stands before the items": ['{"a":"', filler, 17 << 20],
    "what stands behind the items": [`${head}],"a":"`, filler, 17 << 20],
    "a page of small items": [head, `${JSON.stringify(pod("a", { a: filler }))},`, 66 << 20],
  };
  for (const [title, [first, chunk, bytesMax]] of Object.entries(endless))
    it(`ends at its bound when ${title} does not end`, async () => {
      const { client, sent } = hostile(() => ({ chunks: forever(first, chunk) }));
      await assert.rejects(all(client.resource(pods).batches()), /limit is/);
      assert.ok(sent.bytes < bytesMax, `${sent.bytes} bytes`);
    });

  it("rejects an item with more values than an object may have", async () => {
    const chunks = [`${head}{"l":[${"0,".repeat(200_000)}0]}]}`];
    const { client } = hostile(() => ({ chunks }));
    await assert.rejects(all(client.resource(pods).batches()), /object: limit is 100000 values/);
  });

  it("rejects list metadata with more values than a list may have", async () => {
    const chunks = [`{"l":[${"0,".repeat(50_000)}0],"items":[{"metadata":{}}]}`];
    const { client } = hostile(() => ({ chunks }));
    await assert.rejects(all(client.resource(pods).batches()), /head: limit is 10000 values/);
  });

  it("fails when there is always another page", async () => {
    const answers = { ...untrustedServerLimits, itemsMax: 1000 };
    const items = Array.from({ length: 100 }, (_, i) => pod(`p${i}`));
    const page = JSON.stringify({ kind: "PodList", metadata: { continue: "more" }, items });
    const { client, sent } = hostile(() => ({ chunks: [page] }), answers);
    await assert.rejects(all(client.resource(pods).batches()), /limit is 1000 objects/);
    assert.equal(sent.requests, 11);
    await assert.rejects(all(client.resource(pods).pages()), /limit is 1000 objects/);
  });
});

describe("a watch of a bounded client", () => {
  const event = (more: object) =>
    `${JSON.stringify({ type: "ADDED", object: { metadata: { name: "a" }, ...more } })}\n`;

  it("delivers events, also long ones", async () => {
    const long = { spec: { list: Array.from({ length: 20_000 }, (_, i) => `n${i}`) } };
    const { client } = hostile(() => ({ chunks: [event({}), event(long)] }));
    const events = await all(client.resource(pods).watch());
    assert.deepEqual(
      events.map(({ object }) => object),
      [{ metadata: { name: "a" } }, { metadata: { name: "a" }, ...long }],
    );
  });

  it("fails at an event without end, and at one with more values than an object may have", async () => {
    const { client, sent } = hostile(() => ({ chunks: forever('{"type":"', filler) }));
    await assert.rejects(all(client.resource(pods).watch()), /longer than 4195328 bytes/);
    assert.ok(sent.bytes < 5 << 20, `${sent.bytes} bytes`);
    const many = hostile(() => ({ chunks: [event({ l: Array(200_000).fill(0) })] }));
    await assert.rejects(all(many.client.resource(pods).watch()), /limit is 100010 values/);
  });
});

describe("a response that arrives byte by byte", () => {
  /** One byte a second, for ever, until the client gives up. */
  function dripping(first: string) {
    const clock = new FakeClock();
    const sent = { bytes: 0, isGivenUp: false };
    const transport: Transport = {
      async send({ signal }) {
        signal?.addEventListener("abort", () => {
          sent.isGivenUp = true;
        });
        const drops = async function* () {
          yield new TextEncoder().encode(first);
          while (signal?.aborted !== true) {
            await sleep(clock, 1000);
            sent.bytes++;
            yield new TextEncoder().encode(" ");
          }
          throw signal.reason;
        };
        return { status: 200, headers: {}, body: responseBody(drops()) };
      },
      close: async () => {},
    };
    const requestTimeoutMs = 30_000;
    const responseLimits = untrustedServerLimits;
    const client = new Client({
      transport,
      clock,
      responseLimits,
      retriesMax: 0,
      requestTimeoutMs,
    });
    return { client, clock, sent };
  }

  const reads = {
    "what is read whole": (client: Client) => client.json({ method: "GET", path: "/version" }),
    "a list": (client: Client) => all(client.resource(pods).batches()),
  };
  for (const [title, read] of Object.entries(reads))
    it(`has the time of one request when it is ${title}`, async () => {
      const { client, clock, sent } = dripping('{"items":[');
      const refused = assert.rejects(read(client), /took longer than 30000 ms/);
      await clock.advanceAndFlush(60_000);
      await refused;
      assert.ok(sent.isGivenUp);
      assert.ok(sent.bytes <= 31, `${sent.bytes} bytes`);
    });
});
