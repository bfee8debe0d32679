/** CustomResourceDefinitions as negotiation reads and writes them. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { approvalAnnotation, nativeKindAnnotation } from "@kcp-ts/machinery/schema";
import { kindShapes } from "@kcp-ts/machinery/shape";
import {
  type Condition,
  defineResource,
  isConditionTrue,
  type KubernetesObject,
  type ObjectInput,
  type StringMap,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import {
  type ApiResourceSpec,
  definitionName,
  groupOf,
  type NegotiatedAPIResource,
  negotiatedApiResources,
} from "../api/index.ts";

export interface Definition extends KubernetesObject {
  readonly spec: {
    readonly group: string;
    readonly scope: "Namespaced" | "Cluster";
    readonly names: {
      readonly plural: string;
      readonly singular?: string;
      readonly kind: string;
      readonly listKind?: string;
      readonly shortNames?: readonly string[];
      readonly categories?: readonly string[];
    };
    readonly versions: readonly DefinitionVersion[];
    readonly conversion?: JsonObject;
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema?: { readonly openAPIV3Schema?: JsonObject };
  readonly subresources?: JsonObject;
  readonly additionalPrinterColumns?: readonly JsonObject[];
}

export const customResourceDefinitions = defineResource<Definition>(
  kinds.customResourceDefinitions,
);

/**
 * Whether negotiation created the definition: it is owned by a NegotiatedAPIResource. Users created
 * the others, and negotiation does not change them.
 */
export function isNegotiated({ metadata }: KubernetesObject): boolean {
  const { kind, group } = negotiatedApiResources;
  return (
    metadata.ownerReferences?.some(
      (owner) => owner.kind === kind && owner.apiVersion.startsWith(`${group}/`),
    ) ?? false
  );
}

export function isServed({ status, metadata }: Definition): boolean {
  const conditions = status?.conditions;
  return (
    metadata.deletionTimestamp === undefined &&
    isConditionTrue(conditions, "Established") &&
    isConditionTrue(conditions, "NamesAccepted") &&
    !isConditionTrue(conditions, "NonStructuralSchema")
  );
}

/** Why a definition is not served, from its own conditions. */
/** Whether the definition will be served without further action. */
export function isBeingEstablished({ status, metadata }: Definition): boolean {
  const has = (type: string, is: string) =>
    status?.conditions?.some((one) => one.type === type && one.status === is) === true;
  return (
    metadata.deletionTimestamp === undefined &&
    !has("NonStructuralSchema", "True") &&
    !has("NamesAccepted", "False")
  );
}

export function whyNotServed({ status, metadata }: Definition): string {
  if (metadata.deletionTimestamp !== undefined)
    return "the CustomResourceDefinition is being deleted";
  for (const type of ["NonStructuralSchema", "NamesAccepted", "Established"]) {
    const bad = type === "NonStructuralSchema" ? "True" : "False";
    const found = status?.conditions?.find((one) => one.type === type && one.status === bad);
    if (found !== undefined)
      return `the CustomResourceDefinition says ${type}=${bad}: ${found.message}`;
  }
  return "the CustomResourceDefinition is not established yet";
}

export function versionOf({ spec }: Definition, wanted: string): DefinitionVersion | undefined {
  return spec.versions.find(({ name, served }) => name === wanted && served);
}

/** One version of a user's definition, as an API. */
export function apiOf({ spec }: Definition, version: DefinitionVersion): ApiResourceSpec {
  const { group, scope, names } = spec;
  const subResources = ["status", "scale"].filter(
    (name) => version.subresources !== undefined && Object.hasOwn(version.subresources, name),
  );
  const unvalidated: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    groupVersion: { ...(group === "" ? {} : { group }), version: version.name },
    scope,
    plural: names.plural,
    kind: names.kind,
    ...(names.singular === undefined ? {} : { singular: names.singular }),
    ...(names.listKind === undefined ? {} : { listKind: names.listKind }),
    ...(names.shortNames === undefined ? {} : { shortNames: names.shortNames }),
    ...(names.categories === undefined ? {} : { categories: names.categories }),
    openAPIV3Schema: version.schema?.openAPIV3Schema ?? unvalidated,
    ...(subResources.length > 0 ? { subResources: subResources.map((name) => ({ name })) } : {}),
  };
}

/** Groups in which CustomResourceDefinitions need an approval annotation. */
const protectedGroup = /(^|\.)(k8s|kubernetes)\.io$/;
const approval = "unapproved, negotiated among physical clusters";
/** The paths that the API importer assumes: OpenAPI does not contain them. */
const scalePaths = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };

export function definitionFor(
  api: ApiResourceSpec,
  owner: NegotiatedAPIResource,
): ObjectInput<Definition> {
  const group = groupOf(api.groupVersion);
  const { metadata } = owner;
  const annotations = annotationsOf(api);
  return {
    metadata: {
      name: definitionName(api),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ownerReferences: [
        {
          apiVersion: `${negotiatedApiResources.group}/${negotiatedApiResources.version}`,
          kind: negotiatedApiResources.kind,
          name: metadata.name,
          uid: metadata.uid ?? "",
        },
      ],
    },
    spec: {
      group,
      scope: api.scope,
      names: {
        plural: api.plural,
        singular: api.singular ?? api.kind.toLowerCase(),
        kind: api.kind,
        listKind: api.listKind ?? `${api.kind}List`,
        ...(api.shortNames === undefined ? {} : { shortNames: api.shortNames }),
        ...(api.categories === undefined ? {} : { categories: api.categories }),
      },
      versions: [versionFor(api)],
    },
  };
}

/** A kind that Kubernetes builds in is served as such, with the negotiated fields. */
function annotationsOf({ groupVersion, kind }: ApiResourceSpec): StringMap {
  const group = groupOf(groupVersion);
  const { version } = groupVersion;
  const isBuiltIn = kindShapes.has(`${group === "" ? version : `${group}/${version}`}/${kind}`);
  return {
    ...(protectedGroup.test(group) ? { [approvalAnnotation]: approval } : {}),
    ...(isBuiltIn ? { [nativeKindAnnotation]: "true" } : {}),
  };
}

function versionFor(api: ApiResourceSpec): DefinitionVersion {
  const names = new Set((api.subResources ?? []).map(({ name }) => name));
  const subresources: JsonObject = {
    ...(names.has("status") ? { status: {} } : {}),
    ...(names.has("scale") ? { scale: scalePaths } : {}),
  };
  const columns = (api.columnDefinitions ?? []).filter(({ jsonPath }) => jsonPath !== undefined);
  return {
    name: api.groupVersion.version,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: api.openAPIV3Schema },
    ...(names.size > 0 ? { subresources } : {}),
    ...(columns.length > 0
      ? { additionalPrinterColumns: columns as unknown as readonly JsonObject[] }
      : {}),
  } satisfies Record<string, JsonValue | unknown> as DefinitionVersion;
}
