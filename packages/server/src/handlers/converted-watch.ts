/**
 * Watches of objects that only a webhook can turn into the version that was asked for.
 *
 * The watch itself runs in the stored form; what comes out of it, chunk by chunk, is converted together and only then put into the
 * form that the client wants. A conversion that fails ends the watch with an ERROR event, as in Kubernetes.
 */
import { isJsonObject, type JsonObject, parseJson } from "@kcp-ts/machinery/json";
import { toBytes, toStatusError } from "../content/index.ts";
import type { ResourceDefinition, StoredForm } from "../registry/index.ts";
import { type Entry, type Revision, type StorageKey, toRevision } from "../storage/index.ts";
import { encodeObject } from "../stored-object/index.ts";
import { type EventForm, frame } from "../watch-cache/index.ts";

export async function* convertedEvents(
  stored: AsyncIterable<Uint8Array>,
  definition: ResourceDefinition,
  form: EventForm,
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const lines of linesOf(stored)) {
    const events = lines.map((line) => parseJson(line).value as unknown as WatchedEvent);
    let shown: readonly Entry[];
    try {
      shown = await present(definition.form as StoredForm, events.filter(isObject));
    } catch (error) {
      yield frame("ERROR", toBytes(toStatusError(error).status as unknown as JsonObject));
      return;
    }
    let next = 0;
    for (const event of events) {
      if (!isObject(event)) {
        yield frame(event.type, toBytes(event.object));
        continue;
      }
      const entry = shown[next++] as Entry;
      const encoder = isFirst ? (form.first ?? form) : form;
      isFirst = false;
      yield frame(event.type, encoder.encode(entry, entry.modifiedAt));
    }
  }
}

interface WatchedEvent {
  readonly type: string;
  readonly object: JsonObject;
}

function isObject({ type }: WatchedEvent): boolean {
  return type === "ADDED" || type === "MODIFIED" || type === "DELETED";
}

async function present(
  form: StoredForm,
  events: readonly WatchedEvent[],
): Promise<readonly Entry[]> {
  if (events.length === 0) return [];
  return form.present(events.map(({ object }) => entryOf(object)));
}

/** The entry that an event was made from, as far as presenting it needs that. */
function entryOf(object: JsonObject): Entry {
  const { resourceVersion } = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const modifiedAt: Revision = toRevision(Number(resourceVersion));
  return { key: "" as StorageKey, value: encodeObject(object), createdAt: modifiedAt, modifiedAt };
}

/** Whole lines; a chunk holds at least one. */
async function* linesOf(stored: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  let rest = "";
  for await (const chunk of stored) {
    const lines = (rest + Buffer.from(chunk).toString("utf8")).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield lines;
  }
}
