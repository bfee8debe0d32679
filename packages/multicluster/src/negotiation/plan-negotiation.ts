/**
 * The desired state of one resource in one logical cluster: which versions are negotiated, their
 * APIs, the published version, and the conditions of each import. Pure.
 *
 * One version of a resource is published, because versions cannot be converted into each other: the
 * version that most clusters are compatible with; among equals, the best by Kubernetes' version
 * priority. A published version stays as long as objects may be stored in it.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import { compareVersionPriority } from "@kcp-ts/machinery/schema";
import type { APIResourceImport, ApiResourceSpec, NegotiatedAPIResource } from "../api/index.ts";
import { apiOf, type Definition, isNegotiated, versionOf } from "./definitions.ts";
import {
  compareImports,
  type ImportCompatibility,
  type ImportMember,
  negotiateImports,
} from "./negotiate-imports.ts";

export interface NegotiationInput {
  /** The imports of all versions. */
  readonly imports: readonly APIResourceImport[];
  readonly negotiated: readonly NegotiatedAPIResource[];
  readonly definition: Definition | undefined;
  /** Whether a new API is published automatically. */
  readonly autoPublish: boolean;
}

export interface NegotiationPlan {
  readonly versions: readonly PlannedVersion[];
  /** Negotiated before, and no longer served by any cluster. */
  readonly abandoned: readonly NegotiatedAPIResource[];
  /** A user's definition takes precedence. */
  readonly isEnforced: boolean;
  /** The version to publish, or to keep published. */
  readonly chosen: PlannedVersion | undefined;
  /** Why another version would be better than `chosen`, if no objects were stored. */
  readonly betterIf: string | undefined;
}

export interface PlannedVersion {
  readonly version: string;
  readonly members: readonly ImportMember[];
  /** Undefined when a user's definition does not serve the version: it is not negotiated then. */
  readonly api: ApiResourceSpec | undefined;
  readonly publish: boolean;
  readonly compatibility: ReadonlyMap<string, ImportCompatibility>;
}

/** Yields to the event loop: physical clusters decide how large schemas are. */
export function* planNegotiation(situation: NegotiationInput): Resumable<NegotiationPlan> {
  const { negotiated, definition } = situation;
  const byVersion = membersByVersion(situation.imports);
  const abandoned = negotiated.filter(({ spec }) => !byVersion.has(spec.groupVersion.version));
  const isEnforced = definition !== undefined && !isNegotiated(definition);
  if (isEnforced) {
    const versions: PlannedVersion[] = [];
    for (const [version, members] of byVersion)
      versions.push(yield* enforcedVersion(version, members, definition));
    return { versions, abandoned, isEnforced, chosen: undefined, betterIf: undefined };
  }
  const published = definition?.spec.versions.find(({ storage }) => storage);
  const versions: PlannedVersion[] = [];
  for (const [version, members] of byVersion) {
    const isPublished = published?.name === version && definition !== undefined;
    const base = isPublished ? apiOf(definition, published) : undefined;
    versions.push(yield* negotiatedVersion(version, members, base, situation));
  }
  return { versions, abandoned, isEnforced, ...choose(versions, published?.name) };
}

function membersByVersion(imports: readonly APIResourceImport[]): Map<string, ImportMember[]> {
  const byVersion = new Map<string, ImportMember[]>();
  for (const { metadata, spec } of imports) {
    const { location, schemaUpdateStrategy: strategy = "UpdateUnpublished", ...api } = spec;
    const { version } = spec.groupVersion;
    const members = byVersion.get(version) ?? [];
    members.push({ name: metadata.name, location, strategy, api });
    byVersion.set(version, members);
  }
  return byVersion;
}

function* negotiatedVersion(
  version: string,
  members: readonly ImportMember[],
  published: ApiResourceSpec | undefined,
  { negotiated, autoPublish }: NegotiationInput,
): Resumable<PlannedVersion> {
  const known = negotiated.find(({ spec }) => spec.groupVersion.version === version);
  const publish = known === undefined ? autoPublish : known.spec.publish === true;
  const folded = yield* negotiateImports(members, published);
  return {
    version,
    members,
    publish,
    api: folded?.api,
    compatibility: folded?.compatibility ?? new Map(),
  };
}

function* enforcedVersion(
  version: string,
  members: readonly ImportMember[],
  definition: Definition,
): Resumable<PlannedVersion> {
  const served = versionOf(definition, version);
  if (served !== undefined) {
    const { api, compatibility } = yield* compareImports(members, apiOf(definition, served));
    return { version, members, publish: true, api, compatibility };
  }
  const names = definition.spec.versions.map(({ name }) => name).join(", ");
  const message = `the definition that was made by hand has ${names}, and not ${version}`;
  const findings = [{ kind: "incompatible" as const, path: "version", message }];
  const result: ImportCompatibility = { isCompatible: false, findings, isNarrowable: false };
  const results = new Map(members.map(({ name }) => [name, result]));
  return { version, members, publish: false, api: undefined, compatibility: results };
}

function choose(
  versions: readonly PlannedVersion[],
  published: string | undefined,
): Pick<NegotiationPlan, "chosen" | "betterIf"> {
  const candidates = versions.filter(({ publish, api }) => publish && api !== undefined);
  const [best] = candidates.toSorted(
    (one, other) =>
      participatingImports(other) - participatingImports(one) ||
      compareVersionPriority(one.version, other.version),
  );
  const current = candidates.find(({ version }) => version === published);
  if (current === undefined || best === undefined) return { chosen: best, betterIf: undefined };
  if (participatingImports(best) > participatingImports(current)) {
    const message = `${best.version} suits ${participatingImports(best)} clusters, ${current.version} only ${participatingImports(current)}`;
    return { chosen: current, betterIf: message };
  }
  // The clusters that the API was negotiated for have left, and no remaining cluster accepts it.
  const isDeserted = participatingImports(current) === 0;
  const message = `no cluster accepts ${current.version} as it was published`;
  return { chosen: current, betterIf: isDeserted ? message : undefined };
}

export function participatingImports({ compatibility }: PlannedVersion): number {
  let count = 0;
  for (const { isCompatible } of compatibility.values()) if (isCompatible) count += 1;
  return count;
}
