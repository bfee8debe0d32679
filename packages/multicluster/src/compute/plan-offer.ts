/**
 * What a compute workspace offers, from what was negotiated among its clusters. Pure.
 *
 * Schemas are named by what they say: the same API has the same schema, however often it is negotiated, and another one has another. Offered are kinds
 * in namespaces only: what has none would meet the objects of others in the clusters.
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
  /** What is synced where a SyncTarget does not say. */
  readonly resourcesDefault: readonly string[];
}

export interface PlannedComputeExport {
  /** In the order of their names. */
  readonly resources: readonly ExportedResource[];
  readonly claims: readonly ExportClaim[];
  readonly schemas: readonly ObjectInput<APIResourceSchema>[];
}

/** What syncing takes of what tenants have; the rest of it is theirs. */
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
    schema: {
      metadata: { name, ...(annotations === undefined ? {} : { annotations }) },
      spec,
    },
  };
}

/** The same text for the same value, in whatever order its members are. */
function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name] as JsonValue)}`);
  return `{${members.join()}}`;
}
