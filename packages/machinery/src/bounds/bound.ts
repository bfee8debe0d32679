/**
 * A bound: the maximum size of one kind of untrusted input. Every input that is parsed, decoded,
 * collected, rendered or evaluated has one, by name, in `table.ts`: a new kind of input is a new
 * line there, and `docs/internals/bounds.md` documents it.
 */
export interface Bound {
  /** The input's name in errors: `admission webhook answer`. */
  readonly name: string;
  /** The source of the input: the party that can make it large. */
  readonly sender: InputSource;
  /** Bytes of the input after decompression; characters, where it is a text already. */
  readonly bytesMax: number;
  /** JSON values: objects, arrays and their members; for protobuf the fields on the wire. */
  readonly valuesMax: number;
  /**
   * Members of one object: objects with very many members are slow to create and to iterate over.
   */
  readonly membersMax: number;
  /** Nesting depth of containers. */
  readonly depthMax: number;
}

/**
 * The sender of an input. A webhook and an issuer are
 * hosts that a tenant or an operator configures.
 */
export type InputSource =
  | "unauthenticated client"
  | "tenant"
  | "webhook"
  | "issuer"
  | "physical cluster"
  | "server"
  | "operator";

/**
 * A bound of the work that an input causes and not of its size: steps of an evaluation, results of
 * a path, cells of a table.
 */
export interface WorkBound {
  readonly name: string;
  readonly sender: InputSource;
  readonly unitsMax: number;
}

export type BoundDimension = "bytes" | "values" | "members" | "levels" | "units of work";

/** The input exceeds its bound. It was rejected before it was decoded. */
export class BoundExceededError extends Error {
  override readonly name = "BoundExceededError";
  readonly bound: Bound | WorkBound;
  readonly dimension: BoundDimension;
  readonly max: number;

  constructor(bound: Bound | WorkBound, dimension: BoundDimension, max: number) {
    super(`${bound.name}: limit is ${max} ${dimension}`);
    this.bound = bound;
    this.dimension = dimension;
    this.max = max;
  }
}

/** Checked by name: a package may be loaded twice. */
export function isBoundExceeded(error: unknown): error is BoundExceededError {
  return error instanceof Error && error.name === "BoundExceededError";
}
