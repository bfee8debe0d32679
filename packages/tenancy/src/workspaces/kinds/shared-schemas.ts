/** Schemas that several kinds of tenancy have in common. */
import {
  atomic,
  conditionList,
  list,
  map,
  object,
  type Schema,
  string,
} from "@kcp-ts/machinery/schema";

export const conditions: Schema = conditionList();

/**
 * The identifier of an initializer or a terminator: a path with at least two segments, or an
 * identifier of the system.
 */
const lifecycleId =
  "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)+)|(system:.+)$";

export function lifecycleIds(description: string): Schema {
  return list(string("", { pattern: lifecycleId }), { description });
}

export const labelSelector: Schema = object(
  {
    matchLabels: map(string(), { description: "Labels that must all be there." }),
    matchExpressions: list(
      object(
        { key: string(), operator: string(), values: list(string(), atomic) },
        { required: ["key", "operator"] },
      ),
      atomic,
    ),
  },
  { "x-kubernetes-map-type": "atomic" },
);

export const phase = string("How far the logical cluster has come.", {
  enum: [
    "Scheduling",
    "Initializing",
    "Ready",
    "Unavailable",
    "Inactive",
    "Terminating",
    "Deleting",
  ],
  default: "Scheduling",
});

/** RBAC policy rules. */
export const policyRules: Schema = list(
  object(
    {
      verbs: list(string(), atomic),
      apiGroups: list(string(), atomic),
      resources: list(string(), atomic),
      resourceNames: list(string(), atomic),
      nonResourceURLs: list(string(), atomic),
    },
    { required: ["verbs"] },
  ),
  { description: "What the controller of this type may do in the workspaces that wait for it." },
);
