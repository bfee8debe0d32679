/** Computes the Partitions of a PartitionSet from the labels of shards. Pure. */
import { createHash } from "node:crypto";
import { generateName } from "@kcp-ts/machinery/names";
import {
  type LabelSelectorObject,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";

export type Labels = Readonly<Record<string, string>>;

export interface PartitionSetSpec {
  readonly dimensions: readonly string[];
  readonly shardSelector: LabelSelectorObject | undefined;
}

/**
 * The selectors of the Partitions by a canonical key: one for each combination of values that a
 * shard has. A shard without one of the labels belongs to none of them. Throws
 * `SelectorSyntaxError`.
 */
export function partitionSelectors(
  { dimensions, shardSelector }: PartitionSetSpec,
  shards: readonly Labels[],
): Map<string, LabelSelectorObject> {
  const selects = shardSelector && selectorFromLabelSelectorObject(shardSelector);
  const keys = new Set([...dimensions, ...Object.keys(shardSelector?.matchLabels ?? {})]);
  const expressions = shardSelector?.matchExpressions ?? [];
  const found = new Map<string, LabelSelectorObject>();
  if (keys.size === 0) return found;
  for (const labels of shards) {
    if (selects?.matches(labels) === false) continue;
    if (![...keys].every((key) => Object.hasOwn(labels, key))) continue;
    const matchLabels = Object.fromEntries([...keys].map((key) => [key, labels[key] as string]));
    const selector = {
      matchLabels,
      ...(expressions.length === 0 ? {} : { matchExpressions: expressions }),
    };
    found.set(selectorKey(selector), selector);
  }
  return found;
}

/** Two selectors with the same key are equal, except for the order of their labels. */
export function selectorKey(selector: LabelSelectorObject | undefined): string {
  const labels = Object.entries(selector?.matchLabels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const expressions = (selector?.matchExpressions ?? []).map(({ key, operator, values }) => [
    key,
    operator,
    values ?? [],
  ]);
  return JSON.stringify([labels, expressions]);
}

/**
 * The name that upstream's `generateName` makes of the set's name and the values of its dimensions,
 * but with a suffix that follows from the Partition's content: a second create, after a crash or by
 * another server, finds the existing Partition.
 */
export function partitionName(
  set: { readonly name: string; readonly uid: string },
  dimensions: readonly string[],
  selector: LabelSelectorObject,
): string {
  const values = [...new Set(dimensions)]
    .sort()
    .map((key) => `-${(selector.matchLabels?.[key] ?? "").toLowerCase()}`);
  // Label values may have characters that names may not.
  const stem = `${set.name}${values.join("").replaceAll(/[^a-z0-9-]/g, "-")}-`;
  const digest = createHash("sha256")
    .update(`${set.uid}\n${selectorKey(selector)}`)
    .digest();
  let at = 0;
  return generateName(stem, { next: () => digest.readUInt8(at++) / 256 });
}
