/**
 * Overrides: patches of the spec of per-cluster objects, selected by the labels of SyncTargets.
 *
 *     workload.kcp.io/overrides: '[{"clusterSelector": {"matchLabels": {"region": "eu"}},
 *       "patches": [{"op": "replace", "path": "/spec/template/spec/containers/0/image",
 *       "value": "eu.example.com/app:1"}]}]'
 *
 * The workload's annotation takes precedence over the most specific Placement. A patch that does
 * not apply, or that changes the replicas of a copy, stops the decision: no object is written with
 * a part of the overrides, and nothing moves.
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
import type { ClusterInfo } from "./cluster-state.ts";
import { type DecideInput, type Decision, decide } from "./decide.ts";
import { PlacementError } from "./placement-error.ts";
import type { CopyShare, Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

export const overridesAnnotation = "workload.kcp.io/overrides";
/** The longest accepted annotation, in characters. */
const overridesTextMax = 65_536;

/**
 * Decides with the applicable overrides; when they are invalid, the status reports it and nothing
 * else changes.
 */
export function decideWithOverrides(input: DecideInput): Decision {
  const { strategy, parent, targets, scheduling } = input;
  const decideIt = strategy.decide ?? decide;
  try {
    const overrides = overridesOf(parent.metadata.annotations, scheduling?.policy);
    if (overrides.length === 0) return decideIt(input);
    const overridden = withOverrides(strategy, overrides, targets);
    for (const { name } of targets) {
      overridden.specFor(parent, { replicas: strategy.desiredReplicas(parent) }, name);
    }
    return decideIt({ ...input, strategy: overridden });
  } catch (error) {
    if (!(error instanceof PlacementError)) throw error;
    const { scale: _, ...rest } = decideIt({ ...input, problem: error.message });
    const none = {
      creations: [],
      updates: [],
      scaleDowns: [],
      removals: [],
      unreachableClusters: [],
      events: [],
    };
    const { conditions = [] } = rest.record;
    return { ...rest, ...none, record: { ...input.record, conditions } };
  }
}

/** The applicable overrides. Throws a PlacementError that names the annotation. */
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
    specFor(workload: Workload, share: CopyShare, cluster: string): JsonObject {
      const labels = labelsOf.get(cluster);
      let spec = strategy.specFor(workload, share, cluster);
      // An Unregistered cluster has no labels that a selector could match.
      if (labels === undefined) return spec;
      const before = strategy.shareOf({ ...workload, spec });
      for (const override of overrides) spec = overridden(spec, override, cluster, labels);
      const after = strategy.shareOf({ ...workload, spec });
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
