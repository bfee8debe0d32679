/**
 * Goal: a number runs only where its claims are, is never stopped for a move that its claims refuse, and gets to run in the end. Method: seeded histories of clusters
 * that carry out late what they are told, and of claims that are made, moved and refused late, too.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import {
  requestedOrdinalsAnnotation,
  stateLabel,
  volumeClusterAnnotation,
  volumesAnnotation,
} from "../api/index.ts";
import { statefulSetStrategy } from "./kinds/stateful-set.ts";
import { formatRequestedOrdinals, ordinalVolumesOf, requestedOrdinals } from "./ordinal-volumes.ts";
import { newClusterCopy } from "./part.ts";
import type { OrdinalVolumes } from "./plan-ordinals.ts";
import type { OrdinalRange } from "./ranges.ts";
import { type ClusterInfo, clusterInfoOf } from "./standing.ts";
import { applyPlan, checkDisjoint, OrdinalCluster, plan } from "./test-support/ordinal-places.ts";
import type { Workload } from "./workload.ts";

class Claims implements OrdinalVolumes {
  readonly homes = new Map<number, string>();
  readonly refused = new Set<number>();
  asks: ReadonlyMap<string, OrdinalRange> = new Map();

  isIn(ordinal: number, cluster: string): boolean {
    return this.homes.get(ordinal) === cluster;
  }

  mayLeaveFor(ordinal: number, cluster: string): boolean {
    return this.homes.has(ordinal) && this.#isAsked(ordinal, cluster) && !this.refused.has(ordinal);
  }

  keptBy(ordinal: number): string | undefined {
    const home = this.homes.get(ordinal);
    const isAsked = [...this.asks.keys()].some(
      (name) => name !== home && this.#isAsked(ordinal, name),
    );
    return isAsked && this.refused.has(ordinal) ? home : undefined;
  }

  #isAsked(ordinal: number, cluster: string): boolean {
    const { start, end } = this.asks.get(cluster) ?? { start: 0, end: 0 };
    return ordinal >= start && ordinal < end;
  }

  /** Who makes and moves claims: not while somebody may use them. */
  step(random: SeededRandom, places: readonly OrdinalCluster[]): void {
    for (const [cluster, { start, end }] of this.asks) {
      for (let ordinal = start; ordinal < end; ordinal++) {
        const home = this.homes.get(ordinal);
        if (home === cluster || random.chance(0.5)) continue;
        const isUsed = places.some((place) => mayRun(place, ordinal));
        const isLost = places.some(({ name, standing }) => name === home && standing === "lost");
        const mayMove = !this.refused.has(ordinal) && !isUsed && !isLost;
        if (home === undefined || mayMove) this.homes.set(ordinal, cluster);
      }
    }
  }

  check(places: readonly OrdinalCluster[]): void {
    for (const { name, running } of places)
      for (const ordinal of running)
        assert.equal(
          this.homes.get(ordinal),
          name,
          `${ordinal} runs without its claims in ${name}`,
        );
  }
}

function has(told: OrdinalCluster["told"], ordinal: number): boolean {
  return told !== undefined && ordinal >= told.start && ordinal < told.start + told.replicas;
}

function mayRun({ told, heard, running }: OrdinalCluster, ordinal: number): boolean {
  return running.has(ordinal) || has(told, ordinal) || has(heard, ordinal);
}

/** One look of the coordinator; what claims refuse stays where it is. */
function look(places: OrdinalCluster[], replicas: number, claims: Claims): void {
  const before = new Map(places.map((place) => [place, place.told]));
  const { asks } = applyPlan(places, { replicas, volumes: claims });
  for (const place of places) {
    for (let ordinal = 0; ordinal < replicas; ordinal++) {
      const isTaken = has(before.get(place), ordinal) && !has(place.told, ordinal);
      assert.ok(
        !isTaken || !claims.refused.has(ordinal),
        `${ordinal} is stopped for a refused move`,
      );
    }
  }
  if (asks !== undefined) claims.asks = asks;
}

function play(seed: number): void {
  const random = new SeededRandom(seed);
  const places = ["east", "north", "west"].map((name) => new OrdinalCluster(name));
  const claims = new Claims();
  let replicas = random.integer(9);
  const step = () => {
    claims.step(random, places);
    for (const place of places) place.step(random);
    checkDisjoint(places);
    claims.check(places);
  };
  try {
    for (let round = 0; round < 300; round++) {
      if (random.chance(0.03)) replicas = random.integer(9);
      if (random.chance(0.03)) {
        const place = places[random.integer(places.length)];
        const standing = random.pick(["accepting", "leaving", "lost", "cordoned"] as const);
        if (place !== undefined) place.standing = standing;
      }
      if (random.chance(0.05)) {
        const ordinal = random.integer(9);
        if (!claims.refused.delete(ordinal)) claims.refused.add(ordinal);
      }
      if (random.chance(0.6)) look(places, replicas, claims);
      step();
    }
    for (const place of places) place.standing = "accepting";
    claims.refused.clear();
    for (let round = 0; round < 300; round++) {
      look(places, replicas, claims);
      step();
    }
    const all = places.flatMap(({ running }) => [...running]).sort((a, b) => a - b);
    assert.deepEqual(
      all,
      Array.from({ length: replicas }, (_, index) => index),
    );
    assert.equal(plan(places, { replicas, volumes: claims }).asks?.size, 0);
  } catch (error) {
    const told = places.map(({ name, standing, told: now, running }) => ({
      ...{ name, standing, now, running: [...running] },
    }));
    const known = {
      homes: [...claims.homes],
      asks: [...claims.asks],
      refused: [...claims.refused],
    };
    throw new Error(
      `seed ${seed}, ${replicas} asked for: ${JSON.stringify(told)} ${JSON.stringify(known)}`,
      { cause: error },
    );
  }
}

describe("numbers with claims", () => {
  it("run where their claims are, are stopped for no refusal, and all run in the end", () => {
    const histories = Number(process.env["KCP_ORDINAL_HISTORIES"] ?? 500);
    for (let seed = 0; seed < histories; seed++) play(seed);
  });

  const set = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db", namespace: "default" },
    spec: { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] },
  } as unknown as Workload;
  const targets = ["east", "west"].map((name) =>
    clusterInfoOf({
      metadata: { name },
      status: { syncedResources: ["persistentvolumeclaims"] },
    } as never),
  );
  const claim = (states: Record<string, object>, phase: string, home = "east") =>
    ({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name: "data-db-0",
        labels: { [stateLabel("east")]: "Sync" },
        annotations: {
          [volumeClusterAnnotation]: home,
          [volumesAnnotation]: JSON.stringify(states),
        },
      },
      spec: {},
      ...(phase === "" ? {} : { status: { phase } }),
    }) as unknown as Workload;

  it("are read off the claims: in place when the cluster has them, free to go when they say so", () => {
    const of = (...claims: readonly Workload[]) =>
      ordinalVolumesOf(set, claims, targets) ?? assert.fail();
    assert.equal(of().isIn(0, "east"), false);
    assert.equal(of(claim({ east: { state: "binding" } }, "")).isIn(0, "east"), false);
    // It may wait for its first Pod.
    assert.equal(of(claim({ east: { state: "binding" } }, "Pending")).isIn(0, "east"), true);
    const bound = claim({ east: { state: "bound" } }, "Bound");
    assert.equal(of(bound).isIn(0, "east"), true);
    assert.equal(of(bound).isIn(0, "west"), false);
    assert.equal(of(bound).mayLeaveFor(0, "west"), false);
    const asked = claim({ east: { state: "bound" }, west: { state: "fencing" } }, "Bound");
    assert.equal(of(asked).mayLeaveFor(0, "west"), true);
    const refused = claim({ east: { state: "bound" }, west: { state: "refused" } }, "Bound");
    assert.equal(of(refused).mayLeaveFor(0, "west"), false);
    assert.equal(of(refused).keptBy(0), "east");
  });

  it("are no longer asked for in a cluster that has left, also while nothing new can be asked for", () => {
    const asked = (text: string, left: readonly ClusterInfo[]) => {
      const parent: Workload = {
        ...set,
        metadata: {
          ...set.metadata,
          uid: "db",
          annotations: { [requestedOrdinalsAnnotation]: text },
        },
        spec: { ...set.spec, replicas: 3 },
      };
      // It has not said yet that it runs no more than it should.
      const told = { strategy: statefulSetStrategy, parent, cluster: "east", askedReplicas: 3 };
      const made = newClusterCopy({ ...told, share: { replicas: 1, start: 0 } });
      const part = {
        ...set,
        ...made,
        metadata: { ...made.metadata, name: "db--east", generation: 1 },
      } as Workload;
      const facts = { takenNames: new Set<string>(), targets: left, nowMs: 0 };
      const patience = { graceMs: 60_000, settleMs: 0 };
      const input = { strategy: statefulSetStrategy, parent, parts: [part], related: [], patience };
      return statefulSetStrategy.decide?.({ ...input, ...facts }) ?? assert.fail();
    };
    const both = '{"north":"1-1","west":"2-2"}';
    const { annotations } = asked(both, targets);
    assert.deepEqual(annotations, { [requestedOrdinalsAnnotation]: '{"west":"2-2"}' });
    assert.equal(asked('{"west":"2-2"}', targets).annotations, undefined);
    assert.deepEqual(asked('{"north":"1-1"}', targets).obsolete, [requestedOrdinalsAnnotation]);
  });

  it("have none to wait for in clusters that do not sync claims, and without templates", () => {
    const unsynced = [clusterInfoOf({ metadata: { name: "east" } } as never)];
    assert.equal(ordinalVolumesOf(set, [], unsynced)?.isIn(0, "east"), true);
    assert.equal(ordinalVolumesOf({ ...set, spec: {} }, [], targets), undefined);
    assert.equal(ordinalVolumesOf(set, undefined, targets), undefined);
  });

  it("are asked for in words that can be read again", () => {
    const asks = new Map([
      ["west", { start: 3, end: 5 }],
      ["east", { start: 0, end: 3 }],
    ]);
    const text = formatRequestedOrdinals(asks) ?? assert.fail();
    assert.equal(text, '{"east":"0-2","west":"3-4"}');
    const annotated = {
      metadata: { name: "db", annotations: { [requestedOrdinalsAnnotation]: text } },
    };
    assert.deepEqual(new Map(requestedOrdinals(annotated)), asks);
    assert.equal(formatRequestedOrdinals(new Map()), undefined);
    const broken = {
      metadata: { name: "db", annotations: { [requestedOrdinalsAnnotation]: "nonsense" } },
    };
    assert.equal(requestedOrdinals(broken).size, 0);
  });
});
