/** `base64.encode` and `base64.decode`. Kubernetes does not offer them. */
import type { Library } from "../check/environment.ts";
import { fn, global } from "../check/function-declaration.ts";
import { traversalEstimate } from "../cost/call-estimate.ts";
import { firstArgumentCost } from "../cost/sizes.ts";
import { BYTES, STRING } from "../types/type.ts";
import { decodeBase64, encodeBase64 } from "../values/base64.ts";
import { chargeSteps } from "../values/step-counter.ts";
import { CelError } from "../values/value.ts";

const price = { cost: firstArgumentCost, estimate: traversalEstimate() };

function counted<T extends { readonly length: number }>(value: T): T {
  chargeSteps(value.length >> 1);
  return value;
}

export const encodersLibrary: Library = {
  functions: [
    fn(
      "base64.decode",
      global(
        "base64_decode_string",
        [STRING],
        BYTES,
        (text: string) => decodeBase64(counted(text)) ?? new CelError("illegal base64 data"),
        price,
      ),
    ),
    fn(
      "base64.encode",
      global(
        "base64_encode_bytes",
        [BYTES],
        STRING,
        (bytes: Uint8Array) => encodeBase64(counted(bytes)),
        price,
      ),
    ),
  ],
};
