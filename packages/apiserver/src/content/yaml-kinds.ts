/** Which bodies are YAML, and which of them are read on the event loop. */
export function isYamlType(mediaType: string): boolean {
  return mediaType.endsWith("yaml");
}

/** Read in one or two milliseconds, whatever it is. Without anchors nothing in it can stand for more than is there. */
export function isShortYaml(bytes: Uint8Array): boolean {
  return bytes.length <= shortYamlBytes && !bytes.includes(anchor);
}

export const shortYamlBytes = 2 << 10;
const anchor = "&".charCodeAt(0);

/** Configurations are sent as YAML and are JSON nearly always, which is read an order of magnitude faster. Nothing at all is an object with nothing in it. */
export function isJsonLike(bytes: Uint8Array): boolean {
  const first = bytes.find((byte) => !spaces.includes(byte));
  return first === undefined || first === openingBrace;
}

const spaces = [..." \t\n\v\f\r"].map((space) => space.charCodeAt(0));
const openingBrace = "{".charCodeAt(0);
