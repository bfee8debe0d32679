/**
 * Negotiates one API from the imports of several clusters: the API that all of them accept. Pure,
 * and independent of the order of the clusters.
 *
 * A published API is a promise to the owners of stored objects: it may always become wider, and
 * become narrower only for an import whose strategy permits it (UpdatePublished). A cluster that
 * would require a narrower API is incompatible, and its import names the missing fields.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import type { Finding } from "@kcp-ts/machinery/compat";
import type { ApiResourceSpec, SchemaUpdateStrategy } from "../api/index.ts";
import { compareApis } from "./compare-apis.ts";

export interface ImportMember {
  /** The name of the import. */
  readonly name: string;
  readonly location: string;
  readonly strategy: SchemaUpdateStrategy;
  readonly api: ApiResourceSpec;
}

export interface NegotiationResult {
  /** The API that all compatible clusters accept. */
  readonly api: ApiResourceSpec;
  /** The compatibility by the name of the import. */
  readonly compatibility: ReadonlyMap<string, ImportCompatibility>;
}

export type ImportCompatibility =
  | {
      readonly isCompatible: true;
      /** The fields that this import narrowed. */
      readonly narrowed: readonly Finding[];
    }
  | {
      readonly isCompatible: false;
      /** The incompatible fields. */
      readonly findings: readonly Finding[];
      /** Another strategy would make the import compatible. */
      readonly isNarrowable: boolean;
    };

/**
 * Negotiates an unpublished API if `published` is omitted. Undefined without imports and without a
 * published API.
 */
export function* negotiateImports(
  members: readonly ImportMember[],
  published?: ApiResourceSpec,
): Resumable<NegotiationResult | undefined> {
  const sorted = members.toSorted(byLocation);
  if (published === undefined) return yield* foldAll(sorted);
  const results = new Map<string, ImportCompatibility>();
  const taking: ImportMember[] = [];
  for (const member of sorted) {
    const { compatibility, findings } = yield* compareApis(published, member.api);
    if (compatibility === "compatible" || member.strategy === "UpdatePublished")
      taking.push(member);
    else results.set(member.name, refused(compatibility, findings));
  }
  const folded = yield* foldAll(taking);
  if (folded === undefined) return { api: published, compatibility: results };
  const mayNarrow = taking.some(({ strategy }) => strategy === "UpdatePublished");
  const isKept =
    mayNarrow || (yield* compareApis(published, folded.api)).compatibility === "compatible";
  if (isKept) return { ...folded, compatibility: new Map([...folded.compatibility, ...results]) };
  // All imports accept the published API, but their common API could not be expressed without loss.
  for (const { name } of taking) results.set(name, { isCompatible: true, narrowed: [] });
  return { api: published, compatibility: results };
}

/**
 * Compares all imports with one API: imports that are only compared come last, and change nothing.
 */
export function* compareImports(
  members: readonly ImportMember[],
  fixed: ApiResourceSpec,
): Resumable<NegotiationResult> {
  const results = new Map<string, ImportCompatibility>();
  for (const { name, api } of members) {
    const { compatibility, findings } = yield* compareApis(fixed, api);
    const isCompatible = compatibility === "compatible";
    results.set(
      name,
      isCompatible
        ? { isCompatible, narrowed: [] }
        : { isCompatible, findings, isNarrowable: false },
    );
  }
  return { api: fixed, compatibility: results };
}

function* foldAll(sorted: readonly ImportMember[]): Resumable<NegotiationResult | undefined> {
  const isPassive = ({ strategy }: ImportMember) => strategy === "UpdateNever";
  const order = [...sorted.filter((one) => !isPassive(one)), ...sorted.filter(isPassive)];
  let api: ApiResourceSpec | undefined;
  const results = new Map<string, ImportCompatibility>();
  for (const member of order) {
    if (api === undefined) {
      api = member.api;
      results.set(member.name, { isCompatible: true, narrowed: [] });
      continue;
    }
    const { compatibility, common, findings } = yield* compareApis(api, member.api);
    if (compatibility === "incompatible" || (compatibility === "narrowable" && isPassive(member))) {
      results.set(member.name, refused(compatibility, findings));
      continue;
    }
    const narrowed = compatibility === "narrowable" ? findings : [];
    results.set(member.name, { isCompatible: true, narrowed });
    api = common ?? api;
  }
  return api === undefined ? undefined : { api, compatibility: results };
}

function refused(
  result: "compatible" | "narrowable" | "incompatible",
  findings: readonly Finding[],
): ImportCompatibility {
  return { isCompatible: false, findings, isNarrowable: result === "narrowable" };
}

function byLocation(one: ImportMember, other: ImportMember): number {
  return one.location < other.location ? -1 : one.location > other.location ? 1 : 0;
}
