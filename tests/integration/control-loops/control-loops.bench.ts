/**
 * How long it takes until a full namespace and the dependents of a deleted owner are gone, and what another tenant feels of it meanwhile. Prints;
 * asserts nothing.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedStorage } from "@kcp-ts/apiserver/storage/embedded";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import type { OwnerReference } from "@kcp-ts/sdk";
import { ControllersFixture, eventually, ownedBy, type Tenant } from "./controllers-fixture.ts";

const count = Number(process.env["BENCH_OBJECTS"] ?? 10_000);
const writersAtOnce = 64;

const directory = await mkdtemp(join(tmpdir(), "control-loops-bench-"));
try {
  await measure("memory", await ControllersFixture.start());
  const storage = await EmbeddedStorage.open({ directory, clock: systemClock, log: () => {} });
  await measure("embedded", await ControllersFixture.start(storage));
} finally {
  await rm(directory, { recursive: true });
}

async function measure(store: string, fixture: ControllersFixture): Promise<void> {
  const [tenant, bystander] = [fixture.in("busy"), fixture.in("bystander")];
  await bystander.configMap("one");
  await report(`${store}: a second of nothing`, bystander, sleep(systemClock, 1000));
  await tenant.namespace("unwatched");
  await report(`${store}: ${count} creates without loops`, bystander, fill(tenant, "unwatched"));
  fixture.startControllers();
  await tenant.namespace("full");
  await sleep(systemClock, 500);
  await report(`${store}: ${count} creates with loops`, bystander, fill(tenant, "full"));

  await tenant.namespaces.delete({ name: "full" });
  const isGone = eventually(
    async () => (await tenant.namespaces.find({ name: "full" })) === undefined,
  );
  await report(`${store}: a namespace with ${count} objects is gone`, bystander, isGone);

  await tenant.namespace("owned");
  const owner = await tenant.secrets.create({ metadata: { namespace: "owned", name: "owner" } });
  await fill(tenant, "owned", [ownedBy(owner)]);
  await sleep(systemClock, 1000);
  await tenant.secrets.delete({ namespace: "owned", name: "owner" });
  const areGone = eventually(async () => {
    const { items } = await tenant.configMaps.list({ namespace: "owned", limit: 2 });
    return items.length <= 1;
  });
  await report(`${store}: ${count} dependents are gone`, bystander, areGone);
  for (const complaint of fixture.errors.slice(0, 5)) console.log(complaint);
  await fixture.close();
}

async function fill(
  tenant: Tenant,
  namespace: string,
  ownerReferences: readonly OwnerReference[] = [],
): Promise<void> {
  let next = 0;
  const write = async () => {
    while (next < count) await tenant.configMap(`c${next++}`, { namespace, ownerReferences });
  };
  await Promise.all(Array.from({ length: writersAtOnce }, write));
}

/** Gets of another tenant, one each few milliseconds, from when each was due: a blocked process shows as a slow get. */
async function report(what: string, bystander: Tenant, work: Promise<void>): Promise<void> {
  const startedAt = performance.now();
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  const waits: number[] = [];
  while (!isOver) {
    const dueAt = performance.now() + 5;
    await sleep(systemClock, 5);
    await bystander.configMaps.get({ namespace: "default", name: "one" });
    waits.push(performance.now() - dueAt);
  }
  await over;
  const totalMs = Math.round(performance.now() - startedAt);
  waits.sort((a, b) => a - b);
  const at = (share: number) => (waits[Math.floor(share * (waits.length - 1))] ?? 0).toFixed(1);
  console.log(`${what}: ${totalMs} ms; other gets ms p50 ${at(0.5)} p99 ${at(0.99)} max ${at(1)}`);
}
