import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Client } from "./client.ts";
import type { KubernetesObject } from "./object.ts";
import { defineResource } from "./resource.ts";
import { responseBody } from "./response-body.ts";
import { untrustedServerLimits } from "./response-limits.ts";
import { approximateBytes, type MemoryAccount } from "./response-memory.ts";

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
