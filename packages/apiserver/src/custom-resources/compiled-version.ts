/** What is made of a version's schema, when first needed; and the bounded cache in which it lives. */
import { readObjectType, type TypeSchema } from "@kcp-ts/machinery/apply";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { objectPatchSchema, type PatchSchema, readPatchSchema } from "@kcp-ts/machinery/patch";
import {
  type CompiledSchema,
  type CrdVersion,
  compilePrinterColumns,
  compileSchema,
  type PrinterColumns,
  parseJsonPath,
  selectableFieldValue,
} from "@kcp-ts/machinery/schema";
import { ruleEngine } from "./rule-engine.ts";

/** A version without its schema. */
export type VersionTraits = Omit<CrdVersion, "schema">;

/** Sub-schemas that all compiled versions together may have; a thousand typical definitions fit. */
export const compiledNodesMax = 400_000;

/** Without a schema everything is kept and nothing is checked. */
const anything: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export class CompiledVersion {
  readonly schema: CompiledSchema;
  readonly columns: PrinterColumns;
  readonly selectableFields: ReadonlyMap<string, (object: JsonObject) => string>;
  readonly #unpack: () => JsonObject | undefined;
  #applyType: TypeSchema | undefined;
  #patchRules: PatchSchema | undefined;

  /** `json` is what `unpack` gives, where it is at hand. */
  constructor(
    traits: VersionTraits,
    unpack: () => JsonObject | undefined,
    json: JsonObject | undefined = unpack(),
  ) {
    this.#unpack = unpack;
    this.schema = compileSchema(json ?? (anything as JsonValue), { evaluator: ruleEngine });
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

  /** Makes the type ahead, from a schema that is at hand. */
  prepareApply(json: JsonObject | undefined): void {
    this.#applyType ??= readObjectType(json);
  }

  get patchRules(): PatchSchema {
    this.#patchRules ??= objectPatchSchema(readPatchSchema(this.#unpack() ?? anything));
    return this.#patchRules;
  }

  /** Roughly what it costs to keep this. */
  get weight(): number {
    return this.schema.nodes + 20;
  }
}

/** Whoever has something compiled that it can let go of. */
export interface CompiledSchemaOwner {
  dropCompiled(): void;
}

interface Held {
  readonly holder: WeakRef<CompiledSchemaOwner>;
  readonly weight: number;
}

/** Bounds what is compiled. It holds nobody: a holder that is gone takes what it compiled with it. */
export class CompiledSchemaBudget {
  readonly #weightMax: number;
  /** In order of last use, oldest first. */
  readonly #held = new Map<object, Held>();
  readonly #gone = new FinalizationRegistry<object>((token) => this.#forget(token));
  #weight = 0;

  constructor(weightMax: number) {
    this.#weightMax = weightMax;
  }

  get weight(): number {
    return this.#weight;
  }

  add(holder: CompiledSchemaOwner, token: object, weight: number): void {
    this.#held.set(token, { holder: new WeakRef(holder), weight });
    this.#gone.register(holder, token);
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

/** One for the process: schemas know no cluster. */
export const compiledSchemaBudget = new CompiledSchemaBudget(compiledNodesMax);
