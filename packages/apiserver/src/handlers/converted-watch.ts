/**
 * Watches of objects that only a webhook can convert to the requested version.
 *
 * The watch itself delivers stored objects; each chunk of them is converted together, and then
 * encoded in the form that the client requested. A failed conversion ends the watch with an ERROR
 * event, as in Kubernetes.
 */
import { runSyncFirst } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, parseResumable } from "@kcp-ts/machinery/json";
import { toBytes, toStatusError } from "../content/index.ts";
import type { ParsedObject, ResourceDefinition, VersionCodec } from "../registry/index.ts";
import { type Entry, type StorageKey, toRevision } from "../storage/index.ts";
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

/**
 * Bytes of events that wait for the webhook: each takes several times as much while it is
 * converted.
 */
export const unconvertedBytesMax = 6 << 20;

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
    const events: WatchedEvent[] = [];
    const objects: ParsedObject[] = [];
    for (const line of lines) {
      const { value } = await runSyncFirst(parseResumable(line));
      const event = value as unknown as WatchedEvent;
      events.push(event);
      for (const object of objectsOf(event)) objects.push(parsedObject(object, line.length));
    }
    let shown: readonly Entry[];
    try {
      shown = await present(definition.codec as VersionCodec, objects);
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
      yield encodeFrame(told.type, await encoded(encoder, told.entry));
    }
  }
}

async function encoded(encoding: EventEncoding, entry: Entry): Promise<Buffer> {
  const { encodeResumable } = encoding;
  return encodeResumable === undefined
    ? encoding.encode(entry, entry.modifiedAt)
    : runSyncFirst(encodeResumable(entry, entry.modifiedAt));
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

async function present(
  form: VersionCodec,
  objects: readonly ParsedObject[],
): Promise<readonly Entry[]> {
  return objects.length === 0 ? [] : ((await form.objectsToServed?.(objects)) ?? []);
}

function parsedObject({ key, object }: Keyed, length: number): ParsedObject {
  const { resourceVersion } = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  return { key, modifiedAt: toRevision(Number(resourceVersion)), object, length };
}

/** The length of lines that are converted together: a long one is converted alone. */
const lengthMax = 64 << 10;

/** Yields complete lines; each result has at least one. */
async function* linesOf(stored: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  let rest: Uint8Array[] = [];
  for await (const chunk of stored) {
    const end = chunk.lastIndexOf(newline) + 1;
    if (end === 0) {
      rest.push(chunk);
      continue;
    }
    const text = Buffer.concat([...rest, chunk.subarray(0, end)]).toString("utf8");
    rest = end === chunk.length ? [] : [chunk.subarray(end)];
    yield* groupsOf(text.slice(0, -1).split("\n"));
  }
}

const newline = 0x0a;

function* groupsOf(lines: readonly string[]): Generator<readonly string[]> {
  let group: string[] = [];
  let length = 0;
  for (const line of lines) {
    length += line.length;
    if (group.length > 0 && length > lengthMax) {
      yield group;
      group = [];
      length = line.length;
    }
    group.push(line);
  }
  yield group;
}
