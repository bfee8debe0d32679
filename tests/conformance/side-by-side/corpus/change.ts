/** Bodies that differ in one place, and answers without some of their places. */
import { valueAt } from "../corpus-request.ts";

/** `undefined` removes the value at the path. */
export type Change = readonly [title: string, path: string, value: unknown];

export function changed(object: object, path: string, value: unknown): object {
  const [first = "", ...rest] = path.split(".");
  const copy = (Array.isArray(object) ? [...object] : { ...object }) as Record<string, unknown>;
  const inner = () => copy[first] ?? (/^\d+$/.test(rest[0] ?? "") ? [] : {});
  const next = rest.length === 0 ? value : changed(inner() as object, rest.join("."), value);
  if (next === undefined) delete copy[first];
  else copy[first] = next;
  return copy;
}

/** A view without these places of an object, and of the items of a list. */
export const without =
  (...paths: readonly string[]) =>
  (body: unknown): unknown => {
    if (typeof body !== "object" || body === null) return body;
    const copy = structuredClone(body);
    for (const path of paths) {
      const names = path.split(".");
      const last = names.pop() as string;
      for (const item of [copy, ...((valueAt(copy, "items") ?? []) as unknown[])]) {
        const holder = names.length === 0 ? item : valueAt(item, names.join("."));
        if (typeof holder === "object" && holder !== null)
          delete (holder as Record<string, unknown>)[last];
      }
    }
    return copy;
  };
