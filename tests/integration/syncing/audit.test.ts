/**
 * Goal: an event that a watch loses without a word is made up for. Method: a clock that stands
 * still, and a proxy that drops lines out of a watch that goes on.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { cacheVerifyPeriodMs, startSyncer } from "@kcp-ts/multicluster";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { advanceUntil } from "./advance-until.ts";
import { FaultyServer, namespaces, widgets } from "./faulty-server.ts";

const labels = { "workload.kcp.io/cluster": "east" };
const at = (name: string) => ({ name, namespace: "shop" });

async function stage() {
  const clock = new FakeClock();
  const random = new SeededRandom(1);
  const [up, down] = [
    await FaultyServer.start(clock, random),
    await FaultyServer.start(clock, random),
  ];
  const client = up.client.inCluster("root");
  await client.resource(namespaces).create({ metadata: { name: "shop" } });
  const errors: string[] = [];
  let isLosing = false;
  for (const side of [up, down]) side.injectFault(() => ({ lose: () => isLosing }));
  const syncer = startSyncer({
    upstream: up.syncerClient,
    scope: "all-clusters",
    serves: () => true,
    downstream: down.syncerClient,
    target: { name: "east", cluster: "root", uid: "east" },
    resources: [{ resource: widgets, hasStatus: true }],
    clock,
    random,
    onError: (error) => errors.push(String(error)),
  });
  await clock.advanceAndFlush(5000);
  const lose = async (change: () => Promise<unknown>) => {
    isLosing = true;
    await change();
    await clock.advanceAndFlush(60_000);
    isLosing = false;
    // Watches begin anew meanwhile, from versions behind what was lost.
    await clock.advanceAndFlush(60_000);
  };
  const audited = () => clock.advanceAndFlush(1.5 * cacheVerifyPeriodMs + 60_000);
  const copies = async () => (await down.client.resource(widgets).list()).items;
  const end = async () => {
    await advanceUntil(clock, syncer.stop());
    await advanceUntil(clock, Promise.all([up.close(), down.close()]));
  };
  return { clock, up, down, widgets: client.resource(widgets), lose, audited, copies, end, errors };
}

const red = { color: "red" };
const merge = (patch: JsonObject) => ({ type: "merge", patch }) as const;

describe("an event that a watch loses", () => {
  it("of a new object, of a change and of a deletion upstream is made up for", async () => {
    const { widgets: originals, lose, audited, copies, end, errors } = await stage();
    await lose(() => originals.create({ metadata: { ...at("a"), labels }, spec: red }));
    assert.deepEqual(await copies(), [], "it was lost");
    await audited();
    const colors = async () => (await copies()).map((one) => (one["spec"] as JsonObject)["color"]);
    assert.deepEqual(await colors(), ["red"]);
    assert.match(errors.join("\n"), /the watch of widgets has missed 1 changes, shop\/a for one/);
    await lose(() => originals.patch(at("a"), merge({ spec: { color: "blue" } })));
    assert.deepEqual(await colors(), ["red"], "it was lost");
    await audited();
    assert.deepEqual(await colors(), ["blue"]);
    await lose(() => originals.delete(at("a")));
    assert.equal((await copies()).length, 1, "it was lost");
    await audited();
    assert.deepEqual(await copies(), []);
    assert.equal(await originals.find(at("a")), undefined);
    await end();
  });

  it("of a status and of a deletion in the cluster is made up for", async () => {
    const { down, widgets: originals, lose, audited, copies, end } = await stage();
    await originals.create({ metadata: { ...at("a"), labels }, spec: red });
    await lose(async () => {});
    const [copy] = await copies();
    assert.ok(copy !== undefined);
    const place = { name: "a", namespace: copy.metadata.namespace ?? "" };
    const status = { phase: "Ready" };
    await lose(() => down.client.resource(widgets).patchStatus(place, merge({ status })));
    assert.equal((await originals.get(at("a")))["status"], undefined, "it was lost");
    await audited();
    assert.deepEqual((await originals.get(at("a")))["status"], status);
    await lose(() => down.client.resource(widgets).delete(place));
    assert.deepEqual(await copies(), [], "it was lost");
    await audited();
    const [again] = await copies();
    assert.ok(again !== undefined && again.metadata.uid !== copy.metadata.uid);
    await end();
  });

  it("is what an audit asks for, and an audit that finds nothing writes nothing", async () => {
    const { up, down, clock, widgets: originals, audited, end, errors } = await stage();
    for (let n = 0; n < 30; n++) {
      await originals.create({ metadata: { ...at(`w${n}`), labels }, spec: red });
    }
    await clock.advanceAndFlush(60_000);
    const before = [up.writes.length, down.writes.length];
    await audited();
    await audited();
    assert.deepEqual([up.writes.length, down.writes.length], before);
    assert.deepEqual(errors, []);
    await end();
  });
});
