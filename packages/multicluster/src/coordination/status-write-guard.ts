/**
 * The last written status of a workload, and the status that the server stored. A kind whose schema
 * prunes some fields would be written forever: when the desired status is the last written one, and
 * the stored status is the result of that write, nothing is written. Times are ignored, because
 * pruned fields have none to compare.
 */
import { isJsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { formatKey, type ObjectKey } from "@kcp-ts/sdk";

export class StatusWriteGuard {
  readonly #written = new Map<string, { readonly wanted: JsonValue; readonly got: JsonValue }>();

  isRedundant(key: ObjectKey, wanted: object, present: object | undefined): boolean {
    if (wanted === present) return true;
    const is = (present ?? {}) as JsonValue;
    if (jsonEqual(wanted as JsonValue, is)) return true;
    const last = this.#written.get(formatKey(key));
    return (
      last !== undefined &&
      jsonEqual(last.wanted, timeless(wanted)) &&
      jsonEqual(last.got, timeless(is))
    );
  }

  /** Recorded only where the two differ. */
  recordWrite(key: ObjectKey, wanted: object, got: object | undefined): void {
    const text = formatKey(key);
    if (jsonEqual(wanted as JsonValue, (got ?? {}) as JsonValue)) this.#written.delete(text);
    else this.#written.set(text, { wanted: timeless(wanted), got: timeless(got ?? {}) });
  }

  forget(key: ObjectKey): void {
    this.#written.delete(formatKey(key));
  }
}

const times: ReadonlySet<string> = new Set(["lastTransitionTime", "lastUpdateTime"]);

function timeless(value: JsonValue | object): JsonValue {
  if (Array.isArray(value)) return value.map((one: JsonValue) => timeless(one));
  const json = value as JsonValue;
  if (!isJsonObject(json)) return json;
  const entries = Object.entries(json).filter(([field]) => !times.has(field));
  return Object.fromEntries(entries.map(([field, one]) => [field, timeless(one as JsonValue)]));
}
