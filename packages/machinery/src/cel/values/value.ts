/**
 * What an expression evaluates to.
 *
 * | CEL        | here                | CEL       | here           |
 * |------------|---------------------|-----------|----------------|
 * | `null`     | `null`              | timestamp | CelTimestamp   |
 * | bool       | `boolean`           | duration  | CelDuration    |
 * | int        | `bigint`            | list      | CelList        |
 * | uint       | CelUint             | map       | CelMap         |
 * | double     | `number`            | optional  | CelOptional    |
 * | string     | `string`            | type      | CelTypeValue   |
 * | bytes      | `Uint8Array`        | others    | CelObject      |
 *
 * Errors are values too (CelError), because `&&`, `||` and comprehensions absorb them, and because
 * a hostile expression can make one per element: returning them is cheap, throwing is not.
 */
import { type Resumable, runSync } from "../../base/index.ts";
import type { CelDuration, CelTimestamp } from "./time.ts";

export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | CelUint
  | CelTimestamp
  | CelDuration
  | CelList
  | CelMap
  | CelOptional
  | CelTypeValue
  | CelObject;

export type CelResult = CelValue | CelError;

/** An evaluation that went wrong, in cel-go's words. */
export class CelError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export const NO_SUCH_OVERLOAD = new CelError("no such overload");

export class CelUint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export abstract class CelList {
  abstract readonly size: number;
  /**
   * The element at `index`, which lies within the list. An error if the data does not fit its
   * declared type.
   */
  abstract get(index: number): CelResult;
}

export abstract class CelMap {
  abstract readonly size: number;
  /** The value for `key`; undefined if there is none. */
  abstract find(key: CelValue): CelResult | undefined;
  abstract keys(): readonly CelValue[];
}

export class CelOptional {
  static readonly none = new CelOptional(undefined);
  readonly value: CelValue | undefined;

  private constructor(value: CelValue | undefined) {
    this.value = value;
  }

  static of(value: CelValue): CelOptional {
    return new CelOptional(value);
  }
}

/** The value of an expression such as `int` or `type(x)`. */
export class CelTypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A value of a type that a library or the embedder defines: a URL, a quantity, an authorizer. */
export abstract class CelObject {
  abstract readonly typeName: string;
  /** `other` has the same type name. */
  abstract equals(other: CelObject): boolean;
  /** What cost tracking takes for its size. */
  get costSize(): number {
    return 1;
  }
  /** A field by its name, for objects that have any. */
  select(_field: string): CelResult | undefined {
    return undefined;
  }
}

/** A value of a struct type that an expression constructed: `Name{field: value}`. */
export class CelStruct extends CelObject {
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, CelValue>;

  constructor(typeName: string, fields: ReadonlyMap<string, CelValue>) {
    super();
    this.typeName = typeName;
    this.fields = fields;
  }

  /** Comparison looks into the fields itself. */
  equals(other: CelObject): boolean {
    return this === other;
  }

  override select(field: string): CelResult | undefined {
    return this.fields.get(field);
  }
}

/**
 * An object whose fields are computed lazily, such as `variables` in an admission policy. Each
 * field is computed once.
 */
export class CelLazyObject extends CelObject {
  readonly typeName: string;
  readonly #compute: (field: string) => Resumable<CelResult | undefined>;
  readonly #known = new Map<string, CelResult | undefined>();

  constructor(typeName: string, compute: (field: string) => Resumable<CelResult | undefined>) {
    super();
    this.typeName = typeName;
    this.#compute = compute;
  }

  equals(other: CelObject): boolean {
    return this === other;
  }

  /** Computes the field resumably in advance: `select` then returns the result. */
  *compute(field: string): Resumable<void> {
    if (!this.#known.has(field)) this.#known.set(field, yield* this.#compute(field));
  }

  override select(field: string): CelResult | undefined {
    runSync(this.compute(field));
    return this.#known.get(field);
  }
}
