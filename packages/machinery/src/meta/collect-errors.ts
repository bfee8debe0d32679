import type { FieldError } from "../status/index.ts";

/**
 * A message is hundreds of bytes long, a wrong label takes ten: without a limit a small request
 * would have a huge response. Kubernetes reports all; the first ones are enough for users.
 */
export const errorsPerFieldMax = 100;

/** The errors of the items in order, up to the limit. */
export function collectErrors<Item>(
  items: readonly Item[],
  errorsOf: (item: Item, index: number) => readonly FieldError[],
): FieldError[] {
  const errors: FieldError[] = [];
  // Counted, not iterated: this is on the path of every write.
  for (let i = 0; i < items.length; i++) {
    const found = errorsOf(items[i] as Item, i);
    if (found.length > 0) errors.push(...found);
    if (errors.length >= errorsPerFieldMax) return errors.slice(0, errorsPerFieldMax);
  }
  return errors;
}
