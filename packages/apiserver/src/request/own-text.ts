/**
 * A copy of a text that holds on to nothing else. What is cut out of a longer text keeps the whole of it in memory, and the target of a request can be
 * long: so whatever stays in a table longer than its request is copied.
 */
export function copyString<Text extends string>(text: Text): Text {
  return Buffer.from(text, "utf8").toString("utf8") as Text;
}
