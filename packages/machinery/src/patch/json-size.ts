import { type Resumable, YieldCounter } from "../base/index.ts";
import { type JsonValue, stringifyResumable } from "../json/index.ts";

/** Characters that are counted in one step. */
const charactersPerStep = 100_000;

/** The size of a value as compact JSON in UTF-8. */
export function* jsonBytes(value: JsonValue): Resumable<number> {
  const text = yield* stringifyResumable(value);
  const pace = new YieldCounter(charactersPerStep);
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // A surrogate pair is two units and four bytes, any other unit beyond U+07FF is three bytes.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
    if (pace.isTime()) yield;
  }
  return bytes;
}
