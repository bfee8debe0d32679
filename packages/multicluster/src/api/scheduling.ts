/**
 * Scheduling policy: a Location groups the physical clusters of a workspace; a Placement selects
 * the Locations for the workloads of some namespaces, and configures their scheduling.
 *
 * Fields that a Placement omits are taken from a less specific Placement: docs/guides/placement.md
 * lists the levels.
 */
import {
  ageColumn,
  anyValue,
  atomic,
  bool,
  column,
  conditionColumn,
  int32,
  intOrString,
  keyedBy,
  kindSchema,
  list,
  map,
  object,
  rules,
  type Schema,
  type SystemKind,
  string,
  type TypeOf,
} from "@kcp-ts/machinery/schema";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { categories, conditions, resourceOf, selector, version } from "./kind-schemas.ts";

const group = "scheduling.kcp.io";

/** Quantities by resource; `pods` and `workloads` are counts. */
export type ResourceLimits = Readonly<Record<string, string | number>>;

/** The resource name, in limits and reservations, of the number of scheduled workloads. */
export const workloadsResource = "workloads";
export const podsResource = "pods";

/** A map from resource names to quantities that are not negative. */
export function resourceLimits(description: string): Schema<ResourceLimits> {
  return map(intOrString("", { maxLength: 64 }), {
    description,
    maxProperties: 64,
    ...rules([
      "self.all(name, type(self[name]) == int ? self[name] >= 0 : isQuantity(self[name]) && !quantity(self[name]).isLessThan(quantity('0')))",
      'must be quantities of zero or more, as in cpu: "40", memory: 64Gi, pods: 500',
    ]),
  });
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;

const taint = object(
  {
    key: string("", { minLength: 1, maxLength: 317 }),
    value: string("", { maxLength: 63 }),
    effect: string(
      "NoSchedule: nothing new that does not tolerate it. PreferNoSchedule: only when there is no other place. NoExecute: what is there leaves, too.",
      { enum: effects },
    ),
  },
  { required: ["key", "effect"] },
);
export type Taint = TypeOf<typeof taint>;

export const taints = list(taint, {
  description: "The taints that workloads must tolerate to be scheduled to the cluster.",
  maxItems: 64,
  ...keyedBy("key", "effect"),
});

/** The resource of the clusters: no other can be chosen. */
function instances(description: string) {
  const only = (value: string) => string("", { enum: [value], default: value });
  return object(
    { group: only("workload.kcp.io"), version: only(version), resource: only("synctargets") },
    { description, default: {} },
  );
}

const locationSpec = object(
  {
    resource: instances("What its instances are."),
    description: string("A text for users who choose a Location.", { maxLength: 4096 }),
    availableSelectorLabels: list(
      object(
        {
          key: string("", { minLength: 1, maxLength: 317 }),
          values: list(string("", { maxLength: 63 }), {
            minItems: 1,
            "x-kubernetes-list-type": "set",
          }),
          description: string(),
        },
        { required: ["key", "values"] },
      ),
      { description: "Labels for users to choose by; they select nothing.", ...keyedBy("key") },
    ),
    instanceSelector: selector("The SyncTargets that belong to it; left out or empty, all."),
    resourceLimits: resourceLimits(
      "The most that one workspace may use in all clusters of the Location together.",
    ),
    podSecurity: object(
      {
        enforce: string(
          "The Pod Security Standard that is enforced on the namespaces of other workspaces in its clusters; baseline if no Location of a cluster says so, the strictest if several do.",
          { enum: ["privileged", "baseline", "restricted"] },
        ),
      },
      {
        description:
          "The Pod Security Standards for Pods of the workspaces that use the clusters of the Location.",
      },
    ),
  },
  { default: {} },
);
export type LocationSpec = TypeOf<typeof locationSpec>;
/** The levels of the Pod Security Standards. */
export type PodSecurityLevel = NonNullable<NonNullable<LocationSpec["podSecurity"]>["enforce"]>;

const locationStatus = object({
  instances: int32("The number of SyncTargets that the Location selects."),
  availableInstances: int32("The number of selected SyncTargets that are Ready and not cordoned."),
});
export type LocationStatus = TypeOf<typeof locationStatus>;

export interface Location extends KubernetesObject {
  readonly spec: LocationSpec;
  readonly status?: LocationStatus;
}

export const locationKind: SystemKind = {
  group,
  version,
  kind: "Location",
  resource: "locations",
  categories,
  hasStatus: true,
  columns: [
    column("Resource", ".spec.resource.resource"),
    column("Available", ".status.availableInstances", { type: "integer" }),
    column("Instances", ".status.instances", { type: "integer" }),
    column("Labels", ".metadata.annotations.scheduling\\.kcp\\.io/labels"),
    ageColumn,
  ],
  schema: kindSchema(
    "A group of physical clusters of this workspace, by the labels of their SyncTargets.",
    { spec: locationSpec, status: locationStatus },
  ),
};
export const locations = resourceOf<Location>(locationKind);

const workloadAffinity = object(
  {
    workloadSelector: selector("Workloads of the same namespace, by their labels."),
    topologyKey: string(
      "A label of SyncTargets: those with the same value are one place. Left out, each cluster is one.",
      { maxLength: 317 },
    ),
    required: bool("The scheduler assigns nothing new to other clusters; running workloads stay.", {
      default: false,
    }),
  },
  { required: ["workloadSelector"] },
);
/** Affinity and anti-affinity to other workloads of the namespace. */
export type WorkloadAffinity = TypeOf<typeof workloadAffinity>;

const affinity = (description: string) =>
  list(workloadAffinity, { description, maxItems: 16, ...atomic });

const toleration = object(
  {
    key: string("", { maxLength: 317 }),
    operator: string("", { enum: ["Equal", "Exists"], default: "Equal" }),
    value: string("", { maxLength: 63 }),
    effect: string("Every effect if left out.", { enum: effects }),
  },
  rules([
    "self.operator == 'Exists' ? !has(self.value) || self.value == '' : has(self.key) && self.key != ''",
    "Equal needs a key, and Exists has no value",
  ]),
);
export type Toleration = TypeOf<typeof toleration>;

const notNegative = { minimum: 0 };

const rollout = object(
  {
    maxSurge: intOrString("In all clusters together."),
    maxUnavailable: intOrString("In all clusters together."),
    paused: bool("The rollout is paused: no cluster gets a newer template."),
    progressDeadlineSeconds: int32(
      "The time without progress after which the rollout has failed.",
      notNegative,
    ),
    rollback: bool("A failed rollout is rolled back."),
  },
  { description: "A budget for all clusters together." },
);

const failover = object(
  {
    tolerationSeconds: int32(
      "How long to wait for an unreachable cluster before its replicas are rescheduled.",
      notNegative,
    ),
    strategy: string(
      "StopBeforeStart: nothing is started in another cluster before an unreachable cluster has surely stopped its own.",
      { enum: ["StopBeforeStart", "StartBeforeStop"] },
    ),
  },
  { description: "The behaviour when a cluster is unreachable." },
);
export type FailoverPolicy = TypeOf<typeof failover>;
/** Whether a replacement is started after its predecessor has certainly stopped, or before. */
export type FailoverStrategy = NonNullable<FailoverPolicy["strategy"]>;

const override = object(
  {
    clusterSelector: selector("By the labels of SyncTargets."),
    patches: list(
      object(
        {
          op: string("", { enum: ["add", "replace", "remove"] }),
          path: string("A JSON pointer, as in /spec/template/spec/nodeSelector.", {
            pattern: "^/",
            maxLength: 1024,
          }),
          value: anyValue,
        },
        { required: ["op", "path"] },
      ),
      { maxItems: 64, ...atomic },
    ),
  },
  { required: ["clusterSelector", "patches"] },
);
export type ClusterOverride = TypeOf<typeof override>;

const placementSpec = object(
  {
    locationResource: instances("What Locations are of."),
    locationSelectors: list(selector("By the labels of Locations."), {
      description:
        "Each selector may select a Location. An empty list selects none; if left out, a less specific Placement decides.",
      maxItems: 64,
      ...atomic,
    }),
    locationWorkspace: string(
      "The path of the workspace that has the Locations; its own if left out.",
      { maxLength: 1024 },
    ),
    namespaceSelector: selector(
      "The namespaces that it is for. Left out: none. Empty: all, which makes it the Placement of the workspace.",
    ),
    workloadSelector: selector("Workloads in them, by their labels; all if left out."),
    weights: map(int32("", { minimum: 0, maximum: 1000 }), {
      description:
        "The weight of each SyncTarget relative to the others: 1 if left out, 0 for no replicas.",
      maxProperties: 1000,
    }),
    spread: list(
      object(
        {
          topologyKey: string("A label of SyncTargets, as in topology.kubernetes.io/region.", {
            minLength: 1,
            maxLength: 317,
          }),
          maxSkew: int32("The imbalance between clusters above which replicas move.", {
            minimum: 1,
            default: 1,
          }),
        },
        { required: ["topologyKey"] },
      ),
      {
        description:
          "The topology domains over which replicas are spread evenly, the widest first.",
        maxItems: 4,
        ...keyedBy("topologyKey"),
      },
    ),
    affinity: affinity("Where these workloads are."),
    antiAffinity: affinity("Where these workloads are not."),
    tolerations: list(toleration, {
      description: "The taints of SyncTargets that the workloads tolerate.",
      maxItems: 64,
      ...atomic,
    }),
    rollout,
    failover,
    overrides: list(override, {
      description: "JSON patches for the copies in some of the clusters, applied in this order.",
      maxItems: 64,
      ...atomic,
    }),
  },
  { default: {} },
);
export type PlacementSpec = TypeOf<typeof placementSpec>;

const placementStatus = object({
  phase: string("Pending: it has no Location. Unbound: no namespace. Bound: both.", {
    enum: ["Pending", "Unbound", "Bound"],
    default: "Pending",
  }),
  selectedLocation: object(
    { path: string("The workspace of the Location."), locationName: string() },
    { required: ["path", "locationName"] },
  ),
  conditions,
});
export type PlacementStatus = TypeOf<typeof placementStatus>;

export interface Placement extends KubernetesObject {
  readonly spec: PlacementSpec;
  readonly status?: PlacementStatus;
}

export const placementKind: SystemKind = {
  group,
  version,
  kind: "Placement",
  resource: "placements",
  categories,
  hasStatus: true,
  columns: [
    column("Phase", ".status.phase"),
    column("Location", ".status.selectedLocation.locationName"),
    conditionColumn("Ready"),
    conditionColumn("Scheduled"),
    ageColumn,
  ],
  schema: kindSchema(
    "Which Locations the workloads of some namespaces go to, and how. What is left out, a less specific Placement says.",
    { spec: placementSpec, status: placementStatus },
  ),
};
export const placements = resourceOf<Placement>(placementKind);

/** Ready: the Placement has a Location. Scheduled: clusters of the Location accept workloads. */
export const placementConditions = { ready: "Ready", scheduled: "Scheduled" } as const;
/** A condition of namespaces. */
export const namespaceScheduledCondition = "NamespaceScheduled";

/**
 * The name of the Location that every workspace with a SyncTarget has, and of the Placement that
 * `root` may have for all workspaces.
 */
export const defaultLocationName = "default";
export const globalPlacement = { cluster: "root", name: "default" } as const;

export const syncTargetResource = { group: "workload.kcp.io", version, resource: "synctargets" };
