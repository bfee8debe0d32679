/** Two descriptions of one API: may objects of the one live in the other, and what suits both? Schemas, and what is no part of them. */
import { type Comparison, compareSchemas, type Finding } from "@kcp-ts/machinery/compat";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { readSchema, type SchemaProps, schemaToJson } from "@kcp-ts/machinery/schema";
import { type ApiResourceSpec, schemaDigest } from "../api/index.ts";

export interface ApiComparison {
  readonly verdict: Comparison["verdict"];
  /** What both allow, in the form of the existing one; undefined when incompatible. */
  readonly common: ApiResourceSpec | undefined;
  readonly findings: readonly Finding[];
}

export function compareApis(existing: ApiResourceSpec, next: ApiResourceSpec): ApiComparison {
  const facets = facetFindings(existing, next);
  if (facets.length > 0) return { verdict: "incompatible", common: undefined, findings: facets };
  const { verdict, common, findings } = compared(existing.openAPIV3Schema, next.openAPIV3Schema);
  if (common === undefined) return { verdict, common: undefined, findings };
  const subResources = existing.subResources ?? [];
  const kept = subResources.filter(({ name }) => has(next, name));
  const spec = {
    ...existing,
    openAPIV3Schema: common,
    ...(subResources.length === 0 ? {} : { subResources: kept }),
  };
  if (kept.length === subResources.length) return { verdict, common: spec, findings };
  const finding: Finding = { kind: "narrower", path: "/scale", message: "the subresource is gone" };
  return { verdict: "narrowable", common: spec, findings: [finding, ...findings] };
}

/** What cannot be met halfway. */
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
  readonly verdict: Comparison["verdict"];
  readonly common: JsonObject | undefined;
  readonly findings: readonly Finding[];
}

/** Many tenants have the same clusters: what was compared for one need not be for the next. */
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
    return { verdict: "compatible", common: existing, findings: [] };
  const [one, other] = [parsed(existing), parsed(next)];
  if (typeof one === "string") return unreadable(one);
  if (typeof other === "string") return unreadable(other);
  const { verdict, common, findings } = compareSchemas(one, other);
  // Unchanged, it stays the very same: no difference in writing, no write.
  if (verdict === "compatible") return { verdict, common: existing, findings: [] };
  return { verdict, common: common && (schemaToJson(common) as JsonObject), findings };
}

function parsed(schema: JsonObject): SchemaProps | string {
  const { schema: props, problems } = readSchema(schema);
  return props ?? problems.join("; ");
}

function unreadable(reason: string): ComparedSchemas {
  const message = `the schema cannot be read: ${reason}`;
  return {
    verdict: "incompatible",
    common: undefined,
    findings: [{ kind: "unknown", path: "", message }],
  };
}
