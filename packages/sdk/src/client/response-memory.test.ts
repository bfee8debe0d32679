import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Client } from "./client.ts";
import type { KubernetesObject } from "./object.ts";
import { defineResource } from "./resource.ts";
import { responseBody } from "./response-body.ts";
import { untrustedServerLimits } from "./response-limits.ts";
import { approximateBytes, ExclusiveLane, type MemoryAccount } from "./response-memory.ts";

const pods = defineResource<KubernetesObject>({
  group: "",
  version: "v1",
  resource: "pods",
  kind: "Pod",
  namespaced: true,
});

class TestAccount implements MemoryAccount {
  readonly max: number;
  held = 0;
  most = 0;

  constructor(max: number) {
    this.max = max;
  }

  tryTake(bytes: number): boolean {
    if (this.held + bytes > this.max) return false;
    this.held += bytes;
    this.most = Math.max(this.most, this.held);
    return true;
  }

  release(bytes: number): void {
    this.held -= bytes;
    assert.ok(this.held >= 0);
  }
}

/** A server that sends these texts; between two of them, `between` is called. */
function serverOf(texts: Iterable<string>, bytesMax: number, between: () => void = () => {}) {
  const [buffers, objects] = [new TestAccount(bytesMax), new TestAccount(bytesMax)];
  const client = new Client({
    transport: {
      async send() {
        async function* chunks() {
          for (const text of texts) {
            yield new TextEncoder().encode(text);
            between();
          }
        }
        return { status: 200, headers: {}, body: responseBody(chunks()) };
      },
      close: async () => {},
    },
    responseLimits: { ...untrustedServerLimits, memory: { buffers, objects } },
    retriesMax: 0,
  });
  return { client, buffers, objects };
}

const filler = "x".repeat(1000);
const item = `{"metadata":{"name":"a","annotations":{"a":"${filler}"}}}`;

async function all(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of items) count++;
  return count;
}

/** Reads that buffer what a server sends, until it can be parsed. */
const reads = {
  "a document": {
    texts: ['{"a":"', filler, filler, '"}'],
    read: (client: Client) => client.json({ method: "GET", path: "/version" }),
  },
  "a list": {
    texts: ['{"items":[{"metadata":{"name":"a"},"b":"', filler, filler, '"}]}'],
    read: (client: Client) => all(client.resource(pods).batches()),
  },
  "a watch": {
    texts: ['{"type":"ADDED","object":{"metadata":{"name":"', filler, filler, '"}}}\n'],
    read: (client: Client) => all(client.resource(pods).watchBatches()),
  },
} as const;

describe("long documents of servers that share a lane", () => {
  const long = `{"a":"${"x".repeat(400 << 10)}"}`;

  /** A server whose document is complete when `finish` is called. */
  function server(longDocuments: ExclusiveLane) {
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const sent: string[] = [];
    async function* chunks(text: string) {
      for (const part of [text.slice(0, 300 << 10), text.slice(300 << 10)]) {
        if (part === "") break;
        sent.push(`${part.length}`);
        yield new TextEncoder().encode(part);
      }
      await finished;
    }
    const account = new TestAccount(8 << 20);
    const memory = { buffers: account, objects: account, longDocuments };
    const client = (text: string) =>
      new Client({
        transport: {
          send: async () => ({ status: 200, headers: {}, body: responseBody(chunks(text)) }),
          close: async () => {},
        },
        responseLimits: { ...untrustedServerLimits, memory },
        retriesMax: 0,
      });
    const read = (text: string) => client(text).json({ method: "GET", path: "/openapi/v3" });
    return { read, finish, sent };
  }

  it("are read and parsed one after another, while short ones pass", async () => {
    const lane = new ExclusiveLane();
    const [first, second, third] = [server(lane), server(lane), server(lane)];
    const reading = first.read(long);
    const waiting = second.read(long);
    third.finish();
    assert.deepEqual(await third.read('{"b":1}'), { b: 1 });
    assert.equal(first.sent.length, 2);
    assert.equal(second.sent.length, 1);
    second.finish();
    first.finish();
    await reading;
    await waiting;
    assert.equal(second.sent.length, 2);
  });

  it("leave the lane when they fail", async () => {
    const lane = new ExclusiveLane();
    const broken = server(lane);
    broken.finish();
    await assert.rejects(broken.read(long.slice(0, -1)));
    const next = server(lane);
    next.finish();
    assert.ok(await next.read(long));
  });
});

describe("a client with an account of memory", () => {
  for (const [what, { texts, read }] of Object.entries(reads)) {
    it(`takes what it buffers of ${what} from the account, and gives it back`, async () => {
      const { client, buffers } = serverOf(texts, 4000);
      await read(client);
      assert.ok(buffers.most >= 2000, `${buffers.most}`);
      assert.equal(buffers.held, 0);
    });

    it(`fails when the account has no room for ${what}, and gives back what it took`, async () => {
      const { client, buffers } = serverOf(texts, 1500);
      await assert.rejects(read(client), /more memory than they may/);
      assert.equal(buffers.held, 0);
    });
  }

  it("takes the objects of a list that it returns from the account while it reads them", async () => {
    const items = Array.from({ length: 20 }, () => item).join();
    const list = (bytesMax: number) => {
      const server = serverOf([`{"items":[${items}]}`], bytesMax);
      return { ...server, listed: server.client.resource(pods).list() };
    };
    const enough = list(100_000);
    assert.equal((await enough.listed).items.length, 20);
    assert.ok(enough.objects.most > 20 * 1000);
    assert.equal(enough.objects.held, 0);
    const little = list(10_000);
    await assert.rejects(little.listed, /more memory than they may/);
    assert.equal(little.objects.held, 0);
  });

  it("yields to the event loop while a watch always has more events", async () => {
    const event = '{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n';
    let isOver = false;
    function* events() {
      while (!isOver) yield event.repeat(100);
    }
    const { client } = serverOf(events(), 1 << 20);
    // A loop of promises that never yields would keep this from being called.
    setImmediate(() => {
      isOver = true;
    });
    let count = 0;
    for await (const batch of client.resource(pods).watchBatches()) count += batch.length;
    assert.ok(count > 0);
  });

  it("gives back what an abandoned watch has buffered", async () => {
    const event = '{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n';
    const { client, buffers } = serverOf([`${event}${filler}`, filler, filler], 4000);
    for await (const _ of client.resource(pods).watchBatches()) break;
    assert.equal(buffers.held, 0);
  });
});

it("the memory of a value follows its texts, members and items", () => {
  assert.ok(approximateBytes(JSON.parse(item)) > 1000);
  assert.ok(approximateBytes(Array(1000).fill(0)) > 1000);
  assert.ok(approximateBytes({ [filler]: null }) > 1000);
});
