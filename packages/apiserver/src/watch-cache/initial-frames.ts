/**
 * The initial objects of watches, as they are sent. The bytes of a large object are shared by all
 * watches that send it at the same time: a thousand clients that stop reading at the same object
 * hold it once.
 */
import { type MaybeResumable, type Resumable, runSync } from "@kcp-ts/machinery/base";
import type { Entry } from "../storage/index.ts";
import { type EventEncoding, encodeFrame } from "./hub-event.ts";

/** Smaller objects are sent together, in chunks. */
const sharedBytesMin = 16 << 10;

const frames = new WeakMap<Entry, Map<string, WeakRef<Buffer>>>();

/** Resumable where the form may take long. */
export function initialFrame(entry: Entry, form: EventEncoding): MaybeResumable<Buffer> {
  if (form.encodeResumable !== undefined) return frameResumable(entry, form);
  if (entry.value.length < sharedBytesMin)
    return encodeFrame("ADDED", form.encode(entry, entry.modifiedAt));
  if (form.encodePastResumable !== undefined) return frameResumable(entry, form);
  return runSync(frameResumable(entry, form));
}

function* frameResumable(entry: Entry, form: EventEncoding): Resumable<Buffer> {
  const { name, encodeResumable = form.encodePastResumable } = form;
  const known = frames.get(entry)?.get(name)?.deref();
  if (known !== undefined) return known;
  const object =
    encodeResumable === undefined
      ? form.encode(entry, entry.modifiedAt)
      : yield* encodeResumable(entry, entry.modifiedAt);
  const made = encodeFrame("ADDED", object);
  if (entry.value.length < sharedBytesMin) return made;
  const ofEntry = frames.get(entry) ?? new Map<string, WeakRef<Buffer>>();
  ofEntry.set(name, new WeakRef(made));
  frames.set(entry, ofEntry);
  return made;
}
