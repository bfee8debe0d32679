/**
 * Copies a string without references to other memory. A substring keeps its whole source in memory,
 * and a request target can be long: so strings that outlive their request in a table are copied.
 */
export function copyString<Text extends string>(text: Text): Text {
  return Buffer.from(text, "utf8").toString("utf8") as Text;
}
