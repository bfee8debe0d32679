/**
 * Stores the logical cluster of a Workspace before the Workspace: so every visible Workspace is
 * usable, and a creation that fails half-way leaves nothing that users could see. The remaining
 * logical cluster of such a creation has no owner, and is deleted by the orphan check.
 */
import { apiVersionOf, type Prerequisites } from "@kcp-ts/apiserver/registry";
import { isSystemMaster, type UserInfo } from "@kcp-ts/apiserver/request/user";
import { type JsonObject, textsOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { createLogicalCluster, type NewLogicalCluster } from "./create-logical-cluster.ts";
import { logicalClusterKey, type TenancyDependencies } from "./dependencies.ts";
import type { GeneratedNames } from "./generated-names.ts";
import { workspaces } from "./kinds/definitions.ts";
import { annotation, member, reference } from "./records.ts";
import { shardName } from "./shard.ts";
import { clusterNameConflict, resolveOrForbid } from "./workspace-admission.ts";
import { workspaceOwner } from "./workspace-owner.ts";
import { defaultBindingsOf, initializersOf, terminatorsOf, typePathOf } from "./workspace-types.ts";

export interface WorkspacePrerequisitesOptions extends TenancyDependencies {
  readonly externalUrl: () => string;
  readonly generatedNames: GeneratedNames;
  /** Called for a newly generated name. */
  readonly trackNewCluster: (cluster: ClusterName) => void;
  /** Deletes a logical cluster without an owner; also called when its existence is uncertain. */
  readonly deleteUnowned: (cluster: ClusterName) => Promise<void>;
  /** Schedules a check for an owner; the returned function cancels the check. */
  readonly scheduleOrphanCheck: (cluster: ClusterName) => () => void;
}

export function workspacePrerequisites(options: WorkspacePrerequisitesOptions): Prerequisites {
  return {
    async create(object, parentCluster, user) {
      const { cluster } = member(object, "spec") as { cluster?: ClusterName };
      if (cluster === undefined) return undefined;
      const isNameGenerated = options.generatedNames.consume(cluster);
      if (isNameGenerated) options.trackNewCluster(cluster);
      // Until the Workspace is stored its creation may still fail.
      const clear = options.scheduleOrphanCheck(cluster);
      await createFor(options, { object, cluster, isNameGenerated, parentCluster, user });
      return { commit: clear, rollback: () => options.deleteUnowned(cluster) };
    },
  };
}

function ownShardOf({ otherShards }: WorkspacePrerequisitesOptions): string {
  return otherShards?.ownName ?? shardName;
}

/** Undone by a check for an owner, where it is, when the Workspace is not stored afterwards. */
async function createOnItsShard(
  options: WorkspacePrerequisitesOptions,
  wanted: NewLogicalCluster,
): Promise<"made" | "taken"> {
  const { otherShards } = options;
  const { cluster, ...content } = wanted;
  if (otherShards?.shardOf(cluster) === undefined) return createLogicalCluster(options, wanted);
  const made = await otherShards.ask(cluster, "createCluster", content as unknown as JsonObject);
  return made === "taken" ? "taken" : "made";
}

interface LogicalClusterInput {
  readonly object: JsonObject;
  readonly cluster: ClusterName;
  /** True for a generated name, which is unique. */
  readonly isNameGenerated: boolean;
  readonly parentCluster: ClusterName;
  readonly user: UserInfo | undefined;
}

async function createFor(
  options: WorkspacePrerequisitesOptions,
  { object, cluster, isNameGenerated, parentCluster, user }: LogicalClusterInput,
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
  const made = await createOnItsShard(options, {
    cluster,
    isNameGenerated,
    annotations: {
      [annotation.path]: `${parent?.path ?? parentCluster}:${name}`,
      [annotation.shard]: options.otherShards?.shardOf(cluster) ?? ownShardOf(options),
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
    // Members of system:masters are not recorded: the owner is the one that they set.
    createdBy: user === undefined || isSystemMaster(user) ? owner : user,
    adminName: owner?.username,
    initializers,
    terminators: type === undefined ? [] : terminatorsOf(type),
    // The initializers of the Workspace, which follows its logical cluster only when that changes.
    waiting: textsOf(member(object, "status")["initializers"]),
    bindings: type === undefined ? [] : defaultBindingsOf(type),
  });
  if (made === "taken") throw clusterNameConflict(name, cluster);
}
