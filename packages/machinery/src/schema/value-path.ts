/**
 * The current path of a walk in an object, kept as a stack and formatted only when it is reported.
 */

/** A property's name, an item's index, or (in brackets) the key of a map entry. */
export type PathSegment = string | number | readonly [string];

/** As unknown fields and schema errors are named: `spec.list[0].map.key`. */
export function dottedPath(path: readonly PathSegment[]): string {
  let text = "";
  for (const segment of path) {
    if (typeof segment === "number") text += `[${segment}]`;
    else {
      const name = typeof segment === "string" ? segment : segment[0];
      text += text === "" ? name : `.${name}`;
    }
  }
  return text;
}

/** As field errors are named: `spec.list[0].map[key]`; the root is `<nil>`. */
export function fieldPath(path: readonly PathSegment[]): string {
  let text = "";
  for (const segment of path) {
    if (typeof segment === "string") text += text === "" ? segment : `.${segment}`;
    else text += `[${typeof segment === "number" ? segment : segment[0]}]`;
  }
  return text === "" ? "<nil>" : text;
}
