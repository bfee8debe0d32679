/**
 * The content of a compute export, from the negotiated APIs of its clusters. Pure.
 *
 * Schemas are named by a hash of their content: the same API has the same schema, however often it
 * is negotiated, and another API has another. Only namespaced kinds are exported: cluster-scoped
 * objects of several tenants would collide in the clusters.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { ObjectInput } from "@kcp-ts/sdk";
import {
  groupOf,
  hashDigits,
  isSyncedNative,
  type NegotiatedAPIResource,
  type SyncTarget,
} from "../api/index.ts";
import { definitionFor, isPublished } from "../negotiation/index.ts";
import type { APIResourceSchema, ExportClaim, ExportedResource } from "./compute-export.ts";

export interface ComputeExportInput {
  readonly negotiated: readonly NegotiatedAPIResource[];
  readonly targets: readonly SyncTarget[];
  /** The synced resources of a SyncTarget that does not list any. */
  readonly resourcesDefault: readonly string[];
}

export interface PlannedComputeExport {
  /** The resources, sorted by name. */
  readonly resources: readonly ExportedResource[];
  readonly claims: readonly ExportClaim[];
  readonly schemas: readonly ObjectInput<APIResourceSchema>[];
}

/** The verbs that syncing needs on tenants' objects; tenants keep all others for themselves. */
const claimedVerbs = ["get", "list", "watch", "patch"];
const schemaDigits = 12;

export function planComputeExport({
  negotiated,
  targets,
  resourcesDefault,
}: ComputeExportInput): PlannedComputeExport {
  const offered = negotiated
    .filter((one) => one.spec.scope === "Namespaced" && isPublished(one))
    .map(schemaOf)
    .sort((a, b) => (a.resource.schema < b.resource.schema ? -1 : 1));
  const wanted = targets.flatMap(({ spec }) => spec?.resources ?? resourcesDefault);
  const natives = [...new Set(wanted.filter(isSyncedNative))].sort();
  return {
    resources: inOrder(offered.map(({ resource }) => resource)),
    claims: natives.map((resource) => ({ group: "", resource, verbs: claimedVerbs })),
    schemas: offered.map(({ schema }) => schema),
  };
}

export function inOrder(resources: readonly ExportedResource[]): readonly ExportedResource[] {
  const id = ({ name, group = "" }: ExportedResource) => `${name}.${group}`;
  return resources.toSorted((a, b) => (id(a) < id(b) ? -1 : 1));
}

function schemaOf(negotiated: NegotiatedAPIResource): {
  readonly resource: ExportedResource;
  readonly schema: ObjectInput<APIResourceSchema>;
} {
  const { metadata, spec: definition } = definitionFor(negotiated.spec, negotiated);
  const group = groupOf(negotiated.spec.groupVersion);
  const { plural } = negotiated.spec;
  const spec = {
    group,
    names: definition.names,
    scope: definition.scope,
    versions: definition.versions.map(({ schema, ...version }) => ({
      ...version,
      schema: schema?.openAPIV3Schema ?? {},
    })),
  } as unknown as JsonObject;
  const digest = hashDigits(canonical(spec), schemaDigits);
  const name = `rev-${digest}.${plural}.${group === "" ? "core" : group}`;
  const { annotations } = metadata;
  return {
    resource: { name: plural, group, schema: name },
    schema: { metadata: { name, ...(annotations === undefined ? {} : { annotations }) }, spec },
  };
}

/** The canonical JSON of a value, independent of the order of its members. */
function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name] as JsonValue)}`);
  return `{${members.join()}}`;
}
