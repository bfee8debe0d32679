/**
 * Goal: a status of a cluster is written to the control plane once, whichever fields the control
 * plane keeps, and whichever client overwrites it.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { raw } from "@kcp-ts/machinery/shape";
import { eventually, FakeClock } from "@kcp-ts/testkit";
import { widgets } from "./faulty-server.ts";
import { SyncerFixture, type SyncerFixtureOptions } from "./syncer-fixture.ts";

/** More than any of these tests needs, and an end to what would have none. */
const writesMax = 50;

async function startPair(
  t: TestContext,
  options: SyncerFixtureOptions = {},
): Promise<SyncerFixture> {
  const pair = await SyncerFixture.start(t, { ...options, downStatus: raw });
  pair.up.writesMax = writesMax;
  return pair;
}

/** One that is sent down, and one that was born in the cluster and is copied up. */
async function twoWidgets(fixture: SyncerFixture): Promise<(status: JsonObject) => Promise<void>> {
  await fixture.widget("sent");
  const { namespace = "" } = (await fixture.copied("sent")).metadata;
  const down = fixture.down.client.resource(widgets);
  await down.create({ metadata: { name: "born", namespace }, spec: { color: "pink" } });
  await eventually(async () => assert.ok((await fixture.original("born--east")) !== undefined));
  return async (status) => {
    for (const name of ["sent", "born"])
      await down.patchStatus(
        { namespace, name },
        { type: "json", operations: [{ op: "add", path: "/status", value: status }] },
      );
  };
}

const bothWays = {
  "widgets.example.com": { direction: "Both", upsyncedNames: "BySyncTarget" },
} as const;

describe("a status that is owned downstream", () => {
  const told: readonly (readonly [string, JsonObject])[] = [
    ["members that are null", { phase: "Ready", probedAt: null, list: [{ at: null }] }],
    ["members that its own schema has not", { phase: "Ready", terminating: 0 }],
  ];
  for (const [what, status] of told)
    it(`is written once to a control plane that drops ${what}`, async (t) => {
      const pair = await startPair(t, { policies: bothWays });
      const say = await twoWidgets(pair);
      await pair.untilQuiet();
      const before = pair.up.writes.length;
      await say(status);
      for (const name of ["sent", "born--east"])
        await eventually(async () => {
          assert.deepEqual((await pair.original(name))?.["status"], { phase: "Ready" });
        });
      await pair.untilQuiet();
      assert.equal(pair.up.writes.length - before, 2, pair.up.writes.join("\n"));
      assert.deepEqual(pair.errors, []);
    });

  it("is not written again after a restart for members that are null", async (t) => {
    const pair = await startPair(t, { policies: bothWays });
    const say = await twoWidgets(pair);
    await say({ phase: "Ready", probedAt: null });
    for (const name of ["sent", "born--east"])
      await eventually(async () => {
        assert.deepEqual((await pair.original(name))?.["status"], { phase: "Ready" });
      });
    await pair.untilQuiet();
    const before = pair.up.writes.length;
    await pair.stopSyncer();
    await pair.startSyncer();
    await pair.syncer.synced(AbortSignal.timeout(60_000));
    await pair.untilQuiet();
    assert.deepEqual(pair.up.writes.slice(before), []);
  });

  it("is written with growing backoff to a control plane where another client keeps overwriting it", async (t) => {
    const clock = new FakeClock();
    const pair = await startPair(t, { policies: bothWays });
    const say = await twoWidgets(pair);
    await pair.stopSyncer();
    await pair.startSyncer({ clock });
    await eventually(async () => {
      await clock.advanceAndFlush(1000);
      const { pending, delayed, kinds } = pair.syncer.health;
      assert.ok([...kinds.values()].every(({ hasSynced }) => hasSynced));
      assert.deepEqual({ pending, delayed }, { pending: 0, delayed: 0 });
    });
    const up = pair.in("root").resource(widgets);
    // After each write of the syncer, another client overwrites it.
    pair.up.onAnswer = ({ method, target, status }) => {
      if (method !== "PATCH" || !target.includes("/status") || status !== 200) return;
      const name = target.includes("born--east") ? "born--east" : "sent";
      const patch = { status: { phase: "Mine" } };
      up.patchStatus({ namespace: "shop", name }, { type: "merge", patch }).catch(fail);
    };
    const failures: unknown[] = [];
    const fail = (error: unknown) => void failures.push(error);
    const before = pair.up.writes.length;
    await say({ phase: "Ready" });
    // Written, corrected at once, and then only after a backoff, for each of the two.
    const waits = (writes: number) =>
      eventually(() => {
        assert.equal(pair.up.writes.length - before, writes, pair.up.writes.join("\n"));
        assert.equal(pair.syncer.health.delayed, 2);
      });
    await waits(4);
    await clock.advanceAndFlush(1000);
    await waits(6);
    await clock.advanceAndFlush(1000);
    await waits(6);
    await clock.advanceAndFlush(1000);
    await waits(8);
    // He gives up: the cluster's word is shown again.
    pair.up.onAnswer = undefined;
    await clock.advanceAndFlush(4000);
    for (const name of ["sent", "born--east"])
      await eventually(async () => {
        assert.deepEqual((await pair.original(name))?.["status"], { phase: "Ready" });
      });
    assert.deepEqual(failures, []);
  });
});
