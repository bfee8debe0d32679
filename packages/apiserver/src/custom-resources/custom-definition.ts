/**
 * CustomDefinition: a definition as one logical cluster serves it: the version that all clusters
 * with an equal definition share, and the owner of the objects.
 *
 * What every request reads is copied from the shared version once, when the definition is made.
 */
import type {
  OpenApiSource,
  ResourceDefinition,
  Strategy,
  SubresourceStrategy,
  VersionCodec,
} from "../registry/index.ts";
import { CustomVersionCodec, type CustomVersionCodecOptions } from "./custom-version-codec.ts";
import type { SharedVersion } from "./shared-version.ts";

export interface CustomDefinitionOptions extends CustomVersionCodecOptions {
  /**
   * Objects of a deleted definition never reappear under a new one of the same name: their identity
   * differs.
   */
  readonly identity: string;
  /** The reason why no object is created while the definition is terminating. */
  readonly terminatingReason: string;
  readonly onRetired: (callback: () => void) => () => void;
}

export class CustomDefinition implements ResourceDefinition {
  readonly shared: SharedVersion;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly identity: string;
  readonly itemsCarryKind: boolean;
  readonly verbs: readonly string[];
  readonly strategy: Strategy;
  readonly subresources: ReadonlyMap<string, SubresourceStrategy>;
  readonly codec: VersionCodec | undefined;
  readonly warnings: readonly string[] | undefined;
  readonly creationForbidden: string | undefined;
  readonly onRetired: (callback: () => void) => () => void;

  constructor(options: CustomDefinitionOptions) {
    const { version, identity, terminatingReason, onRetired } = options;
    this.shared = version;
    this.group = version.group;
    this.version = version.version;
    this.resource = version.resource;
    this.kind = version.kind;
    this.isNamespaced = version.isNamespaced;
    this.identity = identity;
    this.verbs = version.servedVerbs;
    this.strategy = version.strategy;
    this.subresources = version.subresources;
    this.itemsCarryKind = version.itemsCarryKind;
    this.codec =
      version.native === undefined ? new CustomVersionCodec(options) : version.native.codec;
    this.warnings = version.warnings;
    this.creationForbidden = version.definition.isTerminating ? terminatingReason : undefined;
    this.onRetired = onRetired;
  }

  get singular(): string {
    return this.shared.singular;
  }
  get listKind(): string {
    return this.shared.listKind;
  }
  get shortNames(): readonly string[] {
    return this.shared.shortNames;
  }
  get categories(): readonly string[] {
    return this.shared.categories;
  }
  get storageVersion(): string {
    return this.shared.storageVersion;
  }
  get openApi(): OpenApiSource | undefined {
    return this.shared.openApi;
  }
}
