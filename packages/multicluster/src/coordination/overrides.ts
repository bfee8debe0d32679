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
import { runSync } from "@kcp-ts/machinery/base";
import {
  bounds,
  isBoundExceeded,
  parseBounded,
  WorkBudget,
  workBounds,
} from "@kcp-ts/machinery/bounds";
import {
  countValues,
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
  jsonEqual,
  setMember,
  shallowCopy,
} from "@kcp-ts/machinery/json";
import {
  applyJsonPatchResumable,
  JsonPatchBudget,
  type JsonPatchOperation,
  PatchError,
  readJsonPatch,
} from "@kcp-ts/machinery/patch";
import {
  type LabelSelector,
  SelectorSyntaxError,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
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
    value = parseBounded(bounds.embeddedText, text);
  } catch (error) {
    if (error instanceof JsonSyntaxError || isBoundExceeded(error)) throw refused(error.message);
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
  const patches = new OverridePatches(overrides);
  return {
    ...strategy,
    specFor(workload: Workload, share: CopyShare, cluster: string): JsonObject {
      const labels = labelsOf.get(cluster);
      const base = strategy.specFor(workload, share, cluster);
      // An Unregistered cluster has no labels that a selector could match.
      if (labels === undefined) return base;
      const spec = patches.apply(base, cluster, labels);
      const before = strategy.shareOf({ ...workload, spec: base });
      const after = strategy.shareOf({ ...workload, spec });
      if (!jsonEqual({ ...before }, { ...after })) {
        throw new PlacementError(`overrides for ${cluster}: they change its share of the replicas`);
      }
      return spec;
    },
  };
}

/**
 * The patches of a workload's overrides, each parsed once. What the patches of a cluster change is
 * computed once for all clusters that the same overrides select, and shared by their copies: the
 * other members of a spec, its replicas among them, may differ.
 */
class OverridePatches {
  readonly #overrides: readonly ClusterOverride[];
  readonly #parsed = new Map<ClusterOverride, ParsedOverride>();
  readonly #applied = new Map<string, AppliedPatches[]>();
  readonly #work = new WorkBudget(workBounds.overrides);
  readonly #budget = new JsonPatchBudget({ shiftedItemsMax: workBounds.overrides.unitsMax });

  constructor(overrides: readonly ClusterOverride[]) {
    this.#overrides = overrides;
  }

  apply(spec: JsonObject, cluster: string, labels: StringMap): JsonObject {
    const refused = (why: string) => new PlacementError(`overrides for ${cluster}: ${why}`);
    try {
      const parsed = this.#overrides.map((one) => this.#parse(one));
      const selected = [...parsed.keys()].filter((at) => parsed[at]?.selector.matches(labels));
      if (selected.length === 0) return spec;
      const operations = selected.flatMap((at) => parsed[at]?.operations ?? []);
      return this.#patched(spec, selected.join(), operations);
    } catch (error) {
      const isRefusal =
        error instanceof PatchError ||
        error instanceof SelectorSyntaxError ||
        isBoundExceeded(error);
      if (isRefusal) throw refused(error.message);
      throw error;
    }
  }

  #parse(override: ClusterOverride): ParsedOverride {
    let parsed = this.#parsed.get(override);
    if (parsed === undefined) {
      const value = override.patches as unknown as JsonValue;
      const { operations } = readJsonPatch({ value, duplicates: [] });
      parsed = { selector: selectorFromLabelSelectorObject(override.clusterSelector), operations };
      this.#parsed.set(override, parsed);
    }
    return parsed;
  }

  #patched(
    spec: JsonObject,
    selected: string,
    operations: readonly JsonPatchOperation[],
  ): JsonObject {
    const outside = operations.flatMap(pathsOf).find((path) => !path.startsWith("/spec/"));
    if (outside !== undefined)
      throw new PatchError("not-applicable", `${outside} is not in /spec/`);
    const known = this.#applied.get(selected) ?? [];
    this.#applied.set(selected, known);
    let applied = known.find(({ before, names }) =>
      names.every((name) => own(before, name) === own(spec, name)),
    );
    if (applied === undefined) {
      applied = this.#applyAnew(spec, operations);
      known.push(applied);
    }
    const patched = shallowCopy(spec);
    for (const name of applied.names) delete patched[name];
    for (const name of Object.keys(applied.after))
      setMember(patched, name, applied.after[name] as JsonValue);
    return patched;
  }

  #applyAnew(spec: JsonObject, operations: readonly JsonPatchOperation[]): AppliedPatches {
    const names = [...new Set(operations.flatMap(pathsOf).map(memberOf))];
    const before = Object.fromEntries(
      names.filter((name) => Object.hasOwn(spec, name)).map((name) => [name, own(spec, name)]),
    ) as JsonObject;
    this.#work.charge(countValues(before) + operations.length * valuesPerOperation);
    const { spec: after } = runSync(
      applyJsonPatchResumable({ spec: before }, { operations, strictErrors: [] }, this.#budget),
    ) as { spec?: JsonValue };
    if (after === undefined || !isJsonObject(after))
      throw new PatchError("not-applicable", "no spec is left");
    return { names, before, after };
  }
}

interface ParsedOverride {
  readonly selector: LabelSelector;
  readonly operations: readonly JsonPatchOperation[];
}

interface AppliedPatches {
  /** The members of the spec that the patches name. */
  readonly names: readonly string[];
  readonly before: JsonObject;
  readonly after: JsonObject;
}

/** Values that are copied in the time that an operation takes. */
const valuesPerOperation = 10;

function pathsOf({ path, from }: JsonPatchOperation): string[] {
  return from === undefined ? [path ?? ""] : [path ?? "", from];
}

/** The member of the spec in which a path is. */
function memberOf(path: string): string {
  const [, , token = ""] = path.split("/", 3);
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
