/**
 * How much a server may answer that need not mean well: a physical cluster of a tenant. A client with bounds reads answers with rests, and gives up on what
 * is larger; one without believes its server, and reads what comes.
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
import { TransportError } from "./transport.ts";

export interface ResponseLimits {
  /** Answers that are read as a whole: discovery, OpenAPI, one object. */
  readonly whole: Bound;
  /** An object of a list or a watch; watch events have a little more. */
  readonly object: Bound;
  /** A page of a list, whose objects are read one by one. */
  readonly list: Bound;
  /** What a list says of itself. */
  readonly head: Bound;
  /** Objects of one listing, over all its pages: a server could go on for ever. */
  readonly itemsMax: number;
}

/** For servers that a tenant names. */
export const untrustedServerLimits: ResponseLimits = {
  whole: bounds.clusterAnswer,
  object: bounds.clusterObject,
  list: bounds.clusterList,
  head: bounds.clusterListHead,
  itemsMax: 200_000,
};

/** A value at once for who believes the server, and for short texts. */
export function parseResponse(
  bound: Bound | undefined,
  text: string | Uint8Array,
): JsonValue | Promise<JsonValue> {
  if (bound === undefined) return parseJson(textOf(text)).value;
  return runSyncFirst(parseWithinLimit(bound, text));
}

/** Throws a TransportError, as for any answer that is not read to its end. */
export function* parseWithinLimit(bound: Bound, text: string | Uint8Array): Resumable<JsonValue> {
  try {
    return (yield* parseBoundedResumable(bound, text)).value;
  } catch (error) {
    throw asTransportError(error);
  }
}

/** Counts the objects of one listing. */
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
