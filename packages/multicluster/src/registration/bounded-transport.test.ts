import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { bounds } from "@kcp-ts/machinery/bounds";
import type { Transport } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import { boundedTransport, responseBytesPerSecond } from "./bounded-transport.ts";

const encoder = new TextEncoder();

/** A transport whose response has these chunks, and the number of chunks that were read. */
function saying(parts: Iterable<Uint8Array | string>, status = 200) {
  const told = { bytes: 0, hasEnded: false };
  const transport: Transport = {
    async send() {
      async function* body() {
        try {
          for (const part of parts) {
            const bytes = typeof part === "string" ? encoder.encode(part) : part;
            told.bytes += bytes.length;
            yield bytes;
          }
        } finally {
          told.hasEnded = true;
        }
      }
      const text = () => Promise.reject(new Error("read past the bound"));
      return { status, headers: {}, body: { text, [Symbol.asyncIterator]: body } };
    },
    close: async () => {},
  };
  return { told, transport };
}

const ask = async (inner: Transport, path: string, clock = systemClock) =>
  (await boundedTransport(inner, { clock }).send({ method: "GET", path, headers: {} })).body;

async function drain(body: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of body) bytes += chunk.length;
  return bytes;
}

function* endless(part: string): Generator<string> {
  for (;;) yield part;
}

describe("response of a cluster", () => {
  const { clusterAnswer, clusterList, clusterObject } = bounds;
  const kilobyte = " ".repeat(1024);

  it("a response within its limit is read completely, with multi-byte characters across chunk borders", async () => {
    const bytes = encoder.encode('{"name":"größe"}');
    const { transport } = saying([bytes.subarray(0, 11), bytes.subarray(11)]);
    assert.equal(await (await ask(transport, "/version")).text(), '{"name":"größe"}');
  });

  it("a response beyond its byte limit is aborted, and no more of it is read", async () => {
    for (const path of ["/version", "/openapi/v3", "/apis", "/api/v1/nodes"]) {
      const { told, transport } = saying(endless(kilobyte.repeat(64)));
      await assert.rejects((await ask(transport, path)).text(), /limit is \d+ bytes/);
      assert.ok(told.bytes <= clusterAnswer.bytesMax + 65_536, `${told.bytes}`);
      assert.ok(told.hasEnded);
    }
  });

  it("a response beyond its limit of JSON values is aborted before any value is parsed, in any spelling", async () => {
    for (const part of ["{},", "[],", "1,", '"",', "[[]],", '{"a":1},']) {
      const { told, transport } = saying(endless(part.repeat(1000)));
      await assert.rejects(
        (await ask(transport, "/openapi/v3")).text(),
        /limit is \d+ (values|levels)/,
      );
      assert.ok(told.bytes < clusterAnswer.bytesMax, part);
    }
    // A string counts as one value.
    const { transport } = saying(['["', "{},[],".repeat(200_000), '\\",{},"]']);
    assert.equal((await (await ask(transport, "/apis")).text()).length, 1_200_010);
  });

  it("a response that is nested too deeply is aborted", async () => {
    const { transport } = saying(endless("[".repeat(100)));
    await assert.rejects((await ask(transport, "/apis")).text(), /limit is \d+ levels/);
  });

  it("an error response has a small limit", async () => {
    const { told, transport } = saying(endless(kilobyte), 500);
    await assert.rejects((await ask(transport, "/version")).text(), /error: limit is \d+ bytes/);
    assert.ok(told.bytes <= (1 << 20) + 1024);
    const watch = saying(endless(kilobyte), 410);
    await assert.rejects((await ask(watch.transport, "/api/v1/pods?watch=true")).text(), /error/);
  });

  it("a paginated list has a larger limit, beyond which it is aborted", async () => {
    const { told, transport } = saying(endless(kilobyte.repeat(64)));
    const clock = new FakeClock();
    await assert.rejects(
      drain(await ask(transport, "/api/v1/pods?limit=500", clock)),
      /limit is \d+ bytes/,
    );
    assert.ok(told.bytes > clusterAnswer.bytesMax && told.bytes <= clusterList.bytesMax + 65_536);
  });

  it("a watch continues as long as each event is within the limit", async () => {
    const event = `{"type":"ADDED","object":{"a":"${"x".repeat(1000)}"}}\n`;
    const events = Array.from({ length: 8000 }, () => event);
    const { transport } = saying(events);
    const bytes = await drain(await ask(transport, "/api/v1/pods?watch=true"));
    assert.equal(bytes, event.length * 8000);
    assert.ok(bytes > clusterObject.bytesMax);
    for (const part of [kilobyte, "[],"]) {
      const line = saying(endless(part.repeat(100)));
      const asked = drain(await ask(line.transport, "/api/v1/pods?watch=1&x=y"));
      await assert.rejects(asked, /object: limit is \d+ (bytes|values)/);
    }
  });

  it("a cluster that has sent much is read at a limited rate", async () => {
    const clock = new FakeClock();
    const event = `{"a":"${"x".repeat(1 << 20)}"}\n`;
    const { told, transport } = saying(endless(event));
    const stop = new AbortController();
    const body = await ask(transport, "/api/v1/pods?watch=true", clock);
    const reading = (async () => {
      for await (const _ of body) if (stop.signal.aborted) return;
    })();
    await clock.advanceAndFlush(0);
    const burst = told.bytes;
    assert.ok(burst <= responseBytesPerSecond.burst + 2 * event.length, `${burst}`);
    for (let second = 0; second < 40; second++) await clock.advanceAndFlush(250);
    assert.ok(
      told.bytes - burst <= 10 * responseBytesPerSecond.perSecond + 2 * event.length,
      `${told.bytes}`,
    );
    stop.abort();
    for (let turn = 0; turn < 4; turn++) await clock.advanceAndFlush(1000);
    await reading;
  });

  it("the responses of one cluster that are read at the same time share a limit", async () => {
    const { transport } = saying(endless(kilobyte));
    // The clock advances so far that no rate limit applies.
    let nowMs = 0;
    const hurried = () => {
      nowMs += 1000;
      return nowMs;
    };
    const shared = boundedTransport(
      {
        send: async (request) => {
          const { body, ...head } = await transport.send(request);
          let read = 0;
          async function* slow() {
            for await (const chunk of body) {
              // Each response stops short of its own limit, and waits.
              read += chunk.length;
              if (read > clusterAnswer.bytesMax - 2048) await new Promise(() => {});
              yield chunk;
            }
          }
          return { ...head, body: { text: body.text, [Symbol.asyncIterator]: slow } };
        },
        close: async () => {},
      },
      { clock: { ...systemClock, monotonic: hurried } },
    );
    const reads = Array.from({ length: 5 }, async () =>
      (await shared.send({ method: "GET", path: "/apis", headers: {} })).body.text(),
    );
    await assert.rejects(Promise.race(reads), /at a time/);
    for (const read of reads) read.catch(() => {});
  });
});
