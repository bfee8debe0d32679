/** The text is not JSON, or not JSON that this process is willing to hold. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

/** The text has more values, or more of them in one object, than the caller is willing to look at. */
export class JsonTooManyValuesError extends Error {
  override readonly name = "JsonTooManyValuesError";
}
