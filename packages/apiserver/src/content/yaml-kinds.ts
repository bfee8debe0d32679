/** Decides which YAML bodies the event loop parses, and which are JSON. */

/**
 * Any such text is parsed in one or two milliseconds. Without anchors, no part of it can expand.
 */
export function isShortYaml(bytes: Uint8Array): boolean {
  return bytes.length <= shortYamlBytes && !bytes.includes(anchor);
}

export const shortYamlBytes = 2 << 10;
const anchor = "&".charCodeAt(0);

/**
 * Apply configurations are sent as YAML and are almost always JSON, which is parsed an order of
 * magnitude faster. An empty body is an empty object.
 */
export function isJsonLike(bytes: Uint8Array): boolean {
  const first = bytes.find((byte) => !spaces.includes(byte));
  return first === undefined || first === openingBrace;
}

const spaces = [..." \t\n\v\f\r"].map((space) => space.charCodeAt(0));
const openingBrace = "{".charCodeAt(0);
