/**
 * Watches of objects that only a webhook can convert to the requested version.
 *
 * The watch itself delivers stored objects; each chunk of them is converted together, and then
 * encoded in the form that the client requested. A failed conversion ends the watch with an ERROR
 * event, as in Kubernetes.
 */
import { isJsonObject, type JsonObject, parseJson } from "@kcp-ts/machinery/json";
import { toBytes, toStatusError } from "../content/index.ts";
import type { ResourceDefinition, VersionCodec } from "../registry/index.ts";
import { type Entry, type Revision, type StorageKey, toRevision } from "../storage/index.ts";
import { encodeObject } from "../stored-object/index.ts";
import {
  type EventEncoding,
  type EventType,
  encodeFrame,
  fullObjectEncoding,
} from "../watch-cache/index.ts";

export interface ConvertedWatch {
  /** The encoding of the events that the client receives. */
  readonly encoding: EventEncoding;
  /**
   * See `SelectionResult`: whether a change is ADDED, MODIFIED or DELETED for a selector is only
   * known when both states are converted.
   */
  readonly matchesServed: ((served: Entry) => boolean) | undefined;
}

/** The encoding of the watch whose events are converted. */
export function storedEncoding(ofServed: ConvertedWatch["matchesServed"]): EventEncoding {
  return ofServed === undefined ? keyed : withPrevious;
}

/** An object with its key: the webhook cannot change the identity of the object. */
const keyed: EventEncoding = {
  name: "keyed",
  encode: (entry, revision) =>
    Buffer.concat([
      Buffer.from(`{"key":${JSON.stringify(entry.key)},"object":`),
      fullObjectEncoding.encode(entry, revision),
      closing,
    ]),
};

const closing = Buffer.from("}");
const withPrevious: EventEncoding = { ...keyed, name: "keyed/previous", includesPrevious: true };

export async function* convertedEvents(
  stored: AsyncIterable<Uint8Array>,
  definition: ResourceDefinition,
  { encoding, matchesServed = () => true }: ConvertedWatch,
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const lines of linesOf(stored)) {
    const events = lines.map((line) => parseJson(line).value as unknown as WatchedEvent);
    let shown: readonly Entry[];
    try {
      shown = await present(definition.codec as VersionCodec, events.flatMap(objectsOf));
    } catch (error) {
      yield encodeFrame("ERROR", toBytes(toStatusError(error).status as unknown as JsonObject));
      return;
    }
    let next = 0;
    for (const event of events) {
      if (!isObject(event)) {
        yield encodeFrame(event.type, toBytes(event.object));
        continue;
      }
      const entry = shown[next++] as Entry;
      const previous = event.previous === undefined ? undefined : (shown[next++] as Entry);
      const told = servedChangeOf(event.type, entry, previous, matchesServed);
      if (told === undefined) continue;
      const encoder = isFirst ? (encoding.first ?? encoding) : encoding;
      isFirst = false;
      yield encodeFrame(told.type, encoder.encode(told.entry, told.entry.modifiedAt));
    }
  }
}

/** The event type of a change of the stored object for a selector over served objects. */
function servedChangeOf(
  type: string,
  entry: Entry,
  previous: Entry | undefined,
  isSelected: (served: Entry) => boolean,
): { readonly type: string; readonly entry: Entry } | undefined {
  const isNow = isSelected(entry);
  if (previous === undefined) return isNow ? { type, entry } : undefined;
  const was = isSelected(previous);
  if (isNow) return { type: was ? type : "ADDED", entry };
  return was ? { type: "DELETED", entry: previous } : undefined;
}

interface Keyed {
  readonly key: StorageKey;
  readonly object: JsonObject;
}

type WatchedEvent =
  | { readonly type: EventType; readonly object: Keyed; readonly previous?: Keyed }
  | { readonly type: "BOOKMARK" | "ERROR"; readonly object: JsonObject };

function objectsOf(event: WatchedEvent): Keyed[] {
  if (!isObject(event)) return [];
  return event.previous === undefined ? [event.object] : [event.object, event.previous];
}

function isObject(
  event: WatchedEvent,
): event is Extract<WatchedEvent, { readonly type: EventType }> {
  const { type } = event;
  return type === "ADDED" || type === "MODIFIED" || type === "DELETED";
}

async function present(form: VersionCodec, objects: readonly Keyed[]): Promise<readonly Entry[]> {
  if (objects.length === 0) return [];
  return form.toServed(objects.map(entryOf));
}

/** The entry of an event, as far as serving the object needs it. */
function entryOf({ key, object }: Keyed): Entry {
  const { resourceVersion } = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const modifiedAt: Revision = toRevision(Number(resourceVersion));
  return { key, value: encodeObject(object), createdAt: modifiedAt, modifiedAt };
}

/** Yields complete lines; each result has at least one. */
async function* linesOf(stored: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  let rest = "";
  for await (const chunk of stored) {
    const lines = (rest + Buffer.from(chunk).toString("utf8")).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield lines;
  }
}
