/**
 * Objects that watches begin with, as they are sent. Large ones are the same memory for all watches that are at them, for as long as one is:
 * a thousand clients that stop reading at the same object hold it once.
 */
import type { Entry } from "../storage/index.ts";
import { type EventEncoding, encodeFrame } from "./hub-event.ts";

/** Smaller ones are sent with others, in chunks. */
const sharedBytesMin = 16 << 10;

const frames = new WeakMap<Entry, Map<string, WeakRef<Buffer>>>();

export function initialFrame(entry: Entry, form: EventEncoding): Buffer {
  if (entry.value.length < sharedBytesMin) return encoded(entry, form);
  const known = frames.get(entry)?.get(form.name)?.deref();
  if (known !== undefined) return known;
  const made = encoded(entry, form);
  const ofEntry = frames.get(entry) ?? new Map<string, WeakRef<Buffer>>();
  ofEntry.set(form.name, new WeakRef(made));
  frames.set(entry, ofEntry);
  return made;
}

function encoded(entry: Entry, form: EventEncoding): Buffer {
  return encodeFrame("ADDED", form.encode(entry, entry.modifiedAt));
}
