/**
 * SharedVersion: one version of a definition, as discovery lists it and as all clusters with an
 * equal definition share it.
 */
import { type Resumable, runSync, runYielding, yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type CompiledSchema,
  type CrdVersion,
  compareVersionPriority,
} from "@kcp-ts/machinery/schema";
import {
  apiVersionOf,
  findNativeKind,
  type NativeKind,
  type OpenApiSource,
  type ResourceDefinition,
  type Strategy,
  type SubresourceStrategy,
} from "../registry/index.ts";
import {
  type CompiledSchemaOwner,
  CompiledVersion,
  compiledSchemaBudget,
  compileVersionSchema,
  type VersionTraits,
} from "./compiled-version.ts";
import { customSchema, customStrategy, customSubresources } from "./custom-strategy.ts";
import { nativeVersion } from "./native-version.ts";
import { ruleEngine } from "./rule-engine.ts";
import { collectSchemaRules } from "./schema-rules.ts";
import type { CompressedSchema, SharedDefinition } from "./shared-definition.ts";

/** In the order of Kubernetes. */
const allVerbs = [
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "create",
  "update",
  "watch",
] as const;
/** The verbs of a definition that is being deleted: no object can be created. */
const lastVerbs = ["delete", "deletecollection", "get", "list", "watch"] as const;

/** Schemas with fewer UTF-16 units are compiled synchronously. */
const largeSchemaLength = 4 << 10;

function* prepareRules({ root }: CompiledSchema): Resumable<void> {
  for (const { rules, schema, isResourceRoot } of collectSchemaRules(root))
    yield* ruleEngine.prepare(rules, { schema, isResourceRoot });
}

export class SharedVersion implements ResourceDefinition, CompiledSchemaOwner {
  readonly definition: SharedDefinition;
  readonly version: string;
  readonly isServed: boolean;
  readonly traits: VersionTraits;
  readonly #schema: CompressedSchema;
  readonly #nativeKind: NativeKind | undefined;
  #native: ResourceDefinition | undefined;
  #compiled: CompiledVersion | undefined;
  #warming: Promise<void> | undefined;
  #strategy: Strategy | undefined;
  #subresources: ReadonlyMap<string, SubresourceStrategy> | undefined;

  constructor(definition: SharedDefinition, version: CrdVersion, schema: CompressedSchema) {
    this.definition = definition;
    this.version = version.name;
    this.isServed = version.served;
    const { schema: _, ...traits } = version;
    this.traits = traits;
    this.#schema = schema;
    this.#nativeKind = definition.isNative ? findNativeKind(this) : undefined;
  }

  /** The server's own implementation, which serves the version in place of the schema. */
  get native(): ResourceDefinition | undefined {
    if (this.#nativeKind === undefined) return undefined;
    this.#native ??= runSync(nativeVersion(this.#nativeKind, this.decompressSchema()));
    return this.#native;
  }

  get group(): string {
    return this.definition.group;
  }
  get resource(): string {
    return this.definition.names.plural;
  }
  get singular(): string {
    return this.definition.names.singular;
  }
  get kind(): string {
    return this.definition.names.kind;
  }
  get listKind(): string {
    return this.definition.names.listKind;
  }
  get isNamespaced(): boolean {
    return this.definition.isNamespaced;
  }
  get shortNames(): readonly string[] {
    return this.definition.names.shortNames;
  }
  get categories(): readonly string[] {
    return this.definition.names.categories;
  }
  get verbs(): readonly string[] {
    return this.definition.isTerminating ? lastVerbs : allVerbs;
  }
  /**
   * The verbs that are also served while the definition is being deleted, though discovery does not
   * list them.
   */
  get servedVerbs(): readonly string[] {
    return allVerbs;
  }
  get identity(): string {
    return "";
  }
  get openApi(): OpenApiSource | undefined {
    if (this.#nativeKind !== undefined) return undefined;
    return (dialect) => customSchema(this, dialect);
  }
  get openApiLength(): number {
    return this.#nativeKind === undefined ? this.#schema.length : 0;
  }
  get itemsCarryKind(): boolean {
    return this.#nativeKind === undefined;
  }
  get storageVersion(): string {
    return this.definition.storageVersion;
  }

  get strategy(): Strategy {
    this.#strategy ??= this.native?.strategy ?? customStrategy(this);
    return this.#strategy;
  }

  get subresources(): ReadonlyMap<string, SubresourceStrategy> {
    this.#subresources ??= this.native?.subresources ?? customSubresources(this);
    return this.#subresources;
  }

  get warnings(): readonly string[] | undefined {
    if (this.#nativeKind?.warnings !== undefined) return this.#nativeKind.warnings;
    const { deprecated, deprecationWarning } = this.traits;
    if (!deprecated) return undefined;
    if (deprecationWarning !== undefined) return [deprecationWarning];
    // Served versions are ordered, the preferred one first.
    const better = this.definition.versions.find(
      ({ traits, version }) =>
        traits.deprecated !== true && compareVersionPriority(version, this.version) < 0,
    );
    const advice = better === undefined ? "" : `; use ${apiVersionOf(better)} ${this.kind}`;
    return [`${apiVersionOf(this)} ${this.kind} is deprecated${advice}`];
  }

  /** The compiled schema; owned by a cache, so callers must not keep it. */
  compiled(): CompiledVersion {
    if (this.#compiled === undefined) return runSync(this.compiledResumable());
    compiledSchemaBudget.use(this.#compiled);
    return this.#compiled;
  }

  *compiledResumable(): Resumable<CompiledVersion> {
    if (this.#compiled !== undefined) return this.compiled();
    return yield* this.#compile(yield* this.#schema.decompress());
  }

  *#compile(json: JsonObject | undefined): Resumable<CompiledVersion> {
    const schema = yield* compileVersionSchema(json);
    // A request that could not wait may have compiled it meanwhile.
    if (this.#compiled !== undefined) return this.#compiled;
    const compiled = new CompiledVersion(this.traits, schema, () => this.decompressSchema());
    this.#compiled = compiled;
    compiledSchemaBudget.add(this, compiled, compiled.weight);
    return compiled;
  }

  /**
   * Resolves when the version is ready for use: a version that takes long to compile is compiled
   * with yields to the event loop. Undefined when the version is ready, or compiles quickly.
   */
  warmUp(): Promise<void> | undefined {
    const isReady = this.#compiled !== undefined || this.#native !== undefined;
    if (isReady || this.#schema.length < largeSchemaLength) return undefined;
    this.#warming ??= this.#compileYielding().finally(() => {
      this.#warming = undefined;
    });
    return this.#warming;
  }

  async #compileYielding(): Promise<void> {
    const json = await runYielding(this.#schema.decompress());
    if (this.#nativeKind !== undefined) {
      this.#native = await runYielding(nativeVersion(this.#nativeKind, json));
      return;
    }
    const compiled = await runYielding(this.#compile(json));
    await yieldToEventLoop();
    compiled.prepareApply(json);
    await runYielding(prepareRules(compiled.schema));
  }

  dropCompiled(): void {
    this.#compiled = undefined;
  }

  decompressSchema(): JsonObject | undefined {
    return runSync(this.schemaResumable());
  }

  schemaResumable(): Resumable<JsonObject | undefined> {
    return this.#schema.decompress();
  }
}
