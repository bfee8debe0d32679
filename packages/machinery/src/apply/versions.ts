/** Objects in the versions in which managers own their fields. */
import type { JsonObject } from "../json/index.ts";
import type { TypeSchema } from "./type-schema.ts";

/** An object in one version, with the type of that version. */
export interface Versioned {
  readonly object: JsonObject;
  readonly type: TypeSchema;
}

/**
 * Converts an object to another version. The object may already be in that version. Undefined means
 * that the version is no longer served: its ownership is dropped. May throw, for example when a
 * conversion webhook is unreachable.
 */
export type VersionConverter = (object: JsonObject, apiVersion: string) => Versioned | undefined;

/**
 * The conversions of one request: none in its own version, and without a converter all versions are
 * equal.
 */
export class Versions {
  readonly apiVersion: string;
  readonly type: TypeSchema;
  readonly #convert: VersionConverter | undefined;

  constructor(options: {
    readonly apiVersion: string;
    readonly schema: TypeSchema;
    readonly converter?: VersionConverter | undefined;
  }) {
    this.apiVersion = options.apiVersion;
    this.type = options.schema;
    this.#convert = options.converter;
  }

  /** The object in the given version; `from` is the version that it is in. */
  at(object: JsonObject, apiVersion: string, from = this.apiVersion): Versioned | undefined {
    const isOwn = apiVersion === this.apiVersion && from === apiVersion;
    if (isOwn || this.#convert === undefined) return { object, type: this.type };
    return this.#convert(object, apiVersion);
  }

  /** Whether fields have the same paths in both versions. */
  areAlike(a: string, b: string): boolean {
    return a === b || this.#convert === undefined;
  }
}
