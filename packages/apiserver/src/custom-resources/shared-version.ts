/** One version of a definition, as discovery lists it and as all clusters with the same definition share it. */
import { type Resumable, runYielding, yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type CompiledSchema,
  type CrdVersion,
  compareVersionPriority,
} from "@kcp-ts/machinery/schema";
import {
  apiVersionOf,
  type OpenApiSource,
  type ResourceDefinition,
  type Strategy,
  type SubresourceStrategy,
} from "../registry/index.ts";
import {
  type CompiledSchemaOwner,
  CompiledVersion,
  compiledSchemaBudget,
  type VersionTraits,
} from "./compiled-version.ts";
import { customSchema, customStrategy, customSubresources } from "./custom-strategy.ts";
import { ruleEngine } from "./rule-engine.ts";
import { collectSchemaRules } from "./rule-sources.ts";
import type { CompressedSchema, SharedDefinition } from "./shared-definition.ts";

/** In the order in which Kubernetes tells them. */
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
/** Of a definition that is being deleted: nothing new comes in. */
const lastVerbs = ["delete", "deletecollection", "get", "list", "watch"] as const;

/** UTF-16 units of a schema below which it is compiled on the spot. */
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
  /** What is served also while the definition is being deleted, though it is not announced. */
  get servedVerbs(): readonly string[] {
    return allVerbs;
  }
  get identity(): string {
    return "";
  }
  get openApi(): OpenApiSource {
    return (dialect) => customSchema(this, dialect);
  }
  get itemsCarryKind(): boolean {
    return true;
  }
  get storageVersion(): string {
    return this.definition.storageVersion;
  }

  get strategy(): Strategy {
    this.#strategy ??= customStrategy(this);
    return this.#strategy;
  }

  get subresources(): ReadonlyMap<string, SubresourceStrategy> {
    this.#subresources ??= customSubresources(this);
    return this.#subresources;
  }

  get warnings(): readonly string[] | undefined {
    const { deprecated, deprecationWarning } = this.traits;
    if (!deprecated) return undefined;
    if (deprecationWarning !== undefined) return [deprecationWarning];
    // Served versions are ordered, the best first.
    const better = this.definition.versions.find(
      ({ traits, version }) =>
        traits.deprecated !== true && compareVersionPriority(version, this.version) < 0,
    );
    const advice = better === undefined ? "" : `; use ${apiVersionOf(better)} ${this.kind}`;
    return [`${apiVersionOf(this)} ${this.kind} is deprecated${advice}`];
  }

  /** The schema and what is made of it; held by a cache, so not to be kept. */
  compiled(): CompiledVersion {
    if (this.#compiled !== undefined) {
      compiledSchemaBudget.use(this.#compiled);
      return this.#compiled;
    }
    return this.#compile(this.#schema.unpack());
  }

  #compile(json: JsonObject | undefined): CompiledVersion {
    const schema = this.#schema;
    const compiled = new CompiledVersion(this.traits, () => schema.unpack(), json);
    this.#compiled = compiled;
    compiledSchemaBudget.add(this, compiled, compiled.weight);
    return compiled;
  }

  /** Undefined when using the version takes no time worth waiting for; else the work is done in pieces. */
  warmUp(): Promise<void> | undefined {
    if (this.#compiled !== undefined || this.#schema.length < largeSchemaLength) return undefined;
    this.#warming ??= this.#compileInPieces().finally(() => {
      this.#warming = undefined;
    });
    return this.#warming;
  }

  async #compileInPieces(): Promise<void> {
    await yieldToEventLoop();
    const json = this.#schema.unpack();
    await yieldToEventLoop();
    const compiled = this.#compile(json);
    await yieldToEventLoop();
    compiled.prepareApply(json);
    const { schema } = compiled;
    await runYielding(prepareRules(schema));
  }

  dropCompiled(): void {
    this.#compiled = undefined;
  }

  unpackSchema(): JsonObject | undefined {
    return this.#schema.unpack();
  }
}
