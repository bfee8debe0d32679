/**
 * Whether two objects are of one hidden class of V8: code that has read the members of one finds
 * those of the other without looking.
 */
import { setFlagsFromString } from "node:v8";
import { runInThisContext } from "node:vm";

let compare: ((a: object, b: object) => boolean) | undefined;

/** V8's own syntax is switched on when it is needed: other engines have none. */
export function haveSameHiddenClass(a: object, b: object): boolean {
  if (compare === undefined) {
    // Left on: the function is parsed when it is first called.
    setFlagsFromString("--allow-natives-syntax");
    compare = runInThisContext("(a, b) => %HaveSameMap(a, b)") as typeof compare;
  }
  return compare?.(a, b) === true;
}
