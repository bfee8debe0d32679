/**
 * The models of a cluster's OpenAPI document, version 3 or 2: the model of each kind, and the
 * target of each reference.
 */
import { type Resumable, runSync, YieldCounter } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";

/** The number of kinds that are read before yielding to the event loop. */
const kindsPerPiece = 1000;

export interface Gvk {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export class OpenApiModels {
  readonly #models: JsonObject;
  readonly #names = new Map<string, string>();

  private constructor(models: JsonObject) {
    this.#models = models;
  }

  /** Reads a document of `/openapi/v3/…` or `/openapi/v2`. */
  static of(document: JsonValue): OpenApiModels {
    return runSync(OpenApiModels.ofYielding(document));
  }

  /** The same, yielding to the event loop: the cluster decides how many models there are. */
  static *ofYielding(document: JsonValue): Resumable<OpenApiModels> {
    const components = member(document, "components");
    const found = member(components, "schemas") ?? member(document, "definitions") ?? {};
    const models = new OpenApiModels(found);
    yield* models.#read();
    return models;
  }

  *#read(): Resumable<void> {
    const pace = new YieldCounter(kindsPerPiece);
    for (const [name, model] of Object.entries(this.#models)) {
      if (!isJsonObject(model)) continue;
      const kinds = model["x-kubernetes-group-version-kind"];
      if (!Array.isArray(kinds)) continue;
      for (const each of kinds as readonly JsonValue[]) {
        if (pace.isTime()) yield;
        if (!isJsonObject(each)) continue;
        const { group, version, kind } = each;
        this.#names.set(keyOf(String(group ?? ""), String(version), String(kind)), name);
      }
    }
  }

  nameOf({ group, version, kind }: Gvk): string | undefined {
    return this.#names.get(keyOf(group, version, kind));
  }

  model(name: string): JsonObject | undefined {
    const model = Object.hasOwn(this.#models, name) ? this.#models[name] : undefined;
    return isJsonObject(model) ? model : undefined;
  }
}

/**
 * The model that a schema refers to, directly or as the only member of an `allOf`, as version 3
 * writes it.
 */
export function referenceOf(schema: JsonObject): string | undefined {
  const { $ref: direct, allOf } = schema;
  if (typeof direct === "string") return direct.slice(direct.lastIndexOf("/") + 1);
  if (!Array.isArray(allOf) || allOf.length !== 1) return undefined;
  const only = allOf[0] as JsonValue;
  return isJsonObject(only) ? referenceOf(only) : undefined;
}

function keyOf(group: string, version: string, kind: string): string {
  return `${group}/${version}/${kind}`;
}

function member(value: JsonValue | undefined, name: string): JsonObject | undefined {
  const found = isJsonObject(value) ? value[name] : undefined;
  return isJsonObject(found) ? found : undefined;
}
