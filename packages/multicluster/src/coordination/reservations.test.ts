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

const limits = new Map([["east", { name: "east", resourceLimits: { pods: 3 } }]]);
const clustersOf = ({ cluster }: { readonly cluster: string }) =>
  cluster === "home" ? [...limits.values()] : [];

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
    snapshotFor: () => ({ locationLimits: [] }),
    reserve: (subject: never, held: never) => cache.reserve(subject, held),
    subscribe: (listener: never) => void listeners.push(listener),
  } as unknown as Scheduler;
  const woken: string[] = [];
  const reservations = new Reservations(scheduler, deploymentStrategy, {
    list: clustersOf as never,
  });
  const nothing = { keysByIndex: () => [] } as never;
  reservations.follow(nothing, (key) => void woken.push(formatKey(key)));
  const decide = (cluster: string, name: string, target: string, reserved = 0) => {
    const key: ObjectKey = { cluster: cluster as ClusterName, namespace: "default", name };
    const metadata = { name, labels: { "workload.kcp.io/cluster": target } };
    const template = { spec: { containers: [{ name: "main" }] } };
    const workload = { metadata, spec: { replicas: 1, template } } as unknown as Workload;
    const held = reserved === 0 ? new Map() : new Map([[target, pods(reserved)]]);
    reservations.reservePinned(key, workload, held, reserved === 0);
    return formatKey(key);
  };
  const wait = (cluster: string, target: string) => decide(cluster, target, target);
  return { cache, woken, wait, decide };
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

  it("requeues as many as fit in the order in which they wait, and the next when these need none", () => {
    const { cache, woken, decide } = start();
    const wait = (name: string) => decide("home", name, "east");
    const other = { cluster: "home", namespace: "default", resource: "jobs.batch", name: "run" };
    cache.reserve(other, new Map([["east", pods(3)]]));
    const [one, two, three] = ["one", "two", "three"].map(wait);
    wait("four");
    cache.reserve(other, new Map([["east", pods(1)]]));
    assert.deepEqual(woken, [one, two]);
    // The first takes a Pod, the second waits for something else: the third may have it.
    decide("home", "one", "east", 1);
    assert.deepEqual(woken, [one, two]);
    wait("two");
    assert.deepEqual(woken, [one, two, three]);
    decide("home", "three", "east", 1);
    assert.deepEqual(woken, [one, two, three]);
  });
});
