/**
 * Limits of responses from untrusted servers, such as a tenant's physical cluster. A client with
 * limits yields to the event loop while it reads a response, and fails when the response exceeds a
 * limit; a client without limits trusts its server.
 */
import { type Resumable, runSyncFirst } from "@kcp-ts/machinery/base";
import {
  type Bound,
  BoundExceededError,
  bounds,
  isBoundExceeded,
  parseBoundedResumable,
} from "@kcp-ts/machinery/bounds";
import { type JsonValue, parseJson } from "@kcp-ts/machinery/json";
import type { ResponseMemory } from "./response-memory.ts";
import { TransportError } from "./transport.ts";

export interface ResponseLimits {
  /** Responses that are read in full: discovery, OpenAPI, one object. */
  readonly response: Bound;
  /** One object of a list or a watch; watch events have a little more. */
  readonly object: Bound;
  /** One page of a list, whose objects are read one by one. */
  readonly list: Bound;
  /** The list's own metadata. */
  readonly head: Bound;
  /** The objects of one list over all its pages: a hostile server could send pages for ever. */
  readonly itemsMax: number;
  /** The memory of its responses; unlimited if omitted. */
  readonly memory?: ResponseMemory | undefined;
}

/** The limits for servers that a tenant registers. */
export const untrustedServerLimits: ResponseLimits = {
  response: bounds.clusterAnswer,
  object: bounds.clusterObject,
  list: bounds.clusterList,
  head: bounds.clusterListHead,
  itemsMax: 200_000,
};

/** Returns the value synchronously for trusted servers and for short texts. */
export function parseResponse(
  bound: Bound | undefined,
  text: string | Uint8Array,
): JsonValue | Promise<JsonValue> {
  if (bound === undefined) return parseJson(textOf(text)).value;
  return runSyncFirst(parseWithinLimit(bound, text));
}

/** Throws a TransportError, as for any response that is not read to its end. */
export function* parseWithinLimit(bound: Bound, text: string | Uint8Array): Resumable<JsonValue> {
  try {
    return (yield* parseBoundedResumable(bound, text)).value;
  } catch (error) {
    throw asTransportError(error);
  }
}

/** Counts the objects of one list. */
export class ItemCounter {
  readonly #bounds: ResponseLimits | undefined;
  #items = 0;

  constructor(answers: ResponseLimits | undefined) {
    this.#bounds = answers;
  }

  add(items: number): void {
    if (this.#bounds === undefined) return;
    this.#items += items;
    const { itemsMax, list } = this.#bounds;
    if (this.#items > itemsMax)
      throw new TransportError("connection-lost", `${list.name}: limit is ${itemsMax} objects`);
  }
}

/** Throws a TransportError. */
export function throwIfTooLarge(bound: Bound | undefined, bytes: number): void {
  if (bound !== undefined && bytes > bound.bytesMax)
    throw asTransportError(new BoundExceededError(bound, "bytes", bound.bytesMax));
}

/** Counts the bytes of one page. */
export class PageByteCounter {
  readonly #bound: Bound | undefined;
  #bytes = 0;

  constructor(bound: Bound | undefined) {
    this.#bound = bound;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    throwIfTooLarge(this.#bound, this.#bytes);
  }
}

function asTransportError(error: unknown): unknown {
  return isBoundExceeded(error)
    ? new TransportError("connection-lost", `the answer is too large: ${error.message}`, error)
    : error;
}

function textOf(text: string | Uint8Array): string {
  return typeof text === "string" ? text : new TextDecoder().decode(text);
}
