/** `jsonpatch.escapeKey`, for paths in mutations. */
import type { Library } from "../check/environment.ts";
import { fn, global } from "../check/function-declaration.ts";
import { traversalEstimate } from "../cost/call-estimate.ts";
import { firstArgumentCost } from "../cost/sizes.ts";
import { STRING } from "../types/type.ts";

export const jsonPatchLibrary: Library = {
  functions: [
    fn(
      "jsonpatch.escapeKey",
      global(
        "string_jsonpatch_escapeKey_string",
        [STRING],
        STRING,
        (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1"),
        { cost: firstArgumentCost, estimate: traversalEstimate({ sameSize: true }) },
      ),
    ),
  ],
};
