/** The text is not JSON, or not JSON that this process is willing to hold. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

/** The text has more values, or more of them in one object, or deeper ones, than the caller is willing to look at. */
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
