/** The text is not JSON, or not JSON that this process is willing to hold. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}
