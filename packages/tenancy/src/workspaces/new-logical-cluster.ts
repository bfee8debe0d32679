/**
 * A logical cluster comes into being: its LogicalCluster object, its administrator, and what the server's own initializers put into it.
 * All of it is stored in one go.
 */

import {
  clusterRoleBindings,
  configMaps,
  namespaces,
  serviceAccounts,
} from "@kcp-ts/apiserver/registry";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { logicalClusterName, logicalClusters } from "./kinds/definitions.ts";
import {
  clusterScoped,
  createIfAbsent,
  systemWriteOptions,
  type TenancyDependencies,
} from "./parts.ts";
import { annotation, type DefaultBinding } from "./records.ts";

/** The one type whose initializer is ours. */
export const universalInitializer = "root:universal";
export const adminBindingName = "workspace-admin";

export interface NewLogicalCluster {
  readonly cluster: ClusterName;
  /** Nobody else can have it: false where somebody has chosen the name. */
  readonly isFresh: boolean;
  readonly annotations: JsonObject;
  readonly url: string;
  /** The Workspace that it belongs to, if any. */
  readonly owner: JsonObject | undefined;
  readonly createdBy: UserInfo | undefined;
  /** Becomes its administrator. */
  readonly adminName: string | undefined;
  readonly initializers: readonly string[];
  readonly terminators: readonly string[];
  /** Initializers that others have to run. */
  readonly waiting: readonly string[];
  /** Exports that it is bound to from the beginning. */
  readonly bindings: readonly DefaultBinding[];
}

/**
 * An object of the same name that is already there is left alone: a hash is not met twice, and a home is made by whoever comes first. Where the
 * name was chosen, the logical cluster comes first, and nothing is put into one that is another's.
 */
export async function createLogicalCluster(
  parts: TenancyDependencies,
  wanted: NewLogicalCluster,
): Promise<"made" | "taken"> {
  const { cluster, initializers } = wanted;
  const object = logicalClusterObject(wanted);
  const address = clusterScoped(cluster, logicalClusterName);
  const logical = createIfAbsent(parts, logicalClusters, address, object);
  if (!wanted.isFresh && !(await logical)) return "taken";
  const making: Promise<unknown>[] = [logical];
  if (wanted.adminName !== undefined) making.push(bindAdmin(parts, cluster, wanted.adminName));
  if (initializers.includes(universalInitializer)) {
    for (const name of universalNamespaces) making.push(...newNamespace(parts, cluster, name));
  }
  if (wanted.bindings.length > 0)
    making.push(
      parts.bindDefaults(cluster, String(wanted.annotations[annotation.path]), wanted.bindings),
    );
  await Promise.all(making);
  return "made";
}

/** What is in it is handed to the store before it is: whoever hears of the namespace finds it as it is to be. */
function newNamespace(
  parts: TenancyDependencies,
  cluster: ClusterName,
  name: string,
): Promise<unknown>[] {
  const content = parts.namespaceContent(name).map((one) => {
    const definition = one.resource === "configmaps" ? configMaps : serviceAccounts;
    const address = { cluster, namespace: name, name: one.name };
    return createIfAbsent(parts, definition, address, one.object, withNamespace);
  });
  return [...content, createIfAbsent(parts, namespaces, clusterScoped(cluster, name), {})];
}

const withNamespace = { ...systemWriteOptions, comesWithNamespace: true } as const;

const universalNamespaces = ["default", "kube-system"] as const;

function logicalClusterObject(wanted: NewLogicalCluster): JsonObject {
  const { initializers, terminators, waiting, owner, createdBy, url, annotations } = wanted;
  return {
    metadata: { annotations },
    spec: {
      directlyDeletable: false,
      ...(owner === undefined ? {} : { owner }),
      ...(createdBy === undefined ? {} : { createdBy: userOf(createdBy) }),
      ...(initializers.length > 0 ? { initializers: [...initializers] } : {}),
      ...(terminators.length > 0 ? { terminators: [...terminators] } : {}),
    },
    status: {
      URL: url,
      phase: "Initializing",
      ...(waiting.length > 0 ? { initializers: [...waiting] } : {}),
      ...(terminators.length > 0 ? { terminators: [...terminators] } : {}),
    },
  };
}

function userOf({ username, uid, groups, extra }: UserInfo): JsonObject {
  return {
    username,
    ...(uid === undefined ? {} : { uid }),
    ...(groups.length > 0 ? { groups: [...groups] } : {}),
    ...(extra === undefined ? {} : { extra: extra as unknown as JsonObject }),
  };
}

export function bindAdmin(
  parts: TenancyDependencies,
  cluster: ClusterName,
  username: string,
): Promise<boolean> {
  return createIfAbsent(parts, clusterRoleBindings, clusterScoped(cluster, adminBindingName), {
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: username }],
  });
}
