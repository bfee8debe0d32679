import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { responseBody, type Transport } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import {
  pacedTransport,
  type ResponseRate,
  ResponseRateLimiter,
  responseBytes,
} from "./paced-transport.ts";

const event = new TextEncoder().encode(`{"a":"${"x".repeat(1 << 20)}"}\n`);

/** A cluster that sends events for ever, and the bytes that were read of them. */
function endless() {
  const sent = { bytes: 0 };
  const transport: Transport = {
    async send() {
      async function* body() {
        for (;;) {
          sent.bytes += event.length;
          yield event;
        }
      }
      return { status: 200, headers: {}, body: responseBody(body()) };
    },
    close: async () => {},
  };
  return { sent, transport };
}

/** The bytes that were read of all clusters in the burst, and in ten seconds after it. */
async function readFor10Seconds(
  clock: FakeClock,
  clusters: readonly ReturnType<typeof endless>[],
  limitersOf: () => readonly ResponseRateLimiter[],
): Promise<{ readonly burst: number; readonly after: number }> {
  const stop = new AbortController();
  const reading = clusters.map(async ({ transport }) => {
    const paced = pacedTransport(transport, limitersOf());
    const path = "/api/v1/pods?watch=true";
    const { body } = await paced.send({ method: "GET", path, headers: {} });
    for await (const _ of body) if (stop.signal.aborted) return;
  });
  const read = () => clusters.reduce((sum, { sent }) => sum + sent.bytes, 0);
  await clock.advanceAndFlush(0);
  const burst = read();
  for (let quarter = 0; quarter < 40; quarter++) await clock.advanceAndFlush(250);
  const after = read() - burst;
  stop.abort();
  for (let turn = 0; turn < 40; turn++) await clock.advanceAndFlush(1000);
  await Promise.all(reading);
  return { burst, after };
}

function assertPaced(
  { burst, after }: { readonly burst: number; readonly after: number },
  rate: ResponseRate,
  slack: number,
): void {
  assert.ok(burst >= rate.burst && burst <= rate.burst + slack, `${burst}`);
  assert.ok(after <= 10 * rate.perSecond + slack, `${after}`);
}

describe("responses of physical clusters", () => {
  it("of one cluster are read at its rate", async () => {
    const clock = new FakeClock();
    const read = await readFor10Seconds(clock, [endless()], () => [
      new ResponseRateLimiter(clock, responseBytes.ofCluster),
    ]);
    assertPaced(read, responseBytes.ofCluster, 2 * event.length);
  });

  it("of many clusters of a tenant are read at the tenant's rate, in sum", async () => {
    const clock = new FakeClock();
    const ofTenant = new ResponseRateLimiter(clock, responseBytes.ofTenant);
    const clusters = Array.from({ length: 10 }, endless);
    const read = await readFor10Seconds(clock, clusters, () => [
      new ResponseRateLimiter(clock, responseBytes.ofCluster),
      ofTenant,
    ]);
    assertPaced(read, responseBytes.ofTenant, 2 * clusters.length * event.length);
  });
});
