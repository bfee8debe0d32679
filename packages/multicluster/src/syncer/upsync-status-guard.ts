/**
 * Decides whether a status must be written to a side.
 *
 * The server may store another status than the one that was written: its schema lacks a field, or
 * has a default; some servers drop null members and others do not. A status that was written and
 * stored differently is written once. Another client that keeps writing is met with backoff: two
 * writers of the same status must not overwrite each other without end.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonValue, jsonEqual, stringifyJson } from "@kcp-ts/machinery/json";
import { hashDigits } from "../api/index.ts";
import { type CachedObject, statusOf } from "./cached-object.ts";
import { DriftBackoff } from "./drift-backoff.ts";
import { isFieldSubset } from "./field-subset.ts";

export interface UpsyncStatusGuardOptions {
  readonly clock: Clock;
  /** Other clients may add fields, which stay. */
  readonly mayHaveMore?: boolean;
}

const recordedMax = 1000;

export class UpsyncStatusGuard {
  readonly #options: UpsyncStatusGuardOptions;
  readonly #gracePeriods: DriftBackoff;
  /**
   * The last written status; only of the newest objects, because a persistent writer changes it
   * soon.
   */
  readonly #told = new Map<string, string>();
  /**
   * The written status, and what the server stored: while both are unchanged, nothing is to be
   * written.
   */
  readonly #settled = new Map<string, string>();

  constructor(options: UpsyncStatusGuardOptions) {
    this.#options = options;
    this.#gracePeriods = new DriftBackoff(options.clock);
  }

  /** 0: write now, and count it; undefined: nothing to write. */
  waitMs(text: string, status: JsonValue, shown: CachedObject): number | undefined {
    if (isSame(status, shown)) return undefined;
    if (this.#settled.get(text) === digestOf(status, shown, shown.status)) return undefined;
    if (this.#told.get(text) !== digestOf(status, shown)) return 0;
    if (this.#options.mayHaveMore === true && isFieldSubset(status, statusOf(shown)))
      return undefined;
    return this.#gracePeriods.waitMs(text);
  }

  /** `answer`: the object as the server stores it now. */
  recordWrite(text: string, status: JsonValue, answer: CachedObject): void {
    this.#told.delete(text);
    this.#told.set(text, digestOf(status, answer));
    const [oldest] = this.#told.keys();
    if (this.#told.size > recordedMax && oldest !== undefined) this.#told.delete(oldest);
    if (isSame(status, answer)) this.#settled.delete(text);
    else this.#settled.set(text, digestOf(status, answer, answer.status));
  }

  forget(text: string): void {
    this.#told.delete(text);
    this.#settled.delete(text);
    this.#gracePeriods.forget(text);
  }
}

/** The digest contains the uid: nothing was written yet for a later object of the same name. */
function digestOf(status: JsonValue, { metadata }: CachedObject, kept = ""): string {
  return hashDigits(`${metadata.uid}\n${stringifyJson(status)}\n${kept}`, 32);
}

function isSame(status: JsonValue, shown: CachedObject): boolean {
  const other = statusOf(shown) ?? null;
  return jsonEqual(status, other) || jsonEqual(withoutNulls(status), withoutNulls(other));
}

/** Clients of Kubernetes do not distinguish null from absent. */
function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(entries.map(([key, member]) => [key, withoutNulls(member)]));
}
