/** The definitions of Location and Placement, and the scheduling fields of SyncTargets. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { KindDefinition } from "./kinds.ts";
import {
  ageColumn,
  arrayType,
  column,
  conditionColumn,
  conditions,
  objectType,
  resourceSchema,
  stringType,
} from "./schema-builders.ts";

const group = "scheduling.kcp.io";
const version = "v1alpha1";
const categories = ["kcp"];

const intOrString: JsonObject = {
  anyOf: [{ type: "integer" }, { type: "string" }],
  "x-kubernetes-int-or-string": true,
};

/** A map from resource names to quantities that are not negative. */
export const resourceLimits: JsonObject = {
  type: "object",
  maxProperties: 64,
  additionalProperties: { ...intOrString, maxLength: 64 },
  "x-kubernetes-validations": [
    {
      rule: "self.all(name, type(self[name]) == int ? self[name] >= 0 : isQuantity(self[name]) && !quantity(self[name]).isLessThan(quantity('0')))",
      message: 'must be quantities of zero or more, as in cpu: "40", memory: 64Gi, pods: 500',
    },
  ],
};

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export const taints: JsonObject = arrayType(
  objectType(
    {
      key: stringType("", { minLength: 1, maxLength: 317 }),
      value: stringType("", { maxLength: 63 }),
      effect: stringType(
        "NoSchedule: nothing new that does not tolerate it. PreferNoSchedule: only when there is no other place. NoExecute: what is there leaves, too.",
        { enum: effects },
      ),
    },
    { required: ["key", "effect"] },
  ),
  {
    description: "The taints that workloads must tolerate to be scheduled to the cluster.",
    maxItems: 64,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["key", "effect"],
  },
);

const labelKeyPattern =
  "^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
const labelValue = stringType("", {
  pattern: "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$",
  maxLength: 63,
});

/** The schema of a label selector that admits only valid selectors. */
function selector(description: string): JsonObject {
  return objectType(
    {
      matchLabels: {
        type: "object",
        maxProperties: 32,
        additionalProperties: labelValue,
        "x-kubernetes-validations": [
          {
            rule: `self.all(key, key.matches('${labelKeyPattern}'))`,
            message: "its keys must be keys of labels",
          },
        ],
      },
      matchExpressions: arrayType(
        objectType(
          {
            key: stringType("", { pattern: labelKeyPattern, maxLength: 317 }),
            operator: stringType("", { enum: ["In", "NotIn", "Exists", "DoesNotExist"] }),
            values: arrayType(labelValue, { maxItems: 100, "x-kubernetes-list-type": "atomic" }),
          },
          {
            required: ["key", "operator"],
            "x-kubernetes-validations": [
              {
                rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
                message: "In and NotIn need values, Exists and DoesNotExist have none",
              },
            ],
          },
        ),
        { maxItems: 32, "x-kubernetes-list-type": "atomic" },
      ),
    },
    { description, "x-kubernetes-map-type": "atomic" },
  );
}

function instances(description: string): JsonObject {
  return objectType(
    {
      group: stringType("", { enum: ["workload.kcp.io"], default: "workload.kcp.io" }),
      version: stringType("", { enum: ["v1alpha1"], default: "v1alpha1" }),
      resource: stringType("", { enum: ["synctargets"], default: "synctargets" }),
    },
    { description, default: {} },
  );
}

export const locationKind: KindDefinition = {
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
  schema: resourceSchema(
    "A group of physical clusters of this workspace, by the labels of their SyncTargets.",
    objectType(
      {
        resource: instances("What its instances are."),
        description: stringType("A text for users who choose a Location.", { maxLength: 4096 }),
        availableSelectorLabels: arrayType(
          objectType(
            {
              key: stringType("", { minLength: 1, maxLength: 317 }),
              values: arrayType(stringType("", { maxLength: 63 }), {
                minItems: 1,
                "x-kubernetes-list-type": "set",
              }),
              description: stringType(),
            },
            { required: ["key", "values"] },
          ),
          {
            description: "Labels for users to choose by; they select nothing.",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["key"],
          },
        ),
        instanceSelector: selector("The SyncTargets that belong to it; left out or empty, all."),
        resourceLimits: {
          ...resourceLimits,
          description:
            "The most that one workspace may use in all clusters of the Location together.",
        },
        podSecurity: objectType(
          {
            enforce: stringType(
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
    ),
    objectType({
      instances: {
        type: "integer",
        format: "int32",
        description: "The number of SyncTargets that the Location selects.",
      },
      availableInstances: {
        type: "integer",
        format: "int32",
        description: "The number of selected SyncTargets that are Ready and not cordoned.",
      },
    }),
  ),
};

const affinity = (description: string): JsonObject =>
  arrayType(
    objectType(
      {
        workloadSelector: selector("Workloads of the same namespace, by their labels."),
        topologyKey: stringType(
          "A label of SyncTargets: those with the same value are one place. Left out, each cluster is one.",
          { maxLength: 317 },
        ),
        required: {
          type: "boolean",
          default: false,
          description:
            "The scheduler assigns nothing new to other clusters; running workloads stay.",
        },
      },
      { required: ["workloadSelector"] },
    ),
    { description, maxItems: 16, "x-kubernetes-list-type": "atomic" },
  );

const seconds = (description: string): JsonObject => ({
  type: "integer",
  format: "int32",
  minimum: 0,
  description,
});

/** The fields of a Placement that configure scheduled workloads. */
const placementRules: Readonly<Record<string, JsonObject>> = {
  weights: {
    type: "object",
    maxProperties: 1000,
    additionalProperties: { type: "integer", format: "int32", minimum: 0, maximum: 1000 },
    description:
      "The weight of each SyncTarget relative to the others: 1 if left out, 0 for no replicas.",
  },
  spread: arrayType(
    objectType(
      {
        topologyKey: stringType("A label of SyncTargets, as in topology.kubernetes.io/region.", {
          minLength: 1,
          maxLength: 317,
        }),
        maxSkew: {
          type: "integer",
          format: "int32",
          minimum: 1,
          default: 1,
          description: "The imbalance between clusters above which replicas move.",
        },
      },
      { required: ["topologyKey"] },
    ),
    {
      description: "The topology domains over which replicas are spread evenly, the widest first.",
      maxItems: 4,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["topologyKey"],
    },
  ),
  affinity: affinity("Where these workloads are."),
  antiAffinity: affinity("Where these workloads are not."),
  tolerations: arrayType(
    objectType(
      {
        key: stringType("", { maxLength: 317 }),
        operator: stringType("", { enum: ["Equal", "Exists"], default: "Equal" }),
        value: stringType("", { maxLength: 63 }),
        effect: stringType("Every effect if left out.", { enum: effects }),
      },
      {
        "x-kubernetes-validations": [
          {
            rule: "self.operator == 'Exists' ? !has(self.value) || self.value == '' : has(self.key) && self.key != ''",
            message: "Equal needs a key, and Exists has no value",
          },
        ],
      },
    ),
    {
      description: "The taints of SyncTargets that the workloads tolerate.",
      maxItems: 64,
      "x-kubernetes-list-type": "atomic",
    },
  ),
  rollout: objectType(
    {
      maxSurge: { ...intOrString, description: "In all clusters together." },
      maxUnavailable: { ...intOrString, description: "In all clusters together." },
      paused: {
        type: "boolean",
        description: "The rollout is paused: no cluster gets a newer template.",
      },
      progressDeadlineSeconds: seconds(
        "The time without progress after which the rollout has failed.",
      ),
      rollback: { type: "boolean", description: "A failed rollout is rolled back." },
    },
    { description: "A budget for all clusters together." },
  ),
  failover: objectType(
    {
      tolerationSeconds: seconds(
        "How long to wait for an unreachable cluster before its replicas are rescheduled.",
      ),
      strategy: stringType(
        "StopBeforeStart: nothing is started in another cluster before an unreachable cluster has surely stopped its own.",
        { enum: ["StopBeforeStart", "StartBeforeStop"] },
      ),
    },
    { description: "The behaviour when a cluster is unreachable." },
  ),
  overrides: arrayType(
    objectType(
      {
        clusterSelector: selector("By the labels of SyncTargets."),
        patches: arrayType(
          objectType(
            {
              op: stringType("", { enum: ["add", "replace", "remove"] }),
              path: stringType("A JSON pointer, as in /spec/template/spec/nodeSelector.", {
                pattern: "^/",
                maxLength: 1024,
              }),
              value: { "x-kubernetes-preserve-unknown-fields": true },
            },
            { required: ["op", "path"] },
          ),
          { maxItems: 64, "x-kubernetes-list-type": "atomic" },
        ),
      },
      { required: ["clusterSelector", "patches"] },
    ),
    {
      description: "JSON patches for the copies in some of the clusters, applied in this order.",
      maxItems: 64,
      "x-kubernetes-list-type": "atomic",
    },
  ),
};

export const placementKind: KindDefinition = {
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
  schema: resourceSchema(
    "Which Locations the workloads of some namespaces go to, and how. What is left out, a less specific Placement says.",
    objectType(
      {
        locationResource: instances("What Locations are of."),
        locationSelectors: arrayType(selector("By the labels of Locations."), {
          description:
            "Each selector may select a Location. An empty list selects none; if left out, a less specific Placement decides.",
          maxItems: 64,
          "x-kubernetes-list-type": "atomic",
        }),
        locationWorkspace: stringType(
          "The path of the workspace that has the Locations; its own if left out.",
          { maxLength: 1024 },
        ),
        namespaceSelector: selector(
          "The namespaces that it is for. Left out: none. Empty: all, which makes it the Placement of the workspace.",
        ),
        workloadSelector: selector("Workloads in them, by their labels; all if left out."),
        ...placementRules,
      },
      { default: {} },
    ),
    objectType({
      phase: stringType("Pending: it has no Location. Unbound: no namespace. Bound: both.", {
        enum: ["Pending", "Unbound", "Bound"],
        default: "Pending",
      }),
      selectedLocation: objectType(
        {
          path: stringType("The workspace of the Location."),
          locationName: stringType(),
        },
        { required: ["path", "locationName"] },
      ),
      conditions,
    }),
  ),
};
