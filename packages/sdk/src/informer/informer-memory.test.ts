/** Goal: an untrusted server fills the account of its tenant, and no more memory. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BytesInFlight } from "@kcp-ts/machinery/bounds";
import { rootCluster } from "@kcp-ts/machinery/names";
import {
  Client,
  defineResource,
  responseBody,
  type TransportRequest,
  untrustedServerLimits,
} from "../client/index.ts";
import { Informer } from "./informer.ts";

const widgets = defineResource({
  group: "example.com",
  version: "v1",
  resource: "widgets",
  kind: "Widget",
  namespaced: true,
});

const limits = { bytesMax: 100_000, bytesPerTenantMax: 100_000 };

/** Lists `listed` objects of 10 kB, and then adds others for ever. */
function serverOf(listed: number) {
  const accounts = [new BytesInFlight(limits), new BytesInFlight(limits)] as const;
  const [buffers, objects] = accounts.map((bytes) => ({
    tryTake: (count: number) => bytes.tryTake("tenant", count),
    release: (count: number) => bytes.release("tenant", count),
  }));
  let made = 0;
  const widget = () =>
    `{"metadata":{"name":"w${made++}","namespace":"a","uid":"u","resourceVersion":"${made}"},"text":"${"x".repeat(10_000)}"}`;
  async function* events({ signal }: TransportRequest) {
    while (signal?.aborted !== true) {
      yield new TextEncoder().encode(`{"type":"ADDED","object":${widget()}}\n`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const client = new Client({
    transport: {
      async send(request) {
        if (request.path.includes("watch=true"))
          return { status: 200, headers: {}, body: responseBody(events(request)) };
        const items = Array.from({ length: listed }, widget).join();
        const body = responseBody(`{"metadata":{"resourceVersion":"1"},"items":[${items}]}`);
        return { status: 200, headers: {}, body };
      },
      close: async () => {},
    },
    responseLimits: {
      ...untrustedServerLimits,
      memory: { buffers: buffers as never, objects: objects as never },
    },
    retriesMax: 0,
  });
  return { client, accounts };
}

describe("an informer of an untrusted server", () => {
  for (const [what, listed] of [
    ["lists too much", 30],
    ["adds objects for ever", 3],
  ] as const) {
    it(`that ${what} keeps what fits into the account, says what does not, and gives all of it back at its end`, async () => {
      const { client, accounts } = serverOf(listed);
      const stop = new AbortController();
      let refuse: (error: unknown) => void = () => {};
      const refused = new Promise<unknown>((resolve) => {
        refuse = resolve;
      });
      const informer = new Informer({
        client,
        resource: widgets,
        scope: { cluster: rootCluster },
        watchList: false,
        onError: (error) => refuse(error),
      });
      const running = informer.run(stop.signal);
      assert.match(String(await refused), /more memory than they may/);
      assert.ok(informer.store.size <= 10, `${informer.store.size} objects`);
      assert.equal(informer.hasSynced, listed < 10);
      stop.abort();
      await running;
      for (const { held } of accounts) assert.equal(held, 0);
    });
  }
});
