/**
 * The definition of a resource that a binding serves in a logical cluster: the part that all
 * bindings of the same schema share, and the owner of the objects.
 */
import {
  type Conversion,
  CustomVersionCodec,
  type SharedVersion,
} from "@kcp-ts/apiserver/custom-resources";
import type {
  OpenApiSource,
  ResourceDefinition,
  Strategy,
  SubresourceStrategy,
  VersionCodec,
} from "@kcp-ts/apiserver/registry";
import type { Revision } from "@kcp-ts/apiserver/storage";
import type { ClusterName } from "@kcp-ts/machinery/names";

export interface BoundOptions {
  readonly version: SharedVersion;
  readonly identity: string;
  /** Objects that were written after this revision were written with the present schema. */
  readonly since: Revision;
  readonly conversion: Conversion;
  /** The logical cluster of the export. */
  readonly owner: ClusterName;
  readonly onRetired: (callback: () => void) => () => void;
}

export class BoundDefinition implements ResourceDefinition {
  readonly #options: BoundOptions;
  readonly codec: VersionCodec;

  constructor(options: BoundOptions) {
    this.#options = options;
    this.codec = new CustomVersionCodec(options);
  }

  /** The preparation to await before the definition is used, if any. */
  warmUp(): Promise<void> | undefined {
    return this.#options.version.warmUp();
  }

  get group(): string {
    return this.#options.version.group;
  }
  get version(): string {
    return this.#options.version.version;
  }
  get resource(): string {
    return this.#options.version.resource;
  }
  get singular(): string {
    return this.#options.version.singular;
  }
  get kind(): string {
    return this.#options.version.kind;
  }
  get listKind(): string {
    return this.#options.version.listKind;
  }
  get isNamespaced(): boolean {
    return this.#options.version.isNamespaced;
  }
  get shortNames(): readonly string[] {
    return this.#options.version.shortNames;
  }
  get categories(): readonly string[] {
    return this.#options.version.categories;
  }
  get verbs(): readonly string[] {
    return this.#options.version.servedVerbs;
  }
  get identity(): string {
    return this.#options.identity;
  }
  get itemsCarryKind(): boolean {
    return true;
  }
  get storageVersion(): string {
    return this.#options.version.storageVersion;
  }
  get strategy(): Strategy {
    return this.#options.version.strategy;
  }
  get subresources(): ReadonlyMap<string, SubresourceStrategy> {
    return this.#options.version.subresources;
  }
  get openApi(): OpenApiSource {
    return this.#options.version.openApi;
  }
  get warnings(): readonly string[] | undefined {
    return this.#options.version.warnings;
  }
  get creationForbidden(): string | undefined {
    return this.#options.version.definition.isTerminating
      ? "create not allowed while the APIBinding is being deleted"
      : undefined;
  }
  get onRetired(): (callback: () => void) => () => void {
    return this.#options.onRetired;
  }
}
