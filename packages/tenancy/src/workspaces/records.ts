/**
 * Small records of Workspaces, LogicalClusters and WorkspaceTypes with the fields that decisions
 * need, because there can be very many.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Phase } from "./kinds/phases.ts";

export const annotation = {
  path: "kcp.io/path",
  type: "internal.tenancy.kcp.io/type",
  owner: "experimental.tenancy.kcp.io/owner",
  requiredGroups: "authorization.kcp.io/required-groups",
  shard: "core.kcp.io/shard",
  shardHash: "internal.tenancy.kcp.io/shard",
  cluster: "internal.tenancy.kcp.io/cluster",
  maxTotalObjects: "core.kcp.io/max-total-objects",
} as const;

/** An edge of the workspace tree. */
export interface WorkspaceRecord {
  readonly cluster: ClusterName | undefined;
  readonly phase: Phase;
  /** Set when the workspace is a mount: the target of its requests. */
  readonly mountUrl: string | undefined;
}

export interface LogicalClusterRecord {
  readonly phase: Phase;
  /** The canonical path of the cluster; undefined when it is not set. */
  readonly path: string | undefined;
  /** `<path>:<name>` of its type. */
  readonly type: string | undefined;
  readonly requiredGroups: string | undefined;
  readonly isDeleted: boolean;
  readonly initializers: readonly string[];
  readonly terminators: readonly string[];
  /** The maximum of objects, 0 or less for any number; undefined when it is not set. */
  readonly objectsMax: number | undefined;
}

/** The issuers whose tokens are accepted in the workspaces of a type. */
export interface AuthenticationRecord {
  readonly name: string;
  readonly jwt: readonly JsonValue[];
}

export function readAuthentication(object: JsonObject): AuthenticationRecord {
  const { jwt } = member(object, "spec");
  return {
    name: String(member(object, "metadata")["name"]),
    jwt: Array.isArray(jwt) ? (jwt as readonly JsonValue[]) : [],
  };
}

export interface TypeReference {
  readonly name: string;
  readonly path: string | undefined;
}

export interface TypeLimit {
  readonly none: boolean;
  readonly types: readonly TypeReference[];
}

/** An export that workspaces of a type bind from their creation. */
export interface DefaultBinding {
  readonly path: string;
  readonly export: string;
}

export interface WorkspaceTypeRecord {
  readonly name: string;
  readonly cluster: ClusterName;
  /** The path of the export's workspace. */
  readonly path: string;
  readonly hasInitializer: boolean;
  readonly hasTerminator: boolean;
  readonly extends: readonly TypeReference[];
  readonly labels: JsonObject | undefined;
  readonly defaultChild: TypeReference | undefined;
  readonly allowedChildren: TypeLimit | undefined;
  readonly allowedParents: TypeLimit | undefined;
  readonly defaultBindings: readonly DefaultBinding[];
  /** Names of WorkspaceAuthenticationConfigurations in the type's workspace. */
  readonly authenticationConfigurations: readonly string[];
  /** Whether existing workspaces follow changes of the default bindings. */
  readonly maintainsBindings: boolean;
}

export function readWorkspace(object: JsonObject): WorkspaceRecord {
  const spec = member(object, "spec");
  const status = member(object, "status");
  return {
    cluster: optional(spec["cluster"]) as ClusterName | undefined,
    phase: (status["phase"] ?? "Scheduling") as Phase,
    mountUrl: spec["mount"] === undefined ? undefined : (optional(spec["URL"]) ?? ""),
  };
}

const none: readonly string[] = [];

export function readLogicalCluster(object: JsonObject): LogicalClusterRecord {
  const metadata = member(object, "metadata");
  const annotations = member(metadata, "annotations");
  const status = member(object, "status");
  return {
    phase: (status["phase"] ?? "Scheduling") as Phase,
    path: optional(annotations[annotation.path]),
    type: optional(annotations[annotation.type]),
    requiredGroups: optional(annotations[annotation.requiredGroups]),
    isDeleted: metadata["deletionTimestamp"] !== undefined,
    initializers: texts(status["initializers"]),
    terminators: texts(status["terminators"]),
    objectsMax: integer(annotations[annotation.maxTotalObjects]),
  };
}

export function readWorkspaceType(object: JsonObject): WorkspaceTypeRecord {
  const metadata = member(object, "metadata");
  const annotations = member(metadata, "annotations");
  const spec = member(object, "spec");
  const cluster = String(annotations["kcp.io/cluster"]) as ClusterName;
  return {
    name: String(metadata["name"]),
    cluster,
    path: optional(annotations[annotation.path]) ?? cluster,
    hasInitializer: spec["initializer"] === true,
    hasTerminator: spec["terminator"] === true,
    extends: references(member(spec, "extend")["with"]),
    labels: isJsonObject(spec["additionalWorkspaceLabels"])
      ? spec["additionalWorkspaceLabels"]
      : undefined,
    defaultChild: reference(spec["defaultChildWorkspaceType"]),
    allowedChildren: limit(spec["limitAllowedChildren"]),
    allowedParents: limit(spec["limitAllowedParents"]),
    defaultBindings: defaultBindings(spec["defaultAPIBindings"], cluster),
    authenticationConfigurations: references(spec["authenticationConfigurations"]).map(
      ({ name }) => name,
    ),
    maintainsBindings: spec["defaultAPIBindingLifecycle"] === "Maintain",
  };
}

/** A binding without a path refers to the workspace of the type. */
function defaultBindings(
  value: JsonValue | undefined,
  own: ClusterName,
): readonly DefaultBinding[] {
  if (!Array.isArray(value)) return [];
  return (value as readonly JsonValue[]).filter(isJsonObject).flatMap((one) => {
    const name = optional(one["export"]);
    return name === undefined ? [] : [{ path: optional(one["path"]) ?? own, export: name }];
  });
}

export function reference(value: JsonValue | undefined): TypeReference | undefined {
  if (!isJsonObject(value) || typeof value["name"] !== "string") return undefined;
  return { name: value["name"], path: optional(value["path"]) };
}

function references(value: JsonValue | undefined): readonly TypeReference[] {
  if (!Array.isArray(value)) return [];
  return (value as readonly JsonValue[]).flatMap((one) => reference(one) ?? []);
}

function limit(value: JsonValue | undefined): TypeLimit | undefined {
  if (!isJsonObject(value)) return undefined;
  return { none: value["none"] === true, types: references(value["types"]) };
}

export function member(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

function optional(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Parses like Go's ParseInt; any other value counts as not set, as in kcp. */
function integer(value: JsonValue | undefined): number | undefined {
  return typeof value === "string" && /^[+-]?\d{1,18}$/.test(value) ? Number(value) : undefined;
}

function texts(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) && value.length > 0 ? (value as readonly string[]) : none;
}
