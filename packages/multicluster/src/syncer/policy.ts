/**
 * The particulars of syncing a kind, as data. A kind without an entry is synced by
 * `defaultKindPolicy`.
 *
 * Operators add their own policies to `defaultPolicies`, in TypeScript or as JSON in a ConfigMap
 * (`parsePolicies`).
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
   * `down`: objects are created upstream and synced to the cluster. `up`: objects are created in
   * the cluster, in namespaces of the syncer, and synced up. `both`: assigned objects are synced
   * down, objects that are created in the cluster are synced up. A cluster-scoped kind that is only
   * synced up is synced with all objects of the cluster.
   */
  readonly direction: "down" | "up" | "both";
  /**
   * The upstream names of upsynced objects: as in the cluster, or `<name>--<SyncTarget>`, so that
   * several clusters can have the same name.
   */
  readonly copyNames: "same" | "by-cluster";
  /**
   * The downstream name of a per-cluster object `<name>--<SyncTarget>`: the same, or the name of
   * its workload, where clients in the cluster use that name.
   */
  readonly partNames: "same" | "whole";
  /** The side that owns `.status`: it is copied to the other side. */
  readonly statusOwner: "downstream" | "upstream" | "nobody";
  /**
   * The reaction when a client deletes the copy in the cluster: the syncer creates it again, or
   * deletes the upstream object, too.
   */
  readonly onDownstreamDeletion: "recreate" | "propagate";
  /**
   * The reaction when a client deletes an upsynced copy: the syncer creates it again, or deletes
   * the original in the cluster, too, as far as its kind permits.
   */
  readonly onUpstreamDeletion: "recreate" | "propagate";
  /**
   * Fields that a controller in the cluster may own, such as `spec.replicas`. The syncer owns them
   * as long as no other manager does.
   */
  readonly contested: readonly ConflictingField[];
  /** Fields that are never sent to the cluster. */
  readonly omitted: readonly string[];
  /** Objects that get another name in the cluster, because the cluster uses their name itself. */
  readonly renamed: Readonly<Record<string, string>>;
  /**
   * The logical clusters whose objects are synced: all that the SyncTarget serves, or only its own.
   * A PersistentVolume refers to storage that may belong to anyone, so only the owner of the
   * cluster may create one there.
   */
  readonly of: "tenants" | "home";
}

export interface ConflictingField {
  /** A path such as `spec.replicas`. */
  readonly path: string;
  /**
   * When another manager owns the field downstream: `leave` it unchanged, or `lift` its value to
   * the upstream object as well.
   */
  readonly mode: "leave" | "lift";
}

/** Policies by `resource.group`. */
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
  // Clients know the Pods of a StatefulSet by their names. No controller in the cluster scales it:
  // the next ordinal may belong to another cluster.
  "statefulsets.apps": { partNames: "whole" },
  // Every namespace of a cluster already has a ConfigMap of this name.
  configmaps: { renamed: { "kube-root-ca.crt": "kcp-root-ca.crt" }, statusOwner: "nobody" },
  secrets: { statusOwner: "nobody" },
  // Each side has its own tokens.
  serviceaccounts: { statusOwner: "nobody", omitted: ["secrets"] },
  // PersistentVolumes of synced claims are synced up; those that are bound in another cluster are
  // synced down.
  persistentvolumes: { direction: "both", copyNames: "by-cluster", of: "home" },
  // The same for snapshots; snapshot classes and storage classes show which claims are possible in
  // the cluster.
  "volumesnapshotcontents.snapshot.storage.k8s.io": {
    direction: "both",
    copyNames: "by-cluster",
    of: "home",
  },
  "volumesnapshotclasses.snapshot.storage.k8s.io": classes,
  "storageclasses.storage.k8s.io": classes,
  // Pods of workloads are synced up, bare Pods are synced down. Deleting an upsynced Pod restarts
  // it; a downsynced Pod that is deleted in the cluster has ended.
  pods: {
    direction: "both",
    onDownstreamDeletion: "propagate",
    onUpstreamDeletion: "propagate",
    // Ephemeral containers are added in the cluster, by their own subresource, and shown upstream.
    omitted: ["spec.ephemeralContainers"],
  },
  endpoints: { direction: "up", statusOwner: "nobody" },
  // EndpointSlices of a cluster's Services are synced up; those of imported Services are synced
  // down.
  "endpointslices.discovery.k8s.io": {
    direction: "both",
    copyNames: "by-cluster",
    statusOwner: "nobody",
  },
  // The control plane knows the clusters of the import; each cluster assigns its own address.
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

/** An invalid policy is reported with its path, and not applied in part. */
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

/**
 * Parses `{"deployments.apps": {"contested": [{"path": "spec.replicas", "mode": "lift"}]}}`. Throws
 * a PolicyError.
 */
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
