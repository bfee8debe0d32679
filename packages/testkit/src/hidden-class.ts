/**
 * Whether two objects are of one hidden class of V8: code that has read the members of one finds
 * those of the other without looking.
 */
import { setFlagsFromString } from "node:v8";
import { runInThisContext } from "node:vm";

// Left on: the function is parsed when it is first called.
setFlagsFromString("--allow-natives-syntax");

export const haveSameHiddenClass = runInThisContext("(a, b) => %HaveSameMap(a, b)") as (
  a: object,
  b: object,
) => boolean;
