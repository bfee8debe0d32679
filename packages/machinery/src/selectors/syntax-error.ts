/** The text is not a selector. The message is that of an API server, with status 400. */
export class SelectorSyntaxError extends Error {
  override readonly name = "SelectorSyntaxError";
}

/** A selector longer than this does not fit into a URL that servers accept anyway. */
export const selectorTextBytesMax = 64 * 1024;
export const selectorRequirementsMax = 1000;
