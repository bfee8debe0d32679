/**
 * One API, as it is imported from several clusters: what all of them accept. Pure, and the same whatever order the clusters came in.
 *
 * What is published is a promise to those who have written objects: it may always become wider, and narrower only for the sake of an import
 * whose strategy says so (UpdatePublished). A cluster that would need it narrower is left out, and told which fields it lacks.
 */
import type { Finding } from "@kcp-ts/machinery/compat";
import type { ApiResourceSpec, SchemaUpdateStrategy } from "../api/index.ts";
import { compareApis } from "./compare-apis.ts";

export interface ImportMember {
  /** Of the import. */
  readonly name: string;
  readonly location: string;
  readonly strategy: SchemaUpdateStrategy;
  readonly api: ApiResourceSpec;
}

export interface NegotiationResult {
  /** What all who take part accept. */
  readonly api: ApiResourceSpec;
  /** By the name of the import. */
  readonly verdicts: ReadonlyMap<string, ImportCompatibility>;
}

export type ImportCompatibility =
  | {
      readonly isCompatible: true;
      /** What it took away from those before it. */
      readonly narrowed: readonly Finding[];
    }
  | {
      readonly isCompatible: false;
      /** What stands in the way. */
      readonly findings: readonly Finding[];
      /** Another strategy would let it take part. */
      readonly isNarrowable: boolean;
    };

/** Not published yet, if `published` is left out. Undefined without members, and without anything published. */
export function negotiateImports(
  members: readonly ImportMember[],
  published?: ApiResourceSpec,
): NegotiationResult | undefined {
  const sorted = members.toSorted(byLocation);
  if (published === undefined) return foldAll(sorted);
  const verdicts = new Map<string, ImportCompatibility>();
  const taking: ImportMember[] = [];
  for (const member of sorted) {
    const { verdict, findings } = compareApis(published, member.api);
    if (verdict === "compatible" || member.strategy === "UpdatePublished") taking.push(member);
    else verdicts.set(member.name, refused(verdict, findings));
  }
  const folded = foldAll(taking);
  if (folded === undefined) return { api: published, verdicts };
  const mayNarrow = taking.some(({ strategy }) => strategy === "UpdatePublished");
  const isKept = mayNarrow || compareApis(published, folded.api).verdict === "compatible";
  if (isKept) return { ...folded, verdicts: new Map([...folded.verdicts, ...verdicts]) };
  // All of them accept what is published, but what they have in common could not be said without loss.
  for (const { name } of taking) verdicts.set(name, { isCompatible: true, narrowed: [] });
  return { api: published, verdicts };
}

/** All for one: whoever is only compared comes last, and changes nothing. */
export function compareImports(
  members: readonly ImportMember[],
  fixed: ApiResourceSpec,
): NegotiationResult {
  const verdicts = new Map<string, ImportCompatibility>();
  for (const { name, api } of members) {
    const { verdict, findings } = compareApis(fixed, api);
    const isCompatible = verdict === "compatible";
    verdicts.set(
      name,
      isCompatible
        ? { isCompatible, narrowed: [] }
        : { isCompatible, findings, isNarrowable: false },
    );
  }
  return { api: fixed, verdicts };
}

function foldAll(sorted: readonly ImportMember[]): NegotiationResult | undefined {
  const isPassive = ({ strategy }: ImportMember) => strategy === "UpdateNever";
  const order = [...sorted.filter((one) => !isPassive(one)), ...sorted.filter(isPassive)];
  let api: ApiResourceSpec | undefined;
  const verdicts = new Map<string, ImportCompatibility>();
  for (const member of order) {
    if (api === undefined) {
      api = member.api;
      verdicts.set(member.name, { isCompatible: true, narrowed: [] });
      continue;
    }
    const { verdict, common, findings } = compareApis(api, member.api);
    if (verdict === "incompatible" || (verdict === "narrowable" && isPassive(member))) {
      verdicts.set(member.name, refused(verdict, findings));
      continue;
    }
    const narrowed = verdict === "narrowable" ? findings : [];
    verdicts.set(member.name, { isCompatible: true, narrowed });
    api = common ?? api;
  }
  return api === undefined ? undefined : { api, verdicts };
}

function refused(
  verdict: "compatible" | "narrowable" | "incompatible",
  findings: readonly Finding[],
): ImportCompatibility {
  return { isCompatible: false, findings, isNarrowable: verdict === "narrowable" };
}

function byLocation(one: ImportMember, other: ImportMember): number {
  return one.location < other.location ? -1 : one.location > other.location ? 1 : 0;
}
