/**
 * The keys of the embedder's objects. Listing them takes a tenth of a microsecond each where there
 * are many, and every view of the same object would do it again.
 */
import { chargeSteps, currentCounter } from "./step-counter.ts";

/** Fewer keys are listed faster than they are found again. */
const REMEMBERED_KEYS_MIN = 32;
const STEPS_PER_KEY = 4;

/**
 * The object's own keys, which do not change while an evaluation runs: nothing is kept for longer.
 */
export function ownKeys(object: object): readonly string[] {
  const counter = currentCounter();
  const found = counter?.keys?.get(object);
  if (found !== undefined) return found;
  const keys = Object.keys(object);
  if (keys.length < REMEMBERED_KEYS_MIN) chargeSteps(keys.length);
  else {
    chargeSteps(keys.length * STEPS_PER_KEY);
    if (counter !== undefined) {
      counter.keys ??= new WeakMap();
      counter.keys.set(object, keys);
    }
  }
  return keys;
}
