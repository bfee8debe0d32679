/**
 * Goal: capacity that a cluster releases requeues the workloads that wait for this cluster, and no
 * other workload.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { formatKey, type ObjectKey } from "@kcp-ts/sdk";
import {
  ReservationCache,
  type Scheduler,
  type SchedulingNotification,
} from "../scheduling/index.ts";
import { deploymentStrategy } from "./deployment-strategy.ts";
import { Reservations } from "./reservations.ts";
import type { Workload } from "./workload.ts";

const pods = (count: number) => new Map([["pods", count * 1000]]);

function start() {
  const listeners: ((notification: SchedulingNotification) => void)[] = [];
  const cache = new ReservationCache({
    // The tenants of the compute workspace `home` use its cluster as `shared`.
    clusterKeyOf: (cluster, target) => (target === "shared" ? "home|east" : `${cluster}|${target}`),
    onFreed: (place) => {
      for (const listener of listeners) listener({ kind: "room", place });
    },
  });
  const scheduler = {
    reservations: cache,
    reserve: (subject: never, held: never) => cache.reserve(subject, held),
    subscribe: (listener: never) => void listeners.push(listener),
  } as unknown as Scheduler;
  const woken: string[] = [];
  const reservations = new Reservations(scheduler, deploymentStrategy);
  const nothing = { keysByIndex: () => [] } as never;
  reservations.follow(nothing, (key) => void woken.push(formatKey(key)));
  const wait = (cluster: string, target: string) => {
    const key: ObjectKey = { cluster: cluster as ClusterName, namespace: "default", name: target };
    const metadata = { name: target, labels: { "workload.kcp.io/cluster": target } };
    const workload = { metadata, spec: {} } as unknown as Workload;
    reservations.reservePinned(key, workload, new Map(), true);
    return formatKey(key);
  };
  return { cache, woken, wait };
}

describe("released capacity", () => {
  it("requeues the workloads that wait for its cluster, of all tenants", () => {
    const { cache, woken, wait } = start();
    const own = wait("home", "east");
    const tenant = wait("tenant", "shared");
    wait("home", "west");
    wait("stranger", "east");
    const other = { cluster: "home", namespace: "default", resource: "jobs.batch", name: "run" };
    cache.reserve(other, new Map([["east", pods(3)]]));
    assert.deepEqual(woken, []);
    cache.reserve(other, new Map([["east", pods(1)]]));
    assert.deepEqual(woken, [own, tenant]);
  });
});
