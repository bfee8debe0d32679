/**
 * Creates a logical cluster: its LogicalCluster object, its administrator's role binding, and the
 * objects of the server's own initializers. All of them are stored in one batch.
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
import {
  clusterScoped,
  createIfAbsent,
  systemWriteOptions,
  type TenancyDependencies,
} from "./dependencies.ts";
import { logicalClusterName, logicalClusters } from "./kinds/definitions.ts";
import { annotation, type DefaultBinding } from "./records.ts";

/** The one type whose initializer runs in this server. */
export const universalInitializer = "root:universal";
export const adminBindingName = "workspace-admin";

export interface NewLogicalCluster {
  readonly cluster: ClusterName;
  /** True for a generated name, which is unique; false for a name that a user chose. */
  readonly isNameGenerated: boolean;
  readonly annotations: JsonObject;
  readonly url: string;
  /** The Workspace that owns the logical cluster, if any. */
  readonly owner: JsonObject | undefined;
  readonly createdBy: UserInfo | undefined;
  /** The user that becomes its administrator. */
  readonly adminName: string | undefined;
  readonly initializers: readonly string[];
  readonly terminators: readonly string[];
  /** Initializers that other controllers have to run. */
  readonly waiting: readonly string[];
  /** The exports of its default bindings. */
  readonly bindings: readonly DefaultBinding[];
}

/**
 * An existing object of the same name is left unchanged: hashes do not collide, and the first of
 * concurrent requests creates a home. Where a user chose the name, the LogicalCluster is stored
 * first, and nothing is written into the logical cluster of another owner.
 */
export async function createLogicalCluster(
  dependencies: TenancyDependencies,
  wanted: NewLogicalCluster,
): Promise<"made" | "taken"> {
  const { cluster, initializers } = wanted;
  const object = logicalClusterObject(wanted);
  const address = clusterScoped(cluster, logicalClusterName);
  const logical = createIfAbsent(dependencies, logicalClusters, address, object);
  if (!wanted.isNameGenerated && !(await logical)) return "taken";
  const making: Promise<unknown>[] = [logical];
  if (wanted.adminName !== undefined)
    making.push(bindAdmin(dependencies, cluster, wanted.adminName));
  if (initializers.includes(universalInitializer)) {
    for (const name of universalNamespaces)
      making.push(...newNamespace(dependencies, cluster, name));
  }
  if (wanted.bindings.length > 0)
    making.push(
      dependencies.createDefaultBindings(
        cluster,
        String(wanted.annotations[annotation.path]),
        wanted.bindings,
      ),
    );
  await Promise.all(making);
  return "made";
}

/**
 * The content is stored before the namespace, so that a watch that sees the namespace finds its
 * default objects.
 */
function newNamespace(
  dependencies: TenancyDependencies,
  cluster: ClusterName,
  name: string,
): Promise<unknown>[] {
  const content = dependencies.namespaceDefaults(name).map((one) => {
    const definition = one.resource === "configmaps" ? configMaps : serviceAccounts;
    const address = { cluster, namespace: name, name: one.name };
    return createIfAbsent(dependencies, definition, address, one.object, withNamespace);
  });
  return [...content, createIfAbsent(dependencies, namespaces, clusterScoped(cluster, name), {})];
}

const withNamespace = { ...systemWriteOptions, isCreatedWithNamespace: true } as const;

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
  dependencies: TenancyDependencies,
  cluster: ClusterName,
  username: string,
): Promise<boolean> {
  return createIfAbsent(
    dependencies,
    clusterRoleBindings,
    clusterScoped(cluster, adminBindingName),
    {
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "cluster-admin",
      },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: username }],
    },
  );
}
