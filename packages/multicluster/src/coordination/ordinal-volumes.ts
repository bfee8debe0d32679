/**
 * Claims that a StatefulSet asks for by templates, one for each number. They are made here and not in the clusters, under the names that a cluster would give
 * them, so that they can go where their number goes; who makes and moves them is the room `volumes`, by what is asked for on the whole. Pure.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { stringMember } from "@kcp-ts/sdk";
import {
  assignedTargets,
  jsonObjectOf,
  requestedOrdinalsAnnotation,
  specDiffAnnotation,
  statusAnnotation,
  volumeClusterAnnotation,
  volumesAnnotation,
} from "../api/index.ts";
import type { OrdinalVolumes } from "./plan-ordinals.ts";
import type { OrdinalRange } from "./ranges.ts";
import type { ClusterInfo } from "./standing.ts";
import type { Workload } from "./workload.ts";

export interface ClaimTemplate {
  readonly name: string;
  readonly metadata: JsonObject;
  readonly spec: JsonObject;
}

export function claimTemplatesOf({
  spec,
}: {
  readonly spec?: JsonObject;
}): readonly ClaimTemplate[] {
  const { volumeClaimTemplates: found } = (spec ?? {}) as { volumeClaimTemplates?: JsonValue };
  const templates = Array.isArray(found) ? (found as readonly JsonValue[]) : [];
  return templates.filter(isJsonObject).flatMap((template) => {
    const { metadata, spec: wanted } = template as { metadata?: JsonValue; spec?: JsonValue };
    if (metadata === undefined || !isJsonObject(metadata)) return [];
    const { name } = metadata as { name?: JsonValue };
    if (typeof name !== "string" || name === "") return [];
    return [{ name, metadata, spec: wanted !== undefined && isJsonObject(wanted) ? wanted : {} }];
  });
}

/** As a cluster calls it. */
export function ordinalClaimName(template: string, set: string, ordinal: number): string {
  return `${template}-${set}-${ordinal}`;
}

/** Claims go to no cluster that does not sync them: there, they are born and stay. */
export function syncsClaims({ synced }: Pick<ClusterInfo, "synced">): boolean {
  return synced?.includes("persistentvolumeclaims") === true;
}

const textMax = 65_536;

/** What clusters are to have of a whole, by name. */
export function requestedOrdinals({
  metadata,
}: Pick<Workload, "metadata">): ReadonlyMap<string, OrdinalRange> {
  const text = stringMember(metadata.annotations, requestedOrdinalsAnnotation);
  const asks = new Map<string, OrdinalRange>();
  for (const [cluster, range] of Object.entries(jsonObjectOf(text, textMax) ?? {})) {
    const [, first, last] = /^(\d{1,10})-(\d{1,10})$/.exec(String(range)) ?? [];
    if (first !== undefined && last !== undefined)
      asks.set(cluster, { start: Number(first), end: Number(last) + 1 });
  }
  return asks;
}

/** Undefined for nothing. */
export function formatRequestedOrdinals(
  asks: ReadonlyMap<string, OrdinalRange>,
): string | undefined {
  const entries = [...asks].sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return undefined;
  const texts = entries.map(([name, { start, end }]) => [name, `${start}-${end - 1}`]);
  return JSON.stringify(Object.fromEntries(texts));
}

/** Undefined for a set without templates, and where claims were not read. */
export function ordinalVolumesOf(
  set: Workload,
  claims: readonly Workload[] | undefined,
  targets: readonly ClusterInfo[],
): OrdinalVolumes | undefined {
  const templates = claimTemplatesOf(set);
  if (templates.length === 0 || claims === undefined) return undefined;
  const byName = new Map(claims.map((claim) => [claim.metadata.name, claim]));
  const { name } = set.metadata;
  const of = (ordinal: number) =>
    templates.flatMap((one) => byName.get(ordinalClaimName(one.name, name, ordinal)) ?? []);
  const managed = new Set(targets.filter(syncsClaims).map((target) => target.name));
  const isComplete = (own: readonly Workload[]) => own.length === templates.length;
  return {
    isIn(ordinal, cluster) {
      const own = of(ordinal);
      if (own.length === 0 && !managed.has(cluster)) return true;
      return isComplete(own) && own.every((claim) => isInPlace(claim, cluster));
    },
    mayLeaveFor(ordinal, cluster) {
      const own = of(ordinal);
      if (own.length === 0 && !managed.has(cluster)) return true;
      return (
        isComplete(own) && own.every((claim) => migrationsUnderWay.has(stateOf(claim, cluster)))
      );
    },
    keptBy(ordinal) {
      const own = of(ordinal);
      const isRefused = own.some((claim) => Object.values(statesOf(claim)).includes("refused"));
      return isRefused ? homeOf(own[0]) : undefined;
    },
  };
}

/** From `fencing` on, the claim is allowed to leave where it is. */
const migrationsUnderWay: ReadonlySet<string> = new Set([
  "fencing",
  "detaching",
  "copying",
  "binding",
  "bound",
]);

function homeOf(claim: Workload | undefined): string | undefined {
  return stringMember(claim?.metadata.annotations, volumeClusterAnnotation);
}

function statesOf({ metadata }: Workload): Readonly<Record<string, string>> {
  const places = jsonObjectOf(stringMember(metadata.annotations, volumesAnnotation), textMax) ?? {};
  return Object.fromEntries(
    Object.entries(places).map(([cluster, place]) => [
      cluster,
      String((place as { state?: unknown } | null)?.state ?? ""),
    ]),
  );
}

function stateOf(claim: Workload, cluster: string): string {
  return statesOf(claim)[cluster] ?? "";
}

/** Bound there; or there to be bound for its first Pod, if it was not brought from elsewhere. */
function isInPlace(claim: Workload, cluster: string): boolean {
  const phase = claimPhaseIn(claim, cluster);
  if (phase === "Bound") return stateOf(claim, cluster) === "bound";
  const { annotations } = claim.metadata;
  const wasBrought = stringMember(annotations, specDiffAnnotation(cluster)) !== undefined;
  return phase !== "" && homeOf(claim) === cluster && !wasBrought;
}

/** What a cluster says of its claim; empty when it has said nothing, and so may not have it. */
export function claimPhaseIn(
  { metadata, status }: Pick<Workload, "metadata" | "status">,
  cluster: string,
): string {
  const assigned = assignedTargets(metadata.labels);
  if (!assigned.has(cluster)) return "";
  const said =
    assigned.size > 1
      ? jsonObjectOf(stringMember(metadata.annotations, statusAnnotation(cluster)), textMax)
      : (status as JsonObject | undefined);
  const { phase } = (said ?? {}) as { phase?: unknown };
  return typeof phase === "string" ? phase : "";
}
