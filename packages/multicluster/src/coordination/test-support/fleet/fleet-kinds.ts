/** The kinds that workloads of a pretend fleet are of, each with what clusters make of it and the law that it stands under. */
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
  type Copy,
  NodesCopy,
  NumberedCopy,
  PodCopy,
  PodsCopy,
  ScheduleCopy,
  WorkCopy,
} from "./copies.ts";

/**
 * - divided: the ready replicas of all clusters do not fall below what is asked for less the budget by anything that we do
 * - numbered: no number is in two clusters, and one at a time leaves
 * - everywhere: in every cluster that may have it, and the last copy stays
 * - single: in no two clusters that can be seen
 * - ending: as much as asked for is done, and what can be seen is not done twice
 */
export type Law = "divided" | "numbered" | "everywhere" | "single" | "ending";

export interface FleetKind {
  readonly name: string;
  readonly strategy: Strategy;
  readonly law: Law;
  readonly hasClaims?: boolean;
  /** Its replicas are Pods that need room. */
  readonly hasPods?: boolean;
  /** It is there or not, and has no number that could be 0. */
  readonly isWhole?: boolean;
  spec(random: SeededRandom): JsonObject;
  /** What its author changes: how many there are to be, or what runs. */
  edited(spec: JsonObject, random: SeededRandom): JsonObject;
  copy(random: SeededRandom): Copy;
}

const podTemplate = (image: string) => ({ spec: { containers: [{ name: "app", image }] } });
const image = (random: SeededRandom) => podTemplate(`app:${random.integer(1000)}`);

/** A kind with a count in one field of its spec. */
function counted(field: string, most: number): Pick<FleetKind, "spec" | "edited"> {
  return {
    spec: (random) => ({ [field]: random.integer(most), template: image(random) }),
    edited: (spec, random) =>
      random.chance(0.7)
        ? { ...spec, [field]: random.integer(most) }
        : { ...spec, template: image(random) },
  };
}

const uncounted: Pick<FleetKind, "spec" | "edited"> = {
  spec: (random) => ({ template: image(random) }),
  edited: (spec, random) => ({ ...spec, template: image(random) }),
};

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
      status: { readyReplicas: "parts.map(p, p.status.readyReplicas).sum()" },
    },
  });
  assert.ok(typeof made !== "string", String(made));
  return made;
}

const templates = [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }];

export const fleetKinds: readonly [FleetKind, ...FleetKind[]] = [
  {
    name: "web",
    strategy: deploymentStrategy,
    law: "divided",
    hasPods: true,
    ...counted("replicas", 15),
    copy: (random) => new PodsCopy(random),
  },
  {
    name: "size",
    strategy: databases("Divide"),
    law: "divided",
    ...counted("size", 9),
    copy: (random) => new PodsCopy(random, "size"),
  },
  {
    name: "db",
    strategy: statefulSetStrategy,
    law: "numbered",
    hasPods: true,
    ...counted("replicas", 7),
    copy: (random) => new NumberedCopy(random),
  },
  {
    name: "store",
    strategy: statefulSetStrategy,
    law: "numbered",
    hasClaims: true,
    hasPods: true,
    spec: (random) => ({
      replicas: random.integer(6),
      template: podTemplate("app:1"),
      volumeClaimTemplates: templates,
    }),
    edited: (spec, random) => ({ ...spec, replicas: random.integer(6) }),
    copy: (random) => new NumberedCopy(random),
  },
  {
    name: "node",
    strategy: daemonSetStrategy,
    law: "everywhere",
    ...uncounted,
    copy: (random) => new NodesCopy(random),
  },
  {
    name: "edge",
    strategy: clusterDaemonSetStrategy,
    law: "everywhere",
    spec: (random) => ({ template: { spec: { replicas: 1 + random.integer(3) } } }),
    edited: (_spec, random) => ({ template: { spec: { replicas: 1 + random.integer(3) } } }),
    copy: (random) => new PodsCopy(random),
  },
  {
    name: "mirror",
    strategy: databases("Duplicate"),
    law: "everywhere",
    ...uncounted,
    copy: (random) => new PodsCopy(random, "size"),
  },
  {
    name: "night",
    strategy: cronJobStrategy,
    law: "single",
    ...uncounted,
    copy: (random) => new ScheduleCopy(random),
  },
  {
    name: "one",
    strategy: podStrategy,
    law: "divided",
    isWhole: true,
    spec: () => ({ containers: [{ name: "one", image: "app:1" }] }),
    edited: (spec) => spec,
    copy: (random) => new PodCopy(random),
  },
  {
    name: "sum",
    strategy: jobStrategy,
    law: "ending",
    spec: (random) => ({ completions: 1 + random.integer(9), parallelism: 1 + random.integer(4) }),
    edited: (spec, random) => ({ ...spec, parallelism: 1 + random.integer(4) }),
    copy: (random) => new WorkCopy(random),
  },
];
