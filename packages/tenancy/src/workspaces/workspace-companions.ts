/**
 * The logical cluster of a Workspace is stored before the Workspace is: so one that can be seen can be used, and a creation that fails half-way
 * leaves nothing that anybody could see. What it leaves nevertheless is found by its owner not being there, and removed.
 */

import { apiVersionOf, type Prerequisites } from "@kcp-ts/apiserver/registry";
import { isSystemMaster, type UserInfo } from "@kcp-ts/apiserver/request/user";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { GeneratedNames } from "./fresh-names.ts";
import { workspaces } from "./kinds/definitions.ts";
import { textsOf } from "./kinds/phases.ts";
import { createLogicalCluster } from "./new-logical-cluster.ts";
import { logicalClusterKey, type TenancyDependencies } from "./parts.ts";
import { annotation, member, reference } from "./records.ts";
import { shardName } from "./shard.ts";
import { clusterNameConflict, resolveOrForbid } from "./workspace-admission.ts";
import { workspaceOwner } from "./workspace-owner.ts";
import { defaultBindingsOf, initializersOf, terminatorsOf, typePathOf } from "./workspace-types.ts";

export interface WorkspacePrerequisitesOptions extends TenancyDependencies {
  readonly externalUrl: () => string;
  readonly freshNames: GeneratedNames;
  /** Told of a name that nobody has used before. */
  readonly begins: (cluster: ClusterName) => void;
  /** Takes away a logical cluster that nobody owns; also when it is not certain that one is there. */
  readonly discard: (cluster: ClusterName) => Promise<void>;
  /** Looks some time later whether it has an owner; what comes back says that it has. */
  readonly suspect: (cluster: ClusterName) => () => void;
}

export function workspacePrerequisites(options: WorkspacePrerequisitesOptions): Prerequisites {
  return {
    async make(object, parentCluster, user) {
      const { cluster } = member(object, "spec") as { cluster?: ClusterName };
      if (cluster === undefined) return undefined;
      const isFresh = options.freshNames.take(cluster);
      if (isFresh) options.begins(cluster);
      // Until the Workspace is stored it is not certain that it will be.
      const clear = options.suspect(cluster);
      await createFor(options, { object, cluster, isFresh, parentCluster, user });
      return { keep: clear, discard: () => options.discard(cluster) };
    },
  };
}

interface LogicalClusterInput {
  readonly object: JsonObject;
  readonly cluster: ClusterName;
  /** Nobody else can have it. */
  readonly isFresh: boolean;
  readonly parentCluster: ClusterName;
  readonly user: UserInfo | undefined;
}

async function createFor(
  options: WorkspacePrerequisitesOptions,
  { object, cluster, isFresh, parentCluster, user }: LogicalClusterInput,
): Promise<void> {
  const { types, logicalClusterIndex } = options;
  const [metadata, spec] = [member(object, "metadata"), member(object, "spec")];
  const annotations = member(metadata, "annotations");
  const wanted = reference(spec["type"]);
  const { name, uid } = metadata as { name: string; uid: string };
  const found = wanted?.path === undefined ? undefined : await types.find(wanted.path, wanted.name);
  const type = found && (await resolveOrForbid(types, found, name));
  const parent = await logicalClusterIndex.get(logicalClusterKey(parentCluster));
  const initializers = type === undefined ? [] : initializersOf(type);
  const ownerText = annotations[annotation.owner];
  const owner = workspaceOwner(annotations);
  const requiredGroups = annotations[annotation.requiredGroups];
  const made = await createLogicalCluster(options, {
    cluster,
    isFresh,
    annotations: {
      [annotation.path]: `${parent?.path ?? parentCluster}:${name}`,
      [annotation.shard]: shardName,
      ...(type === undefined ? {} : { [annotation.type]: typePathOf(type.type) }),
      ...(ownerText === undefined ? {} : { [annotation.owner]: ownerText }),
      ...(requiredGroups === undefined ? {} : { [annotation.requiredGroups]: requiredGroups }),
    },
    url: `${options.externalUrl()}/clusters/${cluster}`,
    owner: {
      apiVersion: apiVersionOf(workspaces),
      resource: workspaces.resource,
      name,
      cluster: parentCluster,
      uid,
    },
    // Of members of system:masters nothing is noted: whose it is is what they say.
    createdBy: user === undefined || isSystemMaster(user) ? owner : user,
    adminName: owner?.username,
    initializers,
    terminators: type === undefined ? [] : terminatorsOf(type),
    // As the Workspace says: what it says follows its logical cluster only when that changes.
    waiting: textsOf(member(object, "status")["initializers"]),
    bindings: type === undefined ? [] : defaultBindingsOf(type),
  });
  if (made === "taken") throw clusterNameConflict(name, cluster);
}
