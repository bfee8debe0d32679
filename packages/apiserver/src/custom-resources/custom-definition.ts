/**
 * CustomDefinition: a definition as one logical cluster serves it: the shared definition, and the
 * owner of the objects.
 */
import type {
  ResourceDefinition,
  Strategy,
  SubresourceStrategy,
  VersionCodec,
} from "../registry/index.ts";
import { CustomVersionCodec, type CustomVersionCodecOptions } from "./custom-version-codec.ts";
import type { DefinitionRecord } from "./definition-record.ts";
import type { SharedVersion } from "./shared-version.ts";

export class CustomDefinition implements ResourceDefinition {
  readonly #version: SharedVersion;
  readonly #record: DefinitionRecord;
  readonly codec: VersionCodec;

  constructor(
    version: SharedVersion,
    record: DefinitionRecord,
    { conversion, owner }: Pick<CustomVersionCodecOptions, "conversion" | "owner">,
  ) {
    this.#version = version;
    this.#record = record;
    this.codec = new CustomVersionCodec({ version, since: record.since, conversion, owner });
  }

  /** Resolves when the definition is ready for use; undefined when it is ready now. */
  warmUp(): Promise<void> | undefined {
    return this.#version.warmUp();
  }

  get group(): string {
    return this.#version.group;
  }
  get version(): string {
    return this.#version.version;
  }
  get resource(): string {
    return this.#version.resource;
  }
  get singular(): string {
    return this.#version.singular;
  }
  get kind(): string {
    return this.#version.kind;
  }
  get listKind(): string {
    return this.#version.listKind;
  }
  get isNamespaced(): boolean {
    return this.#version.isNamespaced;
  }
  get shortNames(): readonly string[] {
    return this.#version.shortNames;
  }
  get categories(): readonly string[] {
    return this.#version.categories;
  }
  get verbs(): readonly string[] {
    return this.#version.servedVerbs;
  }
  /**
   * Objects of a deleted definition never reappear under a new one of the same name: their identity
   * differs.
   */
  get identity(): string {
    return this.#record.uid;
  }
  get itemsCarryKind(): boolean {
    return true;
  }
  get storageVersion(): string {
    return this.#version.storageVersion;
  }
  get strategy(): Strategy {
    return this.#version.strategy;
  }
  get subresources(): ReadonlyMap<string, SubresourceStrategy> {
    return this.#version.subresources;
  }
  get warnings(): readonly string[] | undefined {
    return this.#version.warnings;
  }
  get creationForbidden(): string | undefined {
    return this.#version.definition.isTerminating
      ? "create not allowed while custom resource definition is terminating"
      : undefined;
  }
  get onRetired(): (callback: () => void) => () => void {
    return (callback) => this.#record.onRetired(callback);
  }
}
