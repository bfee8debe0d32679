/**
 * Admission of Workspaces: resolves the type and authorizes its use, checks that the type is
 * allowed below the parent, and schedules the workspace to a logical cluster, all in the one write
 * that stores it. No work remains afterwards, unless controllers of its type have to initialize it.
 */
import type { AdmissionPlugin, AdmissionRequest, MutableObject } from "@kcp-ts/apiserver/admission";
import { isSystemMaster, type UserInfo } from "@kcp-ts/apiserver/request/user";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { neverAborted, type Random } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { type ClusterName, generateName } from "@kcp-ts/machinery/names";
import { type StatusError, statusError } from "@kcp-ts/machinery/status";
import { remainingInitializers } from "./bindings-initializer.ts";
import { shardHash } from "./cluster-names.ts";
import {
  type ChosenShard,
  logicalClusterKey,
  shardKey,
  type TenancyDependencies,
  type WantedShard,
} from "./dependencies.ts";
import type { GeneratedNames } from "./generated-names.ts";
import { type Condition, setCondition } from "./kinds/conditions.ts";
import { workspaceFinalizer, workspaces, workspaceTypes } from "./kinds/definitions.ts";
import { phaseLabel } from "./kinds/phases.ts";
import {
  annotation,
  type LogicalClusterRecord,
  member,
  reference,
  type WorkspaceTypeRecord,
} from "./records.ts";
import { isSchedulable, type ShardRecord, shardName } from "./shard.ts";
import { removeOwnerGroups } from "./workspace-owner.ts";
import { workspaceKey } from "./workspace-tree.ts";
import {
  type CanUseType,
  placementError,
  type ResolvedType,
  terminatorsOf,
  WorkspaceTypeError,
} from "./workspace-types.ts";

export interface WorkspaceAdmissionOptions extends TenancyDependencies {
  readonly random: Random;
  /** Initializers that the server itself runs, before a workspace is stored. */
  readonly ownInitializers: ReadonlySet<string>;
  readonly generatedNames: GeneratedNames;
}

export function workspaceAdmission(options: WorkspaceAdmissionOptions): AdmissionPlugin {
  return {
    name: "tenancy.kcp.io/Workspace",
    resources: [workspaces],
    mutate(request, draft, old) {
      if (request.operation === "CREATE") return admitCreate(options, request, draft);
      if (request.subresource === "" && old !== undefined) admitUpdate(request, draft, old);
      return undefined;
    },
  };
}

async function admitCreate(
  options: WorkspaceAdmissionOptions,
  request: AdmissionRequest,
  draft: MutableObject,
): Promise<void> {
  const { cluster, user } = request;
  const metadata: MutableObject = { ...member(draft, "metadata") };
  const name = nameFor(metadata, options.random);
  metadata["name"] = name;
  draft["metadata"] = metadata;
  const spec: MutableObject = { ...member(draft, "spec") };
  draft["spec"] = spec;
  if (!isSystemMaster(user)) {
    for (const field of ["cluster", "URL"])
      if (spec[field] !== undefined) throw refused(name, `spec.${field} cannot be set`);
  }
  const parent = await options.logicalClusterIndex.get(logicalClusterKey(cluster));
  if (parent?.isDeleted === true)
    throw refused(name, `the logical cluster ${cluster} is being deleted`);
  if (spec["cluster"] !== undefined)
    await requireUnusedCluster(options, name, String(spec["cluster"]));
  noteOwner(metadata, user, parent);
  if (spec["mount"] !== undefined) {
    if (spec["type"] !== undefined && !isSystemMaster(user))
      throw refused(name, "spec.mount and spec.type cannot be set together");
    draft["status"] = { phase: "Initializing" };
    return;
  }
  const type = await typeFor(options, { cluster, parent, user, name, spec });
  // The path is kept as written, so that a repeated apply changes nothing.
  const path = reference(spec["type"])?.path ?? type.type.path;
  spec["type"] = { name: type.type.name, path };
  addLabels(metadata, type.type.labels);
  draft["status"] = await scheduleWorkspace(options, {
    metadata,
    spec,
    type,
    parent,
    cluster,
    name,
  });
}

/**
 * An existing logical cluster belongs to another Workspace, or has none on purpose: homes and root
 * have no Workspace.
 */
async function requireUnusedCluster(
  { logicalClusterIndex }: TenancyDependencies,
  name: string,
  cluster: string,
): Promise<void> {
  const found = await logicalClusterIndex.get(logicalClusterKey(cluster as ClusterName));
  if (found !== undefined) throw clusterNameConflict(name, cluster);
}

export function clusterNameConflict(name: string, cluster: string): StatusError {
  return refused(name, `the logical cluster ${cluster} exists already`);
}

/** Generates the name in admission, because the name is part of the URL. */
function nameFor({ name, generateName: prefix }: MutableObject, random: Random): string {
  if (typeof name === "string" && name !== "") return name;
  return typeof prefix === "string" && prefix !== "" ? generateName(prefix, random) : "";
}

interface WorkspaceInput {
  readonly cluster: ClusterName;
  readonly parent: LogicalClusterRecord | undefined;
  readonly user: UserInfo;
  readonly name: string;
  readonly spec: JsonObject;
}

/** The requested type, or the parent's default; the creator must have the permission to use it. */
async function typeFor(
  { types, mayUse }: WorkspaceAdmissionOptions,
  { cluster, parent, user, name, spec }: WorkspaceInput,
): Promise<ResolvedType> {
  const given = reference(spec["type"]);
  try {
    // The limits on child workspaces are unknown without the parent's type.
    const parentType = await typeOf(types, parent, given === undefined ? "parent" : "workspace");
    const asked = given ?? parentType?.type.defaultChild ?? { name: "universal", path: "root" };
    const mayUseType: CanUseType = (at, type) => mayUse(user, at, type);
    const type = await types.findFor(mayUseType, asked, parent?.path ?? cluster);
    const error = placementError(type, parentType);
    if (error !== undefined) throw refused(name, error);
    return type;
  } catch (error) {
    throw toForbidden(name, error);
  }
}

function toForbidden(name: string, error: unknown): unknown {
  return error instanceof WorkspaceTypeError ? refused(name, error.message) : error;
}

/** A type may have become invalid since it was last resolved. */
export async function resolveOrForbid(
  types: TenancyDependencies["types"],
  type: WorkspaceTypeRecord,
  name: string,
): Promise<ResolvedType> {
  try {
    return await types.resolve(type);
  } catch (error) {
    throw toForbidden(name, error);
  }
}

async function typeOf(
  types: TenancyDependencies["types"],
  parent: LogicalClusterRecord | undefined,
  word: "parent" | "workspace",
): Promise<ResolvedType | undefined> {
  const at = parent?.type?.lastIndexOf(":") ?? -1;
  if (parent?.type === undefined || at < 0) return undefined;
  const found = await types.find(parent.type.slice(0, at), parent.type.slice(at + 1));
  if (found !== undefined) return types.resolve(found);
  const { message } = statusError.notFound(workspaceTypes, parent.type);
  throw new WorkspaceTypeError(`${word} type cannot be resolved: ${message}`);
}

interface Placement {
  readonly metadata: MutableObject;
  readonly spec: MutableObject;
  readonly type: ResolvedType;
  readonly parent: LogicalClusterRecord | undefined;
  readonly cluster: ClusterName;
  readonly name: string;
}

/** Schedules the workspace to a logical cluster, if a shard matches; returns its status. */
async function scheduleWorkspace(
  options: WorkspaceAdmissionOptions,
  { metadata, spec, type, parent, cluster, name }: Placement,
): Promise<JsonObject> {
  const { clock, ownInitializers, generatedNames } = options;
  const { selector } = member(spec, "location");
  const shard = await chooseShard(options, {
    parent: cluster,
    selector: isJsonObject(selector) ? selector : undefined,
  });
  if (shard === undefined) {
    addLabels(metadata, { [phaseLabel]: "Scheduling" });
    return statusOf("Scheduling", [unschedulable], clock.now());
  }
  const own = String(spec["cluster"] ?? generatedNames.generate(shard.name));
  spec["cluster"] = own;
  spec["URL"] = `${shard.externalUrl}/clusters/${parent?.path ?? cluster}:${name}`;
  metadata["annotations"] = {
    ...member(metadata, "annotations"),
    [annotation.shard]: shard.name,
    [annotation.shardHash]: shardHash(shard.name),
    [annotation.cluster]: own,
  };
  const finalizers = (metadata["finalizers"] ?? []) as readonly string[];
  if (!finalizers.includes(workspaceFinalizer))
    metadata["finalizers"] = [...finalizers, workspaceFinalizer];
  const waiting = await remainingInitializers(options, own as ClusterName, type, ownInitializers);
  const terminators = terminatorsOf(type);
  const phase = waiting.length > 0 ? "Initializing" : "Ready";
  addLabels(metadata, regionOf(shard));
  metadata["labels"] = { ...member(metadata, "labels"), [phaseLabel]: phase };
  if (phase === "Ready") removeOwnerGroups(metadata);
  return {
    ...statusOf(phase, [scheduled, initialized(waiting)], clock.now()),
    ...(waiting.length > 0 ? { initializers: [...waiting] } : {}),
    ...(terminators.length > 0 ? { terminators: [...terminators] } : {}),
  };
}

async function chooseShard(
  { shardIndex, otherShards }: WorkspaceAdmissionOptions,
  wanted: WantedShard,
): Promise<ChosenShard | undefined> {
  if (otherShards !== undefined) return otherShards.choose(wanted);
  const shard = await shardIndex.get(shardKey);
  if (shard === undefined || !isSchedulable(shard, wanted.selector)) return undefined;
  return { ...shard, name: shardName };
}

const scheduled: Condition = { type: "WorkspaceScheduled", status: "True" };
const unschedulable: Condition = {
  type: "WorkspaceScheduled",
  status: "False",
  severity: "Error",
  reason: "Unschedulable",
  message: "No available shards to schedule the workspace",
};

export function initialized(waiting: readonly string[]): Condition {
  if (waiting.length === 0) return { type: "WorkspaceInitialized", status: "True" };
  return {
    type: "WorkspaceInitialized",
    status: "False",
    severity: "Info",
    reason: "InitializerExists",
    message: `Initializers still exist: [${waiting.join(" ")}]`,
  };
}

function statusOf(phase: string, conditions: readonly Condition[], nowMs: number): JsonObject {
  let list: JsonObject[] = [];
  for (const condition of conditions) list = setCondition(list, condition, nowMs);
  return { phase, conditions: list };
}

/**
 * Records the creator, with all attributes until the workspace is ready; members of system:masters
 * are not recorded.
 */
function noteOwner(
  metadata: MutableObject,
  user: UserInfo,
  parent: LogicalClusterRecord | undefined,
): void {
  const annotations: MutableObject = { ...member(metadata, "annotations") };
  if (!isSystemMaster(user)) {
    const { username, uid, groups, extra } = user;
    annotations[annotation.owner] = JSON.stringify({
      username,
      ...(uid === undefined ? {} : { uid }),
      groups,
      ...(extra === undefined ? {} : { extra }),
    });
  }
  if (parent?.requiredGroups === undefined) {
    if (!isSystemMaster(user)) delete annotations[annotation.requiredGroups];
  } else annotations[annotation.requiredGroups] = parent.requiredGroups;
  metadata["annotations"] = annotations;
}

function addLabels(metadata: MutableObject, labels: JsonObject | undefined): void {
  if (labels === undefined) return;
  // Labels of the creator take precedence over those of the type.
  metadata["labels"] = { ...labels, ...member(metadata, "labels") };
}

function regionOf({ labels }: ShardRecord): JsonObject | undefined {
  return labels["region"] === undefined ? undefined : { region: labels["region"] };
}

const fixedFields = ["type", "cluster", "URL", "mount"] as const;
const fixedAnnotations = [annotation.owner, annotation.requiredGroups, annotation.cluster] as const;

/** Restores the fields that only the system writes. */
function admitUpdate(
  { user, name }: AdmissionRequest,
  draft: MutableObject,
  old: JsonObject,
): void {
  if (isSystemMaster(user)) return;
  const [spec, oldSpec] = [member(draft, "spec"), member(old, "spec")];
  for (const field of fixedFields) {
    if (
      JSON.stringify(spec[field]) !== JSON.stringify(oldSpec[field]) &&
      oldSpec[field] !== undefined
    )
      throw refused(name, `spec.${field} is immutable`);
    if (oldSpec[field] === undefined && spec[field] !== undefined && field !== "type")
      throw refused(name, `spec.${field} cannot be set`);
  }
  const metadata = member(draft, "metadata");
  const annotations: MutableObject = { ...member(metadata, "annotations") };
  const oldAnnotations = member(member(old, "metadata"), "annotations");
  for (const key of fixedAnnotations) {
    const before = oldAnnotations[key];
    // A client that replaces the object need not send these annotations.
    if (annotations[key] === undefined && before !== undefined) annotations[key] = before;
    if (annotations[key] !== before) throw refused(name, `annotation ${key} is immutable`);
  }
  draft["metadata"] = { ...metadata, annotations };
}

function refused(name: string, message: string): StatusError {
  return statusError.forbidden(workspaces, name, message);
}

/**
 * Schedules a workspace that was unschedulable at its creation, with the current state; undefined
 * if it still is.
 */
export async function scheduleAgain(
  options: WorkspaceAdmissionOptions,
  cluster: ClusterName,
  name: string,
): Promise<JsonObject | undefined> {
  const { watchCache, types, logicalClusterIndex } = options;
  const entry = await watchCache.get(workspaceKey(cluster, name), { kind: "latest" }, neverAborted);
  if (entry === undefined) return undefined;
  const object = decodeObject(entry);
  const [metadata, spec] = [{ ...member(object, "metadata") }, { ...member(object, "spec") }];
  const wanted = reference(spec["type"]);
  const found = wanted?.path === undefined ? undefined : await types.find(wanted.path, wanted.name);
  if (found === undefined || spec["cluster"] !== undefined) return undefined;
  const type = await types.resolve(found);
  const parent = await logicalClusterIndex.get(logicalClusterKey(cluster));
  const status = await scheduleWorkspace(options, { metadata, spec, type, parent, cluster, name });
  return spec["cluster"] === undefined ? undefined : { ...object, metadata, spec, status };
}
