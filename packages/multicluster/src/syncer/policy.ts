/**
 * What is particular about syncing a kind, as data. A kind without an entry is synced by `defaultKindPolicy`.
 *
 * Operators add their own on top of `defaultPolicies`, in TypeScript or as JSON in a ConfigMap (`parsePolicies`).
 */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
} from "@kcp-ts/machinery/json";
import { formatGroupResource } from "@kcp-ts/machinery/status";

export interface KindPolicy {
  /**
   * `down`: objects are made upstream and copied to the cluster. `up`: they are born in the cluster, in namespaces of ours, and copied up.
   * `both`: what is assigned goes down, what is born there comes up. Of a kind without namespaces that only comes up, all of the cluster does.
   */
  readonly direction: "down" | "up" | "both";
  /** What copies are called that came up: as in the cluster, or `<name>--<SyncTarget>`, so that several clusters can have the same. */
  readonly copyNames: "same" | "by-cluster";
  /** What a part `<name>--<SyncTarget>` is called in the cluster: the same, or as the whole is, where others know it by that name. */
  readonly partNames: "same" | "whole";
  /** Who knows the truth about `.status`: it is copied to the other side. */
  readonly statusOwner: "downstream" | "upstream" | "nobody";
  /** What follows when somebody deletes the copy in the cluster: it is made anew, or the original goes too. */
  readonly onDownstreamDeletion: "recreate" | "propagate";
  /** What follows when somebody deletes a copy that was brought up: it is brought up anew, or the original goes too, as far as its kind lets it. */
  readonly onUpstreamDeletion: "recreate" | "propagate";
  /** Fields that a controller in the cluster may take over, such as `spec.replicas`. As long as nobody does, they are ours. */
  readonly contested: readonly ConflictingField[];
  /** Fields that are never sent to the cluster. */
  readonly omitted: readonly string[];
  /** Names that the cluster has for itself. */
  readonly renamed: Readonly<Record<string, string>>;
  /**
   * Whose objects are synced: those of all logical clusters that the SyncTarget serves, or those of its own alone. A PersistentVolume names storage that may be anybody's,
   * so nobody but the owner of the cluster may bring one there.
   */
  readonly of: "tenants" | "home";
}

export interface ConflictingField {
  /** With dots: `spec.replicas`. */
  readonly path: string;
  /** When another manager owns it downstream: `leave` it alone, or `lift` its value to the upstream object as well. */
  readonly mode: "leave" | "lift";
}

/** By `resource.group`. */
export type Policies = Readonly<Record<string, Partial<KindPolicy>>>;

export const defaultKindPolicy: KindPolicy = {
  direction: "down",
  copyNames: "same",
  partNames: "same",
  statusOwner: "downstream",
  onDownstreamDeletion: "recreate",
  onUpstreamDeletion: "recreate",
  contested: [],
  omitted: [],
  renamed: {},
  of: "tenants",
};

const scaled = { contested: [{ path: "spec.replicas", mode: "leave" }] } as const;

const classes = {
  direction: "up",
  copyNames: "by-cluster",
  statusOwner: "nobody",
  of: "home",
} as const;

export const defaultPolicies: Policies = {
  "deployments.apps": scaled,
  "replicasets.apps": scaled,
  // Their Pods are known by their names. Nobody in the cluster scales them: the next number may be another cluster's.
  "statefulsets.apps": { partNames: "whole" },
  // Every namespace of a cluster has one already.
  configmaps: { renamed: { "kube-root-ca.crt": "kcp-root-ca.crt" }, statusOwner: "nobody" },
  secrets: { statusOwner: "nobody" },
  // Tokens are each side's own.
  serviceaccounts: { statusOwner: "nobody", omitted: ["secrets"] },
  // Those of claims of ours come up; those that are bound in another cluster go down.
  persistentvolumes: { direction: "both", copyNames: "by-cluster", of: "home" },
  // The same for snapshots; their classes, and those of storage, say what a claim can have in the cluster.
  "volumesnapshotcontents.snapshot.storage.k8s.io": {
    direction: "both",
    copyNames: "by-cluster",
    of: "home",
  },
  "volumesnapshotclasses.snapshot.storage.k8s.io": classes,
  "storageclasses.storage.k8s.io": classes,
  // Those of workloads come up, bare ones go down. Who deletes one that came up wants it restarted; one that went down and is deleted there has ended.
  pods: {
    direction: "both",
    onDownstreamDeletion: "propagate",
    onUpstreamDeletion: "propagate",
    // They are added in the cluster, by an endpoint of their own, and shown here.
    omitted: ["spec.ephemeralContainers"],
  },
  endpoints: { direction: "up", statusOwner: "nobody" },
  // Those of a cluster's Services come up; those of imported Services go down.
  "endpointslices.discovery.k8s.io": {
    direction: "both",
    copyNames: "by-cluster",
    statusOwner: "nobody",
  },
  // Which clusters are behind it is known here; its address in a cluster is given there.
  "serviceimports.multicluster.x-k8s.io": {
    statusOwner: "upstream",
    contested: [{ path: "spec.ips", mode: "leave" }],
  },
};

export function policyFor(
  policies: Policies,
  { group, resource }: { readonly group: string; readonly resource: string },
): KindPolicy {
  const name = formatGroupResource({ group, resource });
  return {
    ...defaultKindPolicy,
    ...(Object.hasOwn(defaultPolicies, name) ? defaultPolicies[name] : {}),
    ...(Object.hasOwn(policies, name) ? policies[name] : {}),
  };
}

/** A policy that cannot be read is said with its place, rather than half obeyed. */
export class PolicyError extends Error {
  override readonly name = "PolicyError";
}

const choices = {
  direction: ["down", "up", "both"],
  copyNames: ["same", "by-cluster"],
  partNames: ["same", "whole"],
  statusOwner: ["downstream", "upstream", "nobody"],
  onDownstreamDeletion: ["recreate", "propagate"],
  of: ["tenants", "home"],
  onUpstreamDeletion: ["recreate", "propagate"],
} as const;

/** `{"deployments.apps": {"contested": [{"path": "spec.replicas", "mode": "lift"}]}}`. Throws a PolicyError. */
export function parsePolicies(text: string): Policies {
  const { value } = parseJson(text);
  if (!isJsonObject(value)) throw new PolicyError("policies are an object by resource.group");
  const policies: Record<string, Partial<KindPolicy>> = Object.create(null);
  for (const kind of Object.keys(value)) {
    const policy = member(value, kind);
    if (policy === undefined || !isJsonObject(policy)) {
      throw new PolicyError(`${kind}: a policy is an object`);
    }
    policies[kind] = readPolicy(kind, policy);
  }
  return policies;
}

function readPolicy(kind: string, policy: JsonObject): Partial<KindPolicy> {
  for (const [field, value] of Object.entries(policy)) {
    const at = `${kind}.${field}`;
    if (Object.hasOwn(choices, field)) {
      const allowed: readonly string[] = choices[field as keyof typeof choices];
      if (typeof value !== "string" || !allowed.includes(value)) {
        throw new PolicyError(`${at} is one of ${allowed.join(", ")}`);
      }
    } else if (field === "contested") {
      if (!Array.isArray(value) || !value.every(isContestedField)) {
        throw new PolicyError(`${at} is a list of {"path": "spec.x", "mode": "leave" or "lift"}`);
      }
    } else if (field === "omitted") {
      if (!Array.isArray(value) || !value.every((path) => typeof path === "string")) {
        throw new PolicyError(`${at} is a list of paths such as spec.x`);
      }
    } else if (field === "renamed") {
      if (!isJsonObject(value) || !Object.values(value).every((to) => typeof to === "string")) {
        throw new PolicyError(`${at} is an object of names`);
      }
    } else {
      throw new PolicyError(`${at} is not a field of a policy`);
    }
  }
  return policy as unknown as Partial<KindPolicy>;
}

function isContestedField(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  const [path, mode] = [member(value, "path"), member(value, "mode")];
  return typeof path === "string" && (mode === "leave" || mode === "lift");
}
