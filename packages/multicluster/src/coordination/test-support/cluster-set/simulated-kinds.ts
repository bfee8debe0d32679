/** The kinds of simulated workloads, each with its simulated copies and its class of invariants. */
import assert from "node:assert/strict";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { SeededRandom } from "@kcp-ts/testkit";
import { deploymentStrategy } from "../../deployment-strategy.ts";
import { clusterDaemonSetStrategy } from "../../kinds/cluster-daemon-set.ts";
import { cronJobStrategy } from "../../kinds/cron-job.ts";
import { customStrategy } from "../../kinds/custom.ts";
import { daemonSetStrategy } from "../../kinds/daemon-set.ts";
import { jobStrategy } from "../../kinds/job.ts";
import { podStrategy } from "../../kinds/pod.ts";
import { statefulSetStrategy } from "../../kinds/stateful-set.ts";
import type { Strategy } from "../../strategy.ts";
import {
  CronJobCopy,
  DaemonSetCopy,
  JobCopy,
  PodCopy,
  ReplicatedCopy,
  type SimulatedCopy,
  StatefulSetCopy,
} from "./simulated-copies.ts";

/**
 * The invariants of a kind:
 *
 * - divided: no action of the coordinator takes the ready replicas of all clusters below the
 *   requested number less maxUnavailable
 * - ordinal: no ordinal is in two clusters, and one ordinal leaves at a time
 * - duplicated: every permitted cluster has a copy, and the last copy stays
 * - single: in no two reachable clusters
 * - finite: the requested completions are done, and none of a reachable cluster is done twice
 */
export type InvariantClass = "divided" | "ordinal" | "duplicated" | "single" | "finite";

export interface SimulatedKind {
  readonly name: string;
  readonly strategy: Strategy;
  readonly invariants: InvariantClass;
  readonly hasClaims?: boolean;
  /** The replicas are Pods that need capacity. */
  readonly hasPods?: boolean;
  /** An all-or-nothing kind, without a replica count that could be 0. */
  readonly isIndivisible?: boolean;
  spec(random: SeededRandom): JsonObject;
  /** The spec after an edit by its author: another replica count, or another image. */
  edited(spec: JsonObject, random: SeededRandom): JsonObject;
  copy(random: SeededRandom): SimulatedCopy;
}

const podTemplate = (image: string) => ({ spec: { containers: [{ name: "app", image }] } });

/**
 * The update strategy, by the number of the image: another image may come with another strategy.
 */
type Pacing = (image: number) => JsonObject;
const unsaid: Pacing = () => ({});

/** The Pod template and the update strategy. */
function made(random: SeededRandom, pacing: Pacing): JsonObject {
  const image = random.integer(1000);
  return { template: podTemplate(`app:${image}`), ...pacing(image) };
}

const deploymentPaces: readonly JsonObject[] = [
  {},
  {},
  { strategy: { rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } } },
  { strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } } },
  { strategy: { rollingUpdate: { maxUnavailable: "50%", maxSurge: "10%" } } },
  { strategy: { type: "Recreate" } },
];
const setPaces: readonly JsonObject[] = [
  {},
  {},
  { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } } },
  { updateStrategy: { type: "OnDelete" } },
];
const nodePaces: readonly JsonObject[] = [
  {},
  { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "50%" } } },
  { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } } },
];

function oneOf(paces: readonly JsonObject[], field: string): Pacing {
  return (image) => ({ [field]: {}, ...paces[image % paces.length] });
}

/** A kind with a replica count in one field of its spec. */
function counted(
  field: string,
  most: number,
  pacing: Pacing = unsaid,
): Pick<SimulatedKind, "spec" | "edited"> {
  return {
    spec: (random) => ({ [field]: random.integer(most), ...made(random, pacing) }),
    edited: (spec, random) =>
      random.chance(0.7)
        ? { ...spec, [field]: random.integer(most) }
        : { ...spec, ...made(random, pacing) },
  };
}

function uncounted(pacing: Pacing = unsaid): Pick<SimulatedKind, "spec" | "edited"> {
  return {
    spec: (random) => made(random, pacing),
    edited: (spec, random) => ({ ...spec, ...made(random, pacing) }),
  };
}

/** The spec of kinds that are scaled and edited at once. */
const inTwo = (count: number) => ({ replicas: count, template: podTemplate(`app:${count % 2}`) });

function databases(strategy: "Divide" | "Duplicate" | "Single"): Strategy {
  const made = customStrategy({
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "WorkloadStrategy",
    metadata: { name: "databases" },
    spec: {
      group: "db.example.com",
      version: "v1",
      resource: "databases",
      kind: "Database",
      strategy,
      ...(strategy === "Divide" ? { replicasPath: "spec.size" } : {}),
      available: "self.status.readyReplicas",
      observed: "self.status.observedGeneration == self.metadata.generation",
      status: { readyReplicas: "copies.map(c, c.status.readyReplicas).sum()" },
    },
  });
  assert.ok(typeof made !== "string", String(made));
  return made;
}

const templates = [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }];

export const simulatedKinds: readonly [SimulatedKind, ...SimulatedKind[]] = [
  {
    name: "web",
    strategy: deploymentStrategy,
    invariants: "divided",
    hasPods: true,
    ...counted("replicas", 15, oneOf(deploymentPaces, "strategy")),
    copy: (random) => new ReplicatedCopy(random),
  },
  {
    name: "size",
    strategy: databases("Divide"),
    invariants: "divided",
    ...counted("size", 9),
    copy: (random) => new ReplicatedCopy(random, "size"),
  },
  {
    name: "db",
    strategy: statefulSetStrategy,
    invariants: "ordinal",
    hasPods: true,
    ...counted("replicas", 7, oneOf(setPaces, "updateStrategy")),
    copy: (random) => new StatefulSetCopy(random),
  },
  {
    name: "store",
    strategy: statefulSetStrategy,
    invariants: "ordinal",
    hasClaims: true,
    hasPods: true,
    spec: (random) => ({ ...inTwo(random.integer(6)), volumeClaimTemplates: templates }),
    edited: (spec, random) => ({ ...spec, ...inTwo(random.integer(6)) }),
    copy: (random) => new StatefulSetCopy(random),
  },
  {
    name: "node",
    strategy: daemonSetStrategy,
    invariants: "duplicated",
    ...uncounted(oneOf(nodePaces, "updateStrategy")),
    copy: (random) => new DaemonSetCopy(random),
  },
  {
    name: "edge",
    strategy: clusterDaemonSetStrategy,
    invariants: "duplicated",
    spec: (random) => ({ template: { spec: inTwo(1 + random.integer(3)) } }),
    edited: (_spec, random) => ({ template: { spec: inTwo(1 + random.integer(3)) } }),
    copy: (random) => new ReplicatedCopy(random),
  },
  {
    name: "mirror",
    strategy: databases("Duplicate"),
    invariants: "duplicated",
    ...uncounted(),
    copy: (random) => new ReplicatedCopy(random, "size"),
  },
  {
    name: "night",
    strategy: cronJobStrategy,
    invariants: "single",
    ...uncounted(),
    copy: (random) => new CronJobCopy(random),
  },
  {
    name: "one",
    strategy: podStrategy,
    invariants: "divided",
    isIndivisible: true,
    spec: () => ({ containers: [{ name: "one", image: "app:1" }] }),
    edited: (spec) => spec,
    copy: (random) => new PodCopy(random),
  },
  {
    name: "sum",
    strategy: jobStrategy,
    invariants: "finite",
    spec: (random) => ({ completions: 1 + random.integer(9), parallelism: 1 + random.integer(4) }),
    edited: (spec, random) => ({ ...spec, parallelism: 1 + random.integer(4) }),
    copy: (random) => new JobCopy(random),
  },
];
