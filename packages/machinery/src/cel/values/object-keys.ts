/**
 * The keys of the embedder's objects. Listing them takes a tenth of a microsecond each where there are many, and every view of the
 * same object would do it again.
 */
import { work } from "./work.ts";

/** Fewer keys are listed faster than they are found again. */
const REMEMBERED_KEYS_MIN = 32;
const STEPS_PER_KEY = 4;
/** Nothing is kept for longer than a turn of the one that asks for it: objects may change between two evaluations. */
let known = new WeakMap<object, readonly string[]>();
let isEmpty = true;

/** The object's own keys, which nobody changes while an evaluation runs. */
export function ownKeys(object: object): readonly string[] {
  const found = isEmpty ? undefined : known.get(object);
  if (found !== undefined) return found;
  const keys = Object.keys(object);
  if (keys.length >= REMEMBERED_KEYS_MIN) {
    work(keys.length * STEPS_PER_KEY);
    known.set(object, keys);
    isEmpty = false;
  } else work(keys.length);
  return keys;
}

/** Called when an evaluation has ended. */
export function forgetKeys(): void {
  if (isEmpty) return;
  known = new WeakMap();
  isEmpty = true;
}
