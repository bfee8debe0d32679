/**
 * Decides which of the requested names a CustomResourceDefinition gets. Names are assigned first
 * come, first served, among the definitions and built-in kinds of one group in one logical cluster.
 * Pure.
 */
import type { CrdNames } from "@kcp-ts/machinery/schema";
import { aggregate, quote } from "@kcp-ts/machinery/status";
import type { DefinitionCondition } from "./conditions.ts";

/** The names of other definitions and kinds. */
export interface TakenNames {
  /** Plurals, singulars and short names. */
  readonly resources: ReadonlySet<string>;
  /** Kinds and list kinds. */
  readonly kinds: ReadonlySet<string>;
}

export interface AcceptedNames {
  readonly names: CrdNames;
  readonly condition: DefinitionCondition;
}

export function takenNames(others: Iterable<CrdNames>): TakenNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { plural, singular, shortNames, kind, listKind } of others) {
    for (const name of [plural, singular, ...shortNames]) if (name !== "") resources.add(name);
    for (const name of [kind, listKind]) if (name !== "") kinds.add(name);
  }
  return { resources, kinds };
}

/** `asked` is spec.names, `accepted` the current status.acceptedNames. */
export function acceptNames(
  asked: CrdNames,
  accepted: CrdNames,
  { resources, kinds }: TakenNames,
): AcceptedNames {
  const names = { ...accepted };
  let conflict: { reason: string; message: string } | undefined;
  const refuse = (reason: string, taken: readonly string[]): void => {
    const message = aggregate(taken.map((name) => `${quote(name)} is already in use`));
    conflict = { reason, message };
  };
  const isFree = (name: string, own: string, taken: ReadonlySet<string>): boolean =>
    name === own || !taken.has(name);

  if (isFree(asked.plural, accepted.plural, resources)) names.plural = asked.plural;
  else refuse("PluralConflict", [asked.plural]);
  if (isFree(asked.singular, accepted.singular, resources)) names.singular = asked.singular;
  else refuse("SingularConflict", [asked.singular]);
  const own = new Set(accepted.shortNames);
  const takenShort = asked.shortNames.filter((name) => !own.has(name) && resources.has(name));
  if (takenShort.length === 0) names.shortNames = asked.shortNames;
  else refuse("ShortNamesConflict", takenShort);
  if (isFree(asked.kind, accepted.kind, kinds)) names.kind = asked.kind;
  else refuse("KindConflict", [asked.kind]);
  if (isFree(asked.listKind, accepted.listKind, kinds)) names.listKind = asked.listKind;
  else refuse("ListKindConflict", [asked.listKind]);
  names.categories = asked.categories;
  return { names, condition: namesCondition(conflict) };
}

function namesCondition(
  conflict: { readonly reason: string; readonly message: string } | undefined,
): DefinitionCondition {
  if (conflict === undefined)
    return {
      type: "NamesAccepted",
      status: "True",
      reason: "NoConflicts",
      message: "no conflicts found",
    };
  return { type: "NamesAccepted", status: "False", ...conflict };
}
