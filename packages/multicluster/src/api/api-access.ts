/**
 * Access of Pods to the logical cluster of their workload, for clients that do not know logical
 * clusters: which workloads request access, and the Secret that provides it. The controller that
 * creates the Secret and the syncer that mounts it into Pods need no communication: the name of the
 * Secret follows from the workload and the SyncTarget.
 */
import { type KubernetesObject, type Resource, type StringMap, stringMember } from "@kcp-ts/sdk";
import {
  cronJobs,
  daemonSets,
  deployments,
  jobs,
  pods,
  replicaSets,
  statefulSets,
} from "@kcp-ts/sdk/kinds";
import { hashDigits } from "./hash-digits.ts";
import { apiAccessLabel } from "./names.ts";

/** Keys of the Secret: the files that a Pod finds next to its token, and the server's address. */
export const apiAccessKeys = {
  token: "token",
  authority: "ca.crt",
  namespace: "namespace",
  host: "host",
  port: "port",
} as const;

/**
 * The kinds of Kubernetes that create Pods. `spec.template` of other kinds need not be a Pod
 * template.
 */
export const apiAccessResources: readonly Resource<KubernetesObject>[] = [
  deployments,
  replicaSets,
  statefulSets,
  daemonSets,
  jobs,
  cronJobs,
  pods,
];

export interface ApiAccessOf {
  readonly kind: string;
  /** The name of the workload in the control plane. */
  readonly name: string;
  /** The name of the SyncTarget in the workload's logical cluster. */
  readonly target: string;
}

export function wantsApiAccess(labels: StringMap | undefined): boolean {
  return stringMember(labels, apiAccessLabel) === "true";
}

const hashLength = 10;
const nameCharactersMax = 200;

/** The name of the Secret in the workload's namespace, upstream and downstream. */
export function apiAccessSecretName({ kind, name, target }: ApiAccessOf): string {
  const digits = hashDigits([kind, name, target].join("/"), hashLength);
  const start = name.slice(0, nameCharactersMax).replace(/[^a-z0-9]+$/, "");
  return `${start}-api-access-${digits}`;
}
