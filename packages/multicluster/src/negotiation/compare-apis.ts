/**
 * Compares two descriptions of one API: whether objects of one are valid in the other, and the API
 * that both accept. The comparison covers schemas, and properties outside of them.
 */
import { type Comparison, compareSchemas, type Finding } from "@kcp-ts/machinery/compat";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { readSchema, type SchemaProps, schemaToJson } from "@kcp-ts/machinery/schema";
import { type ApiResourceSpec, schemaDigest } from "../api/index.ts";

export interface ApiComparison {
  readonly compatibility: Comparison["verdict"];
  /** The API that both accept, in the form of the existing one; undefined when incompatible. */
  readonly common: ApiResourceSpec | undefined;
  readonly findings: readonly Finding[];
}

export function compareApis(existing: ApiResourceSpec, next: ApiResourceSpec): ApiComparison {
  const facets = facetFindings(existing, next);
  if (facets.length > 0)
    return { compatibility: "incompatible", common: undefined, findings: facets };
  const { compatibility, common, findings } = compared(
    existing.openAPIV3Schema,
    next.openAPIV3Schema,
  );
  if (common === undefined) return { compatibility, common: undefined, findings };
  const subResources = existing.subResources ?? [];
  const kept = subResources.filter(({ name }) => has(next, name));
  const spec = {
    ...existing,
    openAPIV3Schema: common,
    ...(subResources.length === 0 ? {} : { subResources: kept }),
  };
  if (kept.length === subResources.length) return { compatibility, common: spec, findings };
  const finding: Finding = { kind: "narrower", path: "/scale", message: "the subresource is gone" };
  return { compatibility: "narrowable", common: spec, findings: [finding, ...findings] };
}

/** Differences for which no common API exists. */
function facetFindings(existing: ApiResourceSpec, next: ApiResourceSpec): Finding[] {
  const findings: Finding[] = [];
  for (const facet of ["kind", "scope"] as const) {
    if (existing[facet] !== next[facet])
      findings.push({
        kind: "incompatible",
        path: facet,
        message: `was ${existing[facet]}, now ${next[facet]}`,
      });
  }
  const [was, is] = [has(existing, "status"), has(next, "status")];
  if (was !== is)
    findings.push({
      kind: "incompatible",
      path: "/status",
      message: is ? "the subresource is new" : "the subresource is gone",
    });
  return findings;
}

function has({ subResources = [] }: ApiResourceSpec, wanted: string): boolean {
  return subResources.some(({ name }) => name === wanted);
}

interface ComparedSchemas {
  readonly compatibility: Comparison["verdict"];
  readonly common: JsonObject | undefined;
  readonly findings: readonly Finding[];
}

/**
 * The number of cached comparisons: many tenants have the same clusters, and a comparison for one
 * tenant serves the next.
 */
const rememberedMax = 256;
const remembered = new Map<string, ComparedSchemas>();

function compared(existing: JsonObject, next: JsonObject): ComparedSchemas {
  const key = `${schemaDigest(existing)} ${schemaDigest(next)}`;
  const known = remembered.get(key);
  if (known !== undefined) {
    remembered.delete(key);
    remembered.set(key, known);
    return known;
  }
  const result = compare(existing, next);
  remembered.set(key, result);
  for (const oldest of remembered.keys()) {
    if (remembered.size <= rememberedMax) break;
    remembered.delete(oldest);
  }
  return result;
}

function compare(existing: JsonObject, next: JsonObject): ComparedSchemas {
  if (schemaDigest(existing) === schemaDigest(next))
    return { compatibility: "compatible", common: existing, findings: [] };
  const [one, other] = [parsed(existing), parsed(next)];
  if (typeof one === "string") return unreadable(one);
  if (typeof other === "string") return unreadable(other);
  const { verdict: result, common, findings } = compareSchemas(one, other);
  // An unchanged API is returned as the identical object: no difference in notation causes a write.
  if (result === "compatible") return { compatibility: result, common: existing, findings: [] };
  return {
    compatibility: result,
    common: common && (schemaToJson(common) as JsonObject),
    findings,
  };
}

function parsed(schema: JsonObject): SchemaProps | string {
  const { schema: props, problems } = readSchema(schema);
  return props ?? problems.join("; ");
}

function unreadable(reason: string): ComparedSchemas {
  const message = `the schema cannot be read: ${reason}`;
  return {
    compatibility: "incompatible",
    common: undefined,
    findings: [{ kind: "unknown", path: "", message }],
  };
}
