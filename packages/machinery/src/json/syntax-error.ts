/** The text is not JSON, or exceeds the limits of this process. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

/**
 * The text has more values, more members in one object, or deeper nesting than the caller allows.
 */
export class JsonTooManyValuesError extends Error {
  override readonly name = "JsonTooManyValuesError";
  readonly dimension: "values" | "members" | "levels";
  readonly max: number;

  constructor(dimension: "values" | "members" | "levels", max: number) {
    super(`limit is ${max} ${dimension === "members" ? "members of one object" : dimension}`);
    this.dimension = dimension;
    this.max = max;
  }
}
