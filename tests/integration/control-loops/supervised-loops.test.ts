/**
 * A control loop that ends in the middle of its work is started again, and /readyz names it
 * meanwhile.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { AdmissionPlugin, ServerLog } from "@kcp-ts/apiserver";
import { untilAborted } from "@kcp-ts/machinery/base";
import { statusError } from "@kcp-ts/machinery/status";
import { configMaps } from "@kcp-ts/sdk/kinds";
import {
  startTestControlPlane,
  type TestControlPlane,
  type TestControlPlaneOptions,
} from "@kcp-ts/testing/internal";
import type { FakeClock } from "@kcp-ts/testkit";

const silent: ServerLog = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isDebugEnabled: false,
};

type Plane = TestControlPlane<FakeClock>;

async function started(t: TestContext, options: TestControlPlaneOptions): Promise<Plane> {
  const plane = await startTestControlPlane({ ...options, clock: "fake" });
  t.after(() => plane.close());
  return plane;
}

async function get({ client }: Plane, path: string): Promise<{ status: number; text: string }> {
  const { signal } = new AbortController();
  const response = await client.transport.send({ method: "GET", path, headers: {}, signal });
  return { status: response.status, text: await response.body.text() };
}

/** While time goes on. */
async function until(plane: Plane, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let step = 0; step < 1000; step++) {
    if (await isSo()) return;
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    plane.clock.advance(50);
  }
  throw new Error("it never came to pass");
}

describe("a control loop that fails", () => {
  it("is named by /readyz, counted, logged, and started again: garbage is collected after all", async (t) => {
    const errors: object[] = [];
    let isRefused = true;
    let isLogBroken = true;
    const refusal: AdmissionPlugin = {
      name: "Refusal",
      validate({ operation, name, group, resource }) {
        if (operation === "DELETE" && name === "dependent" && isRefused)
          throw statusError.forbidden({ group, resource }, name, "it is not time yet");
      },
    };
    const plane = await started(t, {
      admissionPlugins: [refusal],
      log: {
        ...silent,
        warn: (fields) => {
          if (!isLogBroken || !("controller" in fields)) return;
          isLogBroken = fields.controller !== "garbage-collector";
          if (!isLogBroken) throw new Error("the log cannot be written");
        },
        error: (fields, message) => errors.push({ ...fields, message }),
      },
    });
    const objects = plane.client.resource(configMaps);
    const namespace = "default";
    const owner = await objects.create({ metadata: { namespace, name: "owner" } });
    const { uid = "" } = owner.metadata;
    const reference = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid };
    await objects.create({
      metadata: { namespace, name: "dependent", ownerReferences: [reference] },
    });
    // The loops begin when discovery has said which kinds are served.
    await until(plane, async () => {
      const before = await get(plane, "/readyz?verbose");
      assert.equal(before.status, 200);
      return /^\[\+\]loop\/garbage-collector ok$/m.test(before.text);
    });

    await objects.delete({ namespace, name: "owner" });
    await until(plane, () => errors.length > 0);
    // Time stands still, and the loop is down.
    const down = await get(plane, "/readyz");
    assert.equal(down.status, 500);
    assert.match(down.text, /^\[-\]loop\/garbage-collector failed: reason withheld$/m);
    assert.match(down.text, /^\[\+\]loop\/namespace ok$/m);
    assert.equal((await get(plane, "/livez")).status, 200);
    assert.equal((await get(plane, "/readyz/loop/garbage-collector")).status, 500);
    const [error] = errors as { err: Error; loop: string; message: string }[];
    assert.equal(errors.length, 1);
    assert.equal(error?.loop, "garbage-collector");
    assert.equal(error?.err.message, "the log cannot be written");
    assert.equal(error?.message, "a control loop failed and is started again");
    const { text } = await get(plane, "/metrics");
    assert.match(text, /^kcp_control_loop_restarts_total\{loop="garbage-collector"\} 1$/m);

    isRefused = false;
    await until(plane, async () => {
      const { items } = await objects.list({ namespace });
      return !items.some(({ metadata }) => metadata.name === "dependent");
    });
    const after = await get(plane, "/readyz?verbose");
    assert.equal(after.status, 200);
    assert.match(after.text, /^\[\+\]loop\/garbage-collector ok$/m);
    assert.equal(errors.length, 1);
  });

  it("is started again when it is an embedder's, and when it only ends", async (t) => {
    let starts = 0;
    const plane = await started(t, {
      log: silent,
      controllers: [
        async function greeter({ signal }) {
          if (++starts > 1) await untilAborted(signal);
        },
      ],
    });
    await until(plane, () => starts > 0);
    const { status, text } = await get(plane, "/readyz");
    assert.deepEqual([starts, status], [1, 500]);
    assert.match(text, /^\[-\]loop\/greeter failed: reason withheld$/m);
    await until(plane, () => starts === 2);
    assert.equal((await get(plane, "/readyz")).status, 200);
  });
});
