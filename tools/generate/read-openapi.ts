/** Reads the published OpenAPI document and the published discovery documents. */

export interface PropertyInfo {
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
}

export interface DefinitionInfo {
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, PropertyInfo>>;
  readonly "x-kubernetes-map-type"?: "atomic";
  readonly "x-kubernetes-group-version-kind"?: readonly GroupVersionKind[];
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export type Definitions = Readonly<Record<string, DefinitionInfo>>;

export function readDefinitions(text: string): Definitions {
  return (JSON.parse(text) as { definitions: Definitions }).definitions;
}

export interface ResourceInfo extends GroupVersionKind {
  readonly resource: string;
  readonly singular: string;
  readonly isNamespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  /** Name → kind of its body. */
  readonly subresources: ReadonlyMap<string, GroupVersionKind>;
}

interface ApiResourceList {
  readonly groupVersion: string;
  readonly resources: readonly {
    readonly name: string;
    readonly singularName: string;
    readonly namespaced: boolean;
    readonly kind: string;
    readonly group?: string;
    readonly version?: string;
    readonly verbs: readonly string[];
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
  }[];
}

/** The resources of one discovery document, which is of one group and version. */
export function readResources(text: string): ResourceInfo[] {
  const { groupVersion, resources } = JSON.parse(text) as ApiResourceList;
  const [group, version] = groupVersion.includes("/")
    ? (groupVersion.split("/") as [string, string])
    : ["", groupVersion];
  return resources
    .filter(({ name }) => !name.includes("/"))
    .map((resource) => ({
      group,
      version,
      kind: resource.kind,
      resource: resource.name,
      singular: resource.singularName,
      isNamespaced: resource.namespaced,
      shortNames: resource.shortNames ?? [],
      categories: resource.categories ?? [],
      verbs: resource.verbs,
      subresources: new Map(
        resources
          .filter(({ name }) => name.startsWith(`${resource.name}/`))
          .map((below) => [
            below.name.slice(resource.name.length + 1),
            { group: below.group ?? group, version: below.version ?? version, kind: below.kind },
          ]),
      ),
    }));
}
