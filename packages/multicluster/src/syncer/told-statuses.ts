/**
 * Whether a status is shown, or what is to be done about it.
 *
 * The side that shows it may keep another one than it is told: its schema lacks a member, or has a default; members that are null are left out by some
 * servers and not by others. What was told and is kept so is told once. Who insists on something else is met with growing patience: two that write
 * the same status must not do so without end.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonValue, jsonEqual, stringifyJson } from "@kcp-ts/machinery/json";
import { hashDigits } from "../api/index.ts";
import { type CachedObject, statusOf } from "./cached-object.ts";
import { isFieldSubset } from "./containment.ts";
import { DriftBackoff } from "./drift-patience.ts";

export interface UpsyncStatusGuardOptions {
  readonly clock: Clock;
  /** Others may say more than we do, and it stays. */
  readonly mayHaveMore?: boolean;
}

const recordedMax = 1000;

export class UpsyncStatusGuard {
  readonly #options: UpsyncStatusGuardOptions;
  readonly #patience: DriftBackoff;
  /** What was told last. Of the newest only: who insists changes it soon. */
  readonly #told = new Map<string, string>();
  /** What was told, and what the server made of it: when both are still so, there is nothing to tell. */
  readonly #settled = new Map<string, string>();

  constructor(options: UpsyncStatusGuardOptions) {
    this.#options = options;
    this.#patience = new DriftBackoff(options.clock);
  }

  /** 0: it is to be told now, which counts; undefined: there is nothing to do. */
  waitMs(text: string, status: JsonValue, shown: CachedObject): number | undefined {
    if (isSame(status, shown)) return undefined;
    if (this.#settled.get(text) === digestOf(status, shown, shown.status)) return undefined;
    if (this.#told.get(text) !== digestOf(status, shown)) return 0;
    if (this.#options.mayHaveMore === true && isFieldSubset(status, statusOf(shown)))
      return undefined;
    return this.#patience.waitMs(text);
  }

  /** `answer`: the object as the server has it now. */
  wrote(text: string, status: JsonValue, answer: CachedObject): void {
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
    this.#patience.forget(text);
  }
}

/** Of an object: one of the same name that comes later has been told nothing. */
function digestOf(status: JsonValue, { metadata }: CachedObject, kept = ""): string {
  return hashDigits(`${metadata.uid}\n${stringifyJson(status)}\n${kept}`, 32);
}

function isSame(status: JsonValue, shown: CachedObject): boolean {
  const other = statusOf(shown) ?? null;
  return jsonEqual(status, other) || jsonEqual(withoutNulls(status), withoutNulls(other));
}

/** Null is what a client of Kubernetes cannot tell from absent. */
function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(entries.map(([key, member]) => [key, withoutNulls(member)]));
}
