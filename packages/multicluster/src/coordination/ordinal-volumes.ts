/**
 * PersistentVolumeClaims of a StatefulSet's volumeClaimTemplates, one for each ordinal. They are
 * created in the logical cluster and not in the clusters, under the names that a cluster would give
 * them, so that they can move with their ordinal; `volumes` creates and moves them, by the
 * requested ordinals of the placement record. Pure.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { stringMember } from "@kcp-ts/sdk";
import {
  assignedTargets,
  jsonObjectOf,
  specDiffAnnotation,
  statusAnnotation,
  volumeClusterAnnotation,
  volumesAnnotation,
} from "../api/index.ts";
import type { ClusterInfo } from "./cluster-state.ts";
import type { OrdinalVolumes } from "./stepper/move-ordinals.ts";
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

/** The name of the claim, as the StatefulSet controller forms it. */
export function ordinalClaimName(template: string, set: string, ordinal: number): string {
  return `${template}-${set}-${ordinal}`;
}

/**
 * Claims move to no cluster that does not sync them: such a cluster creates its claims itself, and
 * these stay there.
 */
export function syncsClaims({ synced }: Pick<ClusterInfo, "synced">): boolean {
  return synced?.includes("persistentvolumeclaims") === true;
}

const textMax = 65_536;

/**
 * The volumes of the ordinals; undefined for a set without volumeClaimTemplates, and where claims
 * were not read.
 */
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

/** From the phase `fencing` on, the migration permits the claim to leave its cluster. */
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

/**
 * The claim is bound in the cluster; or it waits there for its first Pod, unless it was migrated
 * from another cluster.
 */
function isInPlace(claim: Workload, cluster: string): boolean {
  const phase = claimPhaseIn(claim, cluster);
  if (phase === "Bound") return stateOf(claim, cluster) === "bound";
  const { annotations } = claim.metadata;
  const wasBrought = stringMember(annotations, specDiffAnnotation(cluster)) !== undefined;
  return phase !== "" && homeOf(claim) === cluster && !wasBrought;
}

/**
 * The phase that a cluster reports for its claim; empty when it has reported none, and so may not
 * have the claim.
 */
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
