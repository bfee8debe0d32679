/**
 * Compares two descriptions of one API: whether objects of one are valid in the other, and the API
 * that both accept. The comparison covers schemas, and properties outside of them.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
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

export function* compareApis(
  existing: ApiResourceSpec,
  next: ApiResourceSpec,
): Resumable<ApiComparison> {
  const facets = facetFindings(existing, next);
  if (facets.length > 0)
    return { compatibility: "incompatible", common: undefined, findings: facets };
  const { compatibility, common, findings } = yield* compared(
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
 * Cached comparisons: many tenants have the same clusters, and a comparison for one tenant serves
 * the next. A common schema is as large as the hostile one of a cluster may be, so their characters
 * are bounded, too.
 */
const cachedMax = 256;
const cachedCharactersMax = 8 << 20;
const cached = new Map<string, { readonly result: ComparedSchemas; readonly characters: number }>();
let cachedCharacters = 0;

function* compared(existing: JsonObject, next: JsonObject): Resumable<ComparedSchemas> {
  yield;
  const key = `${schemaDigest(existing)} ${schemaDigest(next)}`;
  const known = cached.get(key);
  if (known !== undefined) {
    cached.delete(key);
    cached.set(key, known);
    return known.result;
  }
  const result = yield* compare(existing, next);
  yield;
  const isNew = result.common !== undefined && result.common !== existing;
  const characters = isNew ? JSON.stringify(result.common).length : 0;
  cached.set(key, { result, characters });
  cachedCharacters += characters;
  for (const [oldest, entry] of cached) {
    if (cached.size <= cachedMax && cachedCharacters <= cachedCharactersMax) break;
    cached.delete(oldest);
    cachedCharacters -= entry.characters;
  }
  return result;
}

function* compare(existing: JsonObject, next: JsonObject): Resumable<ComparedSchemas> {
  if (schemaDigest(existing) === schemaDigest(next))
    return { compatibility: "compatible", common: existing, findings: [] };
  yield;
  const one = parsed(existing);
  if (typeof one === "string") return unreadable(one);
  yield;
  const other = parsed(next);
  if (typeof other === "string") return unreadable(other);
  const { verdict: result, common, findings } = yield* compareSchemas(one, other);
  yield;
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
