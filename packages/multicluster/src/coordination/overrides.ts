/**
 * What is different in some of the clusters: patches of the spec of parts, by the labels of SyncTargets.
 *
 *     workloads.kcp.io/overrides: '[{"clusterSelector": {"matchLabels": {"region": "eu"}},
 *       "patches": [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "eu.example.com/app:1"}]}]'
 *
 * The annotation is the author's; without it, what the most specific Placement says counts. A patch that does not apply, or that changes a part's share,
 * stops everything: nothing is written with half of what was asked for, and nothing is moved.
 */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  parseJson,
} from "@kcp-ts/machinery/json";
import { applyJsonPatch, PatchError, readJsonPatch } from "@kcp-ts/machinery/patch";
import { SelectorSyntaxError, selectorFromLabelSelectorObject } from "@kcp-ts/machinery/selectors";
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import type { ClusterOverride } from "../api/index.ts";
import type { Policy } from "../scheduling/index.ts";
import { type DecideInput, type Decision, decide } from "./decide.ts";
import { PlacementError } from "./placement-error.ts";
import type { ClusterInfo } from "./standing.ts";
import type { CopyShare, Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

export const overridesAnnotation = "workloads.kcp.io/overrides";
/** Characters in the annotation. */
const overridesTextMax = 65_536;

/** Decides with the overrides that count; when they cannot be used, that is said, and nothing is done. */
export function decideWithOverrides(input: DecideInput): Decision {
  const { strategy, parent, targets, surroundings } = input;
  const decideIt = strategy.decide ?? decide;
  try {
    const overrides = overridesOf(parent.metadata.annotations, surroundings?.policy);
    if (overrides.length === 0) return decideIt(input);
    const overridden = withOverrides(strategy, overrides, targets);
    for (const { name } of targets) {
      overridden.specFor(parent, { replicas: strategy.asked(parent) }, name);
    }
    return decideIt({ ...input, strategy: overridden });
  } catch (error) {
    if (!(error instanceof PlacementError)) throw error;
    const { annotations: _, scale: __, ...rest } = decideIt({ ...input, problem: error.message });
    const none = { creations: [], updates: [], cuts: [], removals: [], lost: [], happenings: [] };
    return { ...rest, ...none, placementHistory: undefined };
  }
}

/** Throws a PlacementError that names the annotation. */
export function overridesOf(
  annotations: StringMap | undefined,
  policy: Policy | undefined,
): readonly ClusterOverride[] {
  const text = stringMember(annotations, overridesAnnotation);
  if (text === undefined || text.trim() === "") return policy?.overrides ?? [];
  const refused = (why: string) => new PlacementError(`annotation ${overridesAnnotation}: ${why}`);
  if (text.length > overridesTextMax) throw refused(`more than ${overridesTextMax} characters`);
  let value: JsonValue;
  try {
    ({ value } = parseJson(text));
  } catch (error) {
    if (error instanceof Error && error.name === "JsonSyntaxError") throw refused(error.message);
    throw error;
  }
  if (!Array.isArray(value) || !value.every(isOverride)) {
    throw refused('is a list of {"clusterSelector": {…}, "patches": [{"op", "path", "value"}]}');
  }
  return value as unknown as readonly ClusterOverride[];
}

function isOverride(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  const { clusterSelector, patches } = value as Record<string, JsonValue | undefined>;
  return (
    clusterSelector !== undefined &&
    isJsonObject(clusterSelector) &&
    Array.isArray(patches) &&
    (patches as JsonValue[]).every(
      (one) => isJsonObject(one) && typeof (one as { path?: unknown }).path === "string",
    )
  );
}

export function withOverrides(
  strategy: Strategy,
  overrides: readonly ClusterOverride[],
  targets: readonly Pick<ClusterInfo, "name" | "labels">[],
): Strategy {
  const labelsOf = new Map(targets.map(({ name, labels }) => [name, labels]));
  return {
    ...strategy,
    specFor(whole: Workload, share: CopyShare, cluster: string): JsonObject {
      const labels = labelsOf.get(cluster);
      let spec = strategy.specFor(whole, share, cluster);
      // A cluster that is not registered any more has no labels to be selected by.
      if (labels === undefined) return spec;
      const before = strategy.shareOf({ ...whole, spec });
      for (const override of overrides) spec = overridden(spec, override, cluster, labels);
      const after = strategy.shareOf({ ...whole, spec });
      if (!jsonEqual({ ...before }, { ...after })) {
        throw new PlacementError(`overrides for ${cluster}: they change its share of the replicas`);
      }
      return spec;
    },
  };
}

function overridden(
  spec: JsonObject,
  { clusterSelector, patches }: ClusterOverride,
  cluster: string,
  labels: StringMap,
): JsonObject {
  const refused = (why: string) => new PlacementError(`overrides for ${cluster}: ${why}`);
  try {
    if (!selectorFromLabelSelectorObject(clusterSelector).matches(labels)) return spec;
    const outside = patches.find(({ path }) => !path.startsWith("/spec/"));
    if (outside !== undefined) throw refused(`${outside.path} is not in /spec/`);
    const patch = readJsonPatch(parseJson(JSON.stringify(patches)));
    const { spec: changed } = applyJsonPatch({ spec }, patch) as { spec?: JsonValue };
    if (changed === undefined || !isJsonObject(changed)) throw refused("no spec is left");
    return changed;
  } catch (error) {
    const isRefusal = error instanceof PatchError || error instanceof SelectorSyntaxError;
    if (isRefusal) throw refused(error.message);
    throw error;
  }
}
