/**
 * Access of Pods to the logical cluster that their workload is from, for clients that know nothing of logical clusters: who asks for it, and the Secret that it
 * goes by. Whoever makes the Secret and whoever makes the Pods use it need not talk to each other: its name follows from what it is for.
 */
import {
  defineResource,
  type KubernetesObject,
  type Resource,
  type StringMap,
  stringMember,
} from "@kcp-ts/sdk";
import { hashDigits } from "./hash-digits.ts";
import { apiAccessLabel } from "./names.ts";

/** Members of the Secret: what a Pod finds beside its token, and where the server is. */
export const apiAccessKeys = {
  token: "token",
  authority: "ca.crt",
  namespace: "namespace",
  host: "host",
  port: "port",
} as const;

/** Kinds of Kubernetes that Pods are made from. What others have in `spec.template` need not be one of Pods. */
export const apiAccessResources: readonly Resource<KubernetesObject>[] = [
  ["apps", "deployments", "Deployment"],
  ["apps", "replicasets", "ReplicaSet"],
  ["apps", "statefulsets", "StatefulSet"],
  ["apps", "daemonsets", "DaemonSet"],
  ["batch", "jobs", "Job"],
  ["batch", "cronjobs", "CronJob"],
  ["", "pods", "Pod"],
].map(([group = "", resource = "", kind = ""]) =>
  defineResource<KubernetesObject>({ group, version: "v1", resource, kind, namespaced: true }),
);

export interface ApiAccessOf {
  readonly kind: string;
  /** In the control plane. */
  readonly name: string;
  /** What the workload calls the SyncTarget. */
  readonly target: string;
}

export function wantsApiAccess(labels: StringMap | undefined): boolean {
  return stringMember(labels, apiAccessLabel) === "true";
}

const hashLength = 10;
const nameCharactersMax = 200;

/** In the workload's namespace, on both sides. */
export function apiAccessSecretName({ kind, name, target }: ApiAccessOf): string {
  const digits = hashDigits([kind, name, target].join("/"), hashLength);
  const start = name.slice(0, nameCharactersMax).replace(/[^a-z0-9]+$/, "");
  return `${start}-api-access-${digits}`;
}
