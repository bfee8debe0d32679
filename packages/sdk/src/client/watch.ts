/**
 * Reading a watch: newline-delimited JSON in chunks becomes batches of events.
 *
 * Events come in batches because they arrive in batches: a wait for each of them would cost more than they do.
 */
import { isJsonObject, type JsonObject, parseJson } from "@kcp-ts/machinery/json";
import { type Status, StatusError } from "@kcp-ts/machinery/status";
import type { KubernetesObject } from "./object.ts";
import { statusErrorOf } from "./response-error.ts";
import { TransportError } from "./transport.ts";

export type WatchEvent<Object extends KubernetesObject = KubernetesObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: Object }
  | { readonly type: "BOOKMARK"; readonly object: Bookmark };

/** Only these fields are filled. */
export interface Bookmark {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** On the bookmark that ends the initial events of a `sendInitialEvents` watch. */
export const initialEventsEndAnnotation = "k8s.io/initial-events-end";

/** An object is at most a few megabytes; a line longer than this is not an event but a broken or hostile server. */
export const watchLineBytesMax = 32 << 20;

/**
 * Events of one batch at most. Whatever is being worked on when the garbage collector comes by is kept, and makes V8 take room for more of it:
 * reading a hundred thousand objects in small batches takes half the memory.
 */
const batchEventsMax = 4;

/** Throws the StatusError of an ERROR event, and ends when the server ends the stream. */
export async function* watchBatches<Object extends KubernetesObject>(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<WatchEvent<Object>[]> {
  for await (const lines of readLines(body)) {
    let events: WatchEvent<Object>[] = [];
    for (const line of lines) {
      if (line.length < 2) continue;
      const event = parseJson(line).value;
      if (!isJsonObject(event) || !isJsonObject(event["object"])) throw notAnEvent(line);
      if (event["type"] === "ERROR") {
        if (events.length > 0) yield events;
        throw statusErrorOf(event["object"] as unknown as Partial<Status>);
      }
      events.push(checked<Object>(event, line));
      if (events.length < batchEventsMax) continue;
      yield events;
      events = [];
    }
    if (events.length > 0) yield events;
  }
}

/** Whole lines, as many as a chunk completes. What is left behind the last newline when the stream ends was cut off, and is dropped. */
async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  for await (const chunk of body) {
    const end = chunk.lastIndexOf(0x0a);
    if (end === -1) {
      rest.push(chunk);
      restBytes += chunk.length;
      if (restBytes > watchLineBytesMax) {
        throw new TransportError(
          "connection-lost",
          `a watch event is longer than ${watchLineBytesMax} bytes`,
        );
      }
      continue;
    }
    let text = "";
    for (const part of rest) text += decoder.decode(part, { stream: true });
    text += decoder.decode(chunk.subarray(0, end));
    rest = end + 1 < chunk.length ? [chunk.subarray(end + 1)] : [];
    restBytes = chunk.length - end - 1;
    yield text.split("\n");
  }
}

const eventTypes: ReadonlySet<unknown> = new Set(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]);

function checked<Object extends KubernetesObject>(
  event: JsonObject,
  line: string,
): WatchEvent<Object> {
  const object = event["object"] as JsonObject;
  if (!eventTypes.has(event["type"]) || !isJsonObject(object["metadata"])) throw notAnEvent(line);
  return event as unknown as WatchEvent<Object>;
}

function notAnEvent(line: string): StatusError {
  return new StatusError({
    code: 500,
    reason: "InternalError",
    message: `the server sent something that is not a watch event: ${line.slice(0, 200)}`,
  });
}
