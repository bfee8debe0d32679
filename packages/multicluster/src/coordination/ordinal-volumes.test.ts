/**
 * Goal: an ordinal runs only in the cluster of its claims, never stops for a move that its claims
 * reject, and finally runs. Method: seeded histories of clusters that apply their specs late, and
 * of claims that are created, moved and rejected late, too.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import { stateLabel, volumeClusterAnnotation, volumesAnnotation } from "../api/index.ts";
import { newClusterCopy } from "./cluster-copy.ts";
import { type ClusterInfo, clusterInfoOf } from "./cluster-state.ts";
import { statefulSetStrategy } from "./kinds/stateful-set.ts";
import { ordinalVolumesOf } from "./ordinal-volumes.ts";
import { requestedOrdinals } from "./placement-record.ts";
import type { OrdinalVolumes } from "./stepper/move-ordinals.ts";
import type { OrdinalRange } from "./stepper/ordinal-ranges.ts";
import { applyPlan, checkDisjoint, OrdinalCluster, plan } from "./test-support/ordinal-clusters.ts";
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

  /** The volume controller creates and moves claims, but not while a Pod may use them. */
  step(random: SeededRandom, clusters: readonly OrdinalCluster[]): void {
    for (const [cluster, { start, end }] of this.asks) {
      for (let ordinal = start; ordinal < end; ordinal++) {
        const home = this.homes.get(ordinal);
        if (home === cluster || random.chance(0.5)) continue;
        const isUsed = clusters.some((place) => mayRun(place, ordinal));
        const isLost = clusters.some(({ name, state }) => name === home && state === "Unreachable");
        const mayMove = !this.refused.has(ordinal) && !isUsed && !isLost;
        if (home === undefined || mayMove) this.homes.set(ordinal, cluster);
      }
    }
  }

  check(clusters: readonly OrdinalCluster[]): void {
    for (const { name, running } of clusters)
      for (const ordinal of running)
        assert.equal(
          this.homes.get(ordinal),
          name,
          `${ordinal} runs without its claims in ${name}`,
        );
  }
}

function has(told: OrdinalCluster["delivered"], ordinal: number): boolean {
  return told !== undefined && ordinal >= told.start && ordinal < told.start + told.replicas;
}

function mayRun({ delivered, observed, running }: OrdinalCluster, ordinal: number): boolean {
  return running.has(ordinal) || has(delivered, ordinal) || has(observed, ordinal);
}

/** One reconcile of the coordinator; an ordinal whose claims reject the move stays. */
function look(clusters: OrdinalCluster[], replicas: number, claims: Claims): void {
  const before = new Map(clusters.map((cluster) => [cluster, cluster.delivered]));
  const { requestedOrdinals: asks } = applyPlan(clusters, { replicas, volumes: claims });
  for (const cluster of clusters) {
    for (let ordinal = 0; ordinal < replicas; ordinal++) {
      const isTaken = has(before.get(cluster), ordinal) && !has(cluster.delivered, ordinal);
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
  const clusters = ["east", "north", "west"].map((name) => new OrdinalCluster(name));
  const claims = new Claims();
  let replicas = random.integer(9);
  const step = () => {
    claims.step(random, clusters);
    for (const cluster of clusters) cluster.step(random);
    checkDisjoint(clusters);
    claims.check(clusters);
  };
  try {
    for (let round = 0; round < 300; round++) {
      if (random.chance(0.03)) replicas = random.integer(9);
      if (random.chance(0.03)) {
        const cluster = clusters[random.integer(clusters.length)];
        const state = random.pick(["Ready", "Draining", "Unreachable", "Cordoned"] as const);
        if (cluster !== undefined) cluster.state = state;
      }
      if (random.chance(0.05)) {
        const ordinal = random.integer(9);
        if (!claims.refused.delete(ordinal)) claims.refused.add(ordinal);
      }
      if (random.chance(0.6)) look(clusters, replicas, claims);
      step();
    }
    for (const cluster of clusters) cluster.state = "Ready";
    claims.refused.clear();
    for (let round = 0; round < 300; round++) {
      look(clusters, replicas, claims);
      step();
    }
    const all = clusters.flatMap(({ running }) => [...running]).sort((a, b) => a - b);
    assert.deepEqual(
      all,
      Array.from({ length: replicas }, (_, index) => index),
    );
    assert.equal(plan(clusters, { replicas, volumes: claims }).requestedOrdinals?.size, 0);
  } catch (error) {
    const told = clusters.map(({ name, state: clusterState, delivered: now, running }) => ({
      name,
      standing: clusterState,
      now,
      running: [...running],
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

describe("ordinals with claims", () => {
  it("ordinals run in the clusters of their claims, do not stop for a rejected move, and finally all run", () => {
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

  it("the location of an ordinal's volumes is read from its claims: bound in a cluster, or permitted to move", () => {
    const of = (...claims: readonly Workload[]) =>
      ordinalVolumesOf(set, claims, targets) ?? assert.fail();
    assert.equal(of().isIn(0, "east"), false);
    assert.equal(of(claim({ east: { state: "binding" } }, "")).isIn(0, "east"), false);
    // The claim may wait for its first Pod.
    assert.equal(of(claim({ east: { state: "binding" } }, "Pending")).isIn(0, "east"), true);
    const limit = claim({ east: { state: "bound" } }, "Bound");
    assert.equal(of(limit).isIn(0, "east"), true);
    assert.equal(of(limit).isIn(0, "west"), false);
    assert.equal(of(limit).mayLeaveFor(0, "west"), false);
    const asked = claim({ east: { state: "bound" }, west: { state: "fencing" } }, "Bound");
    assert.equal(of(asked).mayLeaveFor(0, "west"), true);
    const refused = claim({ east: { state: "bound" }, west: { state: "refused" } }, "Bound");
    assert.equal(of(refused).mayLeaveFor(0, "west"), false);
    assert.equal(of(refused).keptBy(0), "east");
  });

  it("ordinals are no longer requested in an Unregistered cluster, also while nothing new can be requested", () => {
    const asked = (ordinals: Record<string, OrdinalRange>, left: readonly ClusterInfo[]) => {
      const clusters = Object.entries(ordinals).map(([name, range]) => ({ name, ordinals: range }));
      const parent: Workload = {
        ...set,
        metadata: { ...set.metadata, uid: "db" },
        spec: { ...set.spec, replicas: 3 },
      };
      // The cluster has not reported yet that it runs only its assigned ordinals.
      const told = { strategy: statefulSetStrategy, parent, cluster: "east" };
      const made = newClusterCopy({ ...told, share: { replicas: 1, start: 0 } });
      const copy = {
        ...set,
        ...made,
        metadata: { ...made.metadata, name: "db--east", generation: 1 },
      } as Workload;
      const facts = { takenNames: new Set<string>(), targets: left, nowMs: 0 };
      const gracePeriods = { unreachableAfterMs: 60_000, recoveryMs: 0 };
      const input = {
        strategy: statefulSetStrategy,
        parent,
        record: { clusters },
        copies: [copy],
        related: [],
        gracePeriods,
      };
      const { record } = statefulSetStrategy.decide?.({ ...input, ...facts }) ?? assert.fail();
      return Object.fromEntries(requestedOrdinals(record));
    };
    const north = { start: 1, end: 2 };
    const west = { start: 2, end: 3 };
    assert.deepEqual(asked({ north, west }, targets), { west });
    assert.deepEqual(asked({ west }, targets), { west });
    assert.deepEqual(asked({ north }, targets), {});
  });

  it("ordinals wait for no claims in clusters that do not sync claims, and without volumeClaimTemplates", () => {
    const unsynced = [clusterInfoOf({ metadata: { name: "east" } } as never)];
    assert.equal(ordinalVolumesOf(set, [], unsynced)?.isIn(0, "east"), true);
    assert.equal(ordinalVolumesOf({ ...set, spec: {} }, [], targets), undefined);
    assert.equal(ordinalVolumesOf(set, undefined, targets), undefined);
  });
});
