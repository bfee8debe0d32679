/**
 * Goal: a move between embedded stores survives a process that ends, and a disk that fails, at each
 * of its steps. Method: each step is taken after the stores were opened anew; and the first
 * batch of each step fails, before or after it became durable, and the step is repeated.
 */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { describe, it } from "node:test";
import { neverAborted, systemClock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { call, collect, text } from "../contract/storage-contract.ts";
import { clusterPrefix, objectKey, type StorageKey } from "../key.ts";
import { exportChanges, exportState } from "../moves/cluster-export.ts";
import type { ExportRecord } from "../moves/cluster-moves.ts";
import type { Revision } from "../revision.ts";
import { EmbeddedStorage } from "./embedded-storage.ts";
import { FaultyEngineLocation } from "./faulty-engine-location.ts";
import { immediateClock, nextIteration } from "./immediate-recovery.ts";
import { temporaryDirectory } from "./temporary-store.ts";

const team = "team" as ClusterName;
const resource = { group: "", resource: "configmaps", identity: "" };
const inTeam = clusterPrefix({ ...resource, cluster: team });

interface Pair {
  source: EmbeddedStorage;
  destination: EmbeddedStorage;
}

/** Each step finds what it needs in the stores. */
const steps: readonly ((pair: Pair) => Promise<unknown>)[] = [
  ({ source }) => source.moves.startExport(team, "m", call()),
  ({ destination }) => destination.moves.startImport(team, "m", call()),
  async ({ source, destination }) =>
    destination.moves.import(team, await all(exportState(source, team, call())), call()),
  ({ source }) => source.moves.fence(team, call()),
  async ({ source, destination }) => {
    const final = source.moves.recordOf(team)?.upTo as Revision;
    const after = destination.moves.recordOf(team)?.upTo as Revision;
    const range = { after, upTo: final, changesMax: 1000 };
    if (destination.moves.recordOf(team)?.phase !== "importing") return;
    await destination.moves.import(
      team,
      await all(exportChanges(source, team, range, call())),
      call(),
    );
    await destination.moves.seal(team, final, call());
  },
  ({ destination }) => destination.moves.announce(team, { ...call(), onlyFirst: true }),
  ({ destination }) => destination.moves.open(team, call()),
  ({ source }) => source.moves.release(team, call()),
  ({ destination }) => destination.moves.announce(team, call()),
  ({ source }) => source.moves.removeReleased(team, call()),
];

describe("a move between embedded stores", () => {
  it("goes on after each step when both stores are opened anew", async () => {
    const directories = [await temporaryDirectory(), await temporaryDirectory()] as const;
    const pair: Pair = {
      source: await open(directories[0]),
      destination: await open(directories[1]),
    };
    const before = await prepare(pair);
    for (const step of steps) {
      await step(pair);
      await pair.source.close();
      await pair.destination.close();
      pair.source = await open(directories[0]);
      pair.destination = await open(directories[1]);
    }
    await check(pair, before);
    await dispose(pair, directories);
  });

  for (const failure of ["before", "after"] as const)
    it(`goes on after steps whose batch fails ${failure} it is durable`, async () => {
      const directories = [await temporaryDirectory(), await temporaryDirectory()] as const;
      const [near, far] = directories.map((directory) => new FaultyEngineLocation(directory)) as [
        FaultyEngineLocation,
        FaultyEngineLocation,
      ];
      const clock = immediateClock;
      const source = await EmbeddedStorage.open({
        directory: directories[0],
        clock,
        engineLocation: near,
      });
      const destination = await EmbeddedStorage.open({
        directory: directories[1],
        clock,
        engineLocation: far,
      });
      const pair = { source, destination };
      const before = await prepare(pair);
      let failures = 0;
      for (const step of steps) {
        for (const location of [near, far]) {
          location.writeFailure = failure;
          location.failNextWrite = true;
        }
        await step(pair).catch((error: unknown) => {
          assert.equal((error as { code?: string }).code, "unavailable");
          failures++;
        });
        for (const location of [near, far]) location.failNextWrite = false;
        while (source.health() !== undefined || destination.health() !== undefined)
          await nextIteration();
        await step(pair);
      }
      assert.equal(failures, steps.length);
      await check(pair, before);
      assert.deepEqual([...near.violations, ...far.violations], []);
      await dispose(pair, directories);
    });
});

function open(directory: string): Promise<EmbeddedStorage> {
  return EmbeddedStorage.open({ directory, clock: systemClock });
}

interface Before {
  readonly objects: readonly (readonly [string, number, string | undefined])[];
  readonly revisions: readonly number[];
}

async function prepare({ source, destination }: Pair): Promise<Before> {
  const first = await put(source, team, "a", "absent");
  await put(source, team, "b", "absent");
  await put(source, team, "a", first);
  await put(destination, "other" as ClusterName, "x", "absent");
  return { objects: await objectsOf(source), revisions: await revisionsOf(source, 3) };
}

async function check({ source, destination }: Pair, before: Before): Promise<void> {
  assert.deepEqual(await objectsOf(destination), before.objects);
  assert.deepEqual(await objectsOf(source), []);
  assert.deepEqual(await revisionsOf(destination, 3), before.revisions);
  await assert.rejects(put(source, team, "c", "absent"), { code: "moving" });
  const next = await put(destination, team, "c", "absent");
  assert.ok(next > (await source.currentRevision(call())));
  const everywhere = await collect(destination, "//configmaps//", 0 as Revision, 4);
  const arrived = everywhere.filter(({ relocation }) => relocation === true);
  assert.equal(arrived.length, before.objects.length);
}

async function dispose(pair: Pair, directories: readonly string[]): Promise<void> {
  await pair.source.close();
  await pair.destination.close();
  for (const directory of directories) await rm(directory, { recursive: true, force: true });
}

async function objectsOf(storage: EmbeddedStorage): Promise<Before["objects"]> {
  const options = { signal: neverAborted, entriesMax: 100 };
  const { entries } = await storage.list(inTeam, options);
  return entries.map((entry) => [entry.key, entry.modifiedAt, text(entry)] as const);
}

async function revisionsOf(storage: EmbeddedStorage, count: number): Promise<readonly number[]> {
  const changes = await collect(storage, inTeam, 0 as Revision, count);
  return changes.map(({ revision }) => revision);
}

async function all(records: AsyncIterable<ExportRecord>): Promise<readonly ExportRecord[]> {
  const found: ExportRecord[] = [];
  for await (const record of records) found.push(record);
  return found;
}

function put(
  storage: EmbeddedStorage,
  cluster: ClusterName,
  name: string,
  expected: Revision | "absent",
): Promise<Revision> {
  const key: StorageKey = objectKey({ ...resource, cluster, namespace: "", name });
  return storage.commit({ key, value: Buffer.from(`${name} ${expected}`), expected }, call());
}
