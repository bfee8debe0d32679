/**
 * CompiledVersion: what is derived from a version's schema, on first use; and the limited cache
 * that holds it.
 */
import { readObjectType, type TypeSchema } from "@kcp-ts/machinery/apply";
import type { Resumable } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { objectPatchSchema, type PatchSchema, readPatchSchema } from "@kcp-ts/machinery/patch";
import {
  type CompiledSchema,
  type CrdVersion,
  compilePrinterColumns,
  compileSchemaResumable,
  type PrinterColumns,
  parseJsonPath,
  selectableFieldValue,
} from "@kcp-ts/machinery/schema";
import { ruleEngine } from "./rule-engine.ts";

/** A version without its schema. */
export type VersionTraits = Omit<CrdVersion, "schema">;

/** The sub-schemas of all compiled versions together; a thousand typical definitions fit. */
export const compiledNodesMax = 400_000;

/** Without a schema, all fields are kept and nothing is validated. */
const anything: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export function compileVersionSchema(json: JsonObject | undefined): Resumable<CompiledSchema> {
  return compileSchemaResumable(json ?? anything, { evaluator: ruleEngine });
}

export class CompiledVersion {
  readonly schema: CompiledSchema;
  readonly columns: PrinterColumns;
  readonly selectableFields: ReadonlyMap<string, (object: JsonObject) => string>;
  readonly #unpack: () => JsonObject | undefined;
  #applyType: TypeSchema | undefined;
  #patchRules: PatchSchema | undefined;

  constructor(traits: VersionTraits, schema: CompiledSchema, unpack: () => JsonObject | undefined) {
    this.#unpack = unpack;
    this.schema = schema;
    this.columns = compilePrinterColumns(traits.printerColumns);
    this.selectableFields = new Map(
      traits.selectableFields.map((text) => {
        const path = parseJsonPath(text);
        const read = (object: JsonObject) => selectableFieldValue(path, object);
        return [text.replace(/^\./, ""), read];
      }),
    );
  }

  get applyType(): TypeSchema {
    this.#applyType ??= readObjectType(this.#unpack());
    return this.#applyType;
  }

  /** Builds the type of server-side apply ahead, from a schema that the caller has. */
  prepareApply(json: JsonObject | undefined): void {
    this.#applyType ??= readObjectType(json);
  }

  get patchRules(): PatchSchema {
    this.#patchRules ??= objectPatchSchema(readPatchSchema(this.#unpack() ?? anything));
    return this.#patchRules;
  }

  /** The approximate memory of the compiled version. */
  get weight(): number {
    return this.schema.nodes + 20;
  }
}

/** An owner of a compiled schema, which can drop it. */
export interface CompiledSchemaOwner {
  dropCompiled(): void;
}

interface Held {
  readonly holder: WeakRef<CompiledSchemaOwner>;
  readonly weight: number;
}

/**
 * Limits the memory of compiled schemas. References to owners are weak: an owner that is
 * garbage-collected takes its schema with it.
 */
export class CompiledSchemaBudget {
  readonly #weightMax: number;
  /** In order of last use, oldest first. */
  readonly #held = new Map<object, Held>();
  readonly #collectedOwners = new FinalizationRegistry<object>((token) => this.#forget(token));
  #weight = 0;

  constructor(weightMax: number) {
    this.#weightMax = weightMax;
  }

  get weight(): number {
    return this.#weight;
  }

  add(holder: CompiledSchemaOwner, token: object, weight: number): void {
    this.#held.set(token, { holder: new WeakRef(holder), weight });
    this.#collectedOwners.register(holder, token);
    this.#weight += weight;
    for (const [oldest, held] of this.#held) {
      if (this.#weight <= this.#weightMax || oldest === token) return;
      held.holder.deref()?.dropCompiled();
      this.#forget(oldest);
    }
  }

  use(token: object): void {
    const held = this.#held.get(token);
    if (held === undefined) return;
    this.#held.delete(token);
    this.#held.set(token, held);
  }

  #forget(token: object): void {
    const held = this.#held.get(token);
    if (held === undefined) return;
    this.#held.delete(token);
    this.#weight -= held.weight;
  }
}

/** One for the process: schemas belong to no cluster. */
export const compiledSchemaBudget = new CompiledSchemaBudget(compiledNodesMax);
