/**
 * A bound: how large one kind of input may be that somebody else sends. Every input that is parsed, decoded, gathered, rendered or evaluated has one, by
 * name, in `table.ts`: a new kind of input is a new line there, and `docs/internals/bounds.md` shows it.
 */
export interface Bound {
  /** What the input is, as an error names it: `admission webhook answer`. */
  readonly name: string;
  /** Whose input it is: the one who can make it large. */
  readonly sender: InputSource;
  /** Bytes of the input after decompression; characters, where it is a text already. */
  readonly bytesMax: number;
  /** JSON values: objects, arrays and what is in them; for protobuf the fields on the wire. */
  readonly valuesMax: number;
  /** Members of one object: objects with very many are slow to make and to walk. */
  readonly membersMax: number;
  /** Containers within each other. */
  readonly depthMax: number;
}

/** Who sends an input. A stranger has not been authenticated; a webhook and an issuer are hosts that a tenant or an operator names. */
export type InputSource =
  | "stranger"
  | "tenant"
  | "webhook"
  | "issuer"
  | "physical cluster"
  | "server"
  | "operator";

/** A bound of work that an input causes and not of its size: steps of an evaluation, results of a path, cells of a table. */
export interface WorkBound {
  readonly name: string;
  readonly sender: InputSource;
  readonly unitsMax: number;
}

export type BoundDimension = "bytes" | "values" | "members" | "levels" | "units of work";

/** The input is larger than its bound. What it would have become was not made. */
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

/** By name: packages may be there twice. */
export function isBoundExceeded(error: unknown): error is BoundExceededError {
  return error instanceof Error && error.name === "BoundExceededError";
}
