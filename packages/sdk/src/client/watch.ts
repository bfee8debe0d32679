/**
 * Reading a watch: newline-delimited JSON in chunks becomes batches of events.
 *
 * Events are delivered in batches because they arrive in batches: awaiting each event would cost
 * more than parsing it.
 */
import { LoopPace, type Resumable, runSyncFirst } from "@kcp-ts/machinery/base";
import type { Bound } from "@kcp-ts/machinery/bounds";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type Status, StatusError } from "@kcp-ts/machinery/status";
import type { MemberTree } from "./member-picker.ts";
import type { KubernetesObject } from "./object.ts";
import { BoundedReader, concatBytes, objectReader } from "./object-reader.ts";
import type { MemberOptions } from "./options.ts";
import { statusErrorOf } from "./response-error.ts";
import type { ResponseLimits } from "./response-limits.ts";
import { HeldBytes, type MemoryAccount } from "./response-memory.ts";
import { TransportError } from "./transport.ts";
import { hasMetadata, readObjectOrSkip, readObjectOrSkipResumable } from "./unreadable.ts";

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

/** The annotation of the bookmark that ends the initial events of a `sendInitialEvents` watch. */
export const initialEventsEndAnnotation = "k8s.io/initial-events-end";

/** An object is at most a few megabytes; a longer line comes from a broken or hostile server. */
export const watchLineBytesMax = 32 << 20;

/**
 * The most events of one batch. The garbage collector keeps the events of the current batch, and V8
 * grows its heap for them: reading a hundred thousand objects in small batches takes half the
 * memory.
 */
const batchEventsMax = 4;

/**
 * Throws the StatusError of an ERROR event, and ends when the server ends the stream. With
 * `members`, objects have only these members; apiVersion and kind are always set.
 */
export async function* watchBatches<Object extends KubernetesObject>(
  body: AsyncIterable<Uint8Array>,
  { members, onUnreadable }: MemberOptions = {},
  answers?: ResponseLimits,
): AsyncGenerator<WatchEvent<Object>[]> {
  const bound = answers === undefined ? undefined : eventBound(answers.object);
  const lines = new LineCutter(bound?.bytesMax, answers?.memory?.buffers);
  const wanted = members === undefined ? undefined : eventMembers(members);
  const reader = new BoundedReader(wanted, bound);
  const read: (line: Uint8Array) => JsonValue | undefined =
    onUnreadable === undefined
      ? (line) => reader.read(line)
      : (line) => readObjectOrSkip(() => reader.read(line), hasObject, onUnreadable);
  const readLong: (line: Uint8Array) => Resumable<JsonValue | undefined> =
    onUnreadable === undefined
      ? (line) => reader.readLong(line)
      : (line) => readObjectOrSkipResumable(reader.readLong(line), hasObject, onUnreadable);
  const pace = answers === undefined ? undefined : new LoopPace();
  try {
    for await (const chunk of body) {
      let events: WatchEvent<Object>[] = [];
      for (const line of lines.cut(chunk)) {
        const isDue = pace?.yieldIfDue();
        if (isDue !== undefined) await isDue;
        const event = reader.isLong(line) ? await runSyncFirst(readLong(line)) : read(line);
        if (event === undefined) continue;
        if (!isJsonObject(event) || !isJsonObject(event["object"])) throw notAnEvent(line);
        if (event["type"] === "ERROR") {
          if (events.length > 0) yield events;
          throw errorOf(line);
        }
        if (!isEvent<Object>(event)) throw notAnEvent(line);
        events.push(event);
        if (events.length < batchEventsMax) continue;
        yield events;
        events = [];
      }
      if (events.length > 0) yield events;
    }
  } finally {
    lines.close();
  }
}

/** The limit of an event: that of an object, and a little more. */
function eventBound(object: Bound): Bound {
  const { bytesMax, valuesMax } = object;
  return { ...object, bytesMax: bytesMax + (1 << 10), valuesMax: valuesMax + 10 };
}

/** The object of an ERROR event is a Status, whose metadata is optional. */
function hasObject({ type, object }: JsonObject): boolean {
  return isJsonObject(object) && (type === "ERROR" || hasMetadata(object));
}

function eventMembers(members: MemberTree): MemberTree {
  return { type: true, object: { apiVersion: true, kind: true, ...members } };
}

/**
 * Splits chunks into lines. An incomplete line at the end of the stream was cut off, and is
 * dropped.
 */
class LineCutter {
  #begun: Uint8Array[] = [];
  #begunBytes = 0;
  readonly #bytesMax: number;
  readonly #held: HeldBytes;

  constructor(bytesMax = watchLineBytesMax, account?: MemoryAccount) {
    this.#bytesMax = bytesMax;
    this.#held = new HeldBytes(account);
  }

  close(): void {
    this.#held.release();
  }

  /**
   * The lines that this chunk completes, without empty ones. One by one: the garbage collector
   * would keep a hundred lines at once.
   */
  *cut(chunk: Uint8Array): Generator<Uint8Array> {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(newline, from);
      if (end === -1) break;
      const line = concatBytes(this.#begun, chunk.subarray(from, end));
      if (this.#begun.length > 0) this.#begun = [];
      this.#begunBytes = 0;
      this.#held.release();
      from = end + 1;
      if (line.length >= lineBytesMin) yield line;
    }
    if (from === chunk.length) return;
    this.#begun.push(chunk.subarray(from));
    this.#begunBytes += chunk.length - from;
    this.#held.set(this.#begunBytes);
    if (this.#begunBytes <= this.#bytesMax) return;
    const most = `a watch event is longer than ${this.#bytesMax} bytes`;
    throw new TransportError("connection-lost", most);
  }
}

const newline = 0x0a;
/** A shorter line is only a line ending (CR). */
const lineBytesMin = 2;

const eventTypes: ReadonlySet<unknown> = new Set(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]);

function isEvent<Object extends KubernetesObject>(event: unknown): event is WatchEvent<Object> {
  const { type, object } = event as { readonly type: unknown; readonly object: JsonObject };
  return eventTypes.has(type) && isJsonObject(object["metadata"]);
}

/** The wanted members of an event with an object, which do not apply to an event with a Status. */
function errorOf(line: Uint8Array): StatusError {
  const event = objectReader(undefined)(line);
  const { object } = event as unknown as { readonly object: Partial<Status> };
  return statusErrorOf(object);
}

function notAnEvent(line: Uint8Array): StatusError {
  const text = new TextDecoder().decode(line.subarray(0, 200));
  return new StatusError({
    code: 500,
    reason: "InternalError",
    message: `the server sent something that is not a watch event: ${text}`,
  });
}
