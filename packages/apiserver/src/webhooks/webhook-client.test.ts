/** Goal: no logical cluster exhausts the resources that others need to call their webhooks. */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:net";
import { after, before, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { bounds } from "@kcp-ts/machinery/bounds";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock } from "../testing/index.ts";
import { callsPerClusterMax, WebhookClient } from "./webhook-client.ts";

const answer = bounds.admissionAnswer;

let silent: Server;
before(async () => {
  silent = createServer((socket) => socket.on("error", () => {}));
  await new Promise<void>((resolve) => silent.listen(0, "localhost", resolve));
});
after(() => silent.close());

/** Time passes in every turn: the body of a call is written in a later turn where many begin. */
async function whileTimePasses<Result>(clock: FakeClock, pending: Promise<Result>) {
  let isSettled = false;
  const settled = pending.finally(() => {
    isSettled = true;
  });
  while (!isSettled) {
    clock.advance(1000);
    await setImmediate();
  }
  return settled;
}

describe("a webhook client", () => {
  it("limits the calls in flight per logical cluster, and rejects the next one", async () => {
    const clock = new FakeClock();
    const client = new WebhookClient({ clock });
    const { port } = silent.address() as { port: number };
    const config = { url: `https://localhost:${port}/`, service: undefined, caBundle: "" };
    const call = (cluster: string) => {
      const pending = client.post(
        config,
        {},
        { answer, cluster: cluster as ClusterName, timeoutMs: 1000 },
      );
      return pending.then(
        () => "answered",
        (error: Error) => error.message,
      );
    };
    const first = Array.from({ length: callsPerClusterMax }, () => call("a"));
    assert.match(await call("a"), /64 calls of webhooks are in flight in this logical cluster$/);
    const other = call("b");
    for (const message of await whileTimePasses(clock, Promise.all([...first, other])))
      assert.match(message, /context deadline exceeded$/);
    assert.match(await whileTimePasses(clock, call("a")), /context deadline exceeded$/);
    client.close();
  });

  it("aborts a call when its request is cancelled", async () => {
    const clock = new FakeClock();
    const client = new WebhookClient({ clock });
    const { port } = silent.address() as { port: number };
    const config = { url: `https://localhost:${port}/`, service: undefined, caBundle: "" };
    const leaving = new AbortController();
    const pending = client.post(config, {}, { answer, signal: leaving.signal });
    leaving.abort();
    await assert.rejects(pending, /context canceled$/);
    assert.equal(clock.pending, 0);
    client.close();
  });
});
