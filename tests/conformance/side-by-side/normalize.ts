/**
 * Takes out of an answer what differs between two runs of the same server: identities, times,
 * versions, generated names, ages, addresses. What stands for them keeps its form, so that a
 * missing one, or one in the wrong place, is still a difference.
 */
import { type CorpusResponse, valueAt } from "./corpus-request.ts";

export function normalize({ status, headers, body }: CorpusResponse): CorpusResponse {
  if (status === 404 && isNoPath(body)) return { status, headers: {}, body: "<no such path>" };
  return { status, headers: keptHeaders(headers), body: new Normalizer().value(body, "") };
}

/**
 * Where no resource and no definition answers, the real server does so with a line of text or with
 * a Status. We use the latter.
 */
function isNoPath(body: unknown): boolean {
  if (body === "404 page not found\n") return true;
  return valueAt(body, "message") === "the server could not find the requested resource";
}

/** Headers that say something about the answer and not about the connection. */
const comparedHeaders = [
  "allow",
  "cache-control",
  "content-type",
  "location",
  "retry-after",
  "vary",
  "warning",
  "www-authenticate",
];

function keptHeaders(headers: CorpusResponse["headers"]): Record<string, string> {
  return Object.fromEntries(
    comparedHeaders
      .filter((name) => headers[name] !== undefined)
      .map((name) => [name, headers[name] as string]),
  );
}

/**
 * What Go writes although there is nothing to say: its structs by value, and an empty token of
 * custom resources.
 */
const emptyByHabit = new Set([
  "continue",
  "deprecatedFirstTimestamp",
  "deprecatedLastTimestamp",
  "deprecatedSource",
  "eventTime",
  "firstTimestamp",
  "lastTimestamp",
  "lastTransitionTime",
  "lastUpdateTime",
  "reportingComponent",
  "reportingInstance",
  "source",
]);

function isEmptyByHabit(key: string, value: unknown): boolean {
  if (!emptyByHabit.has(key)) return false;
  return value === null || value === "" || JSON.stringify(value) === "{}";
}

/** Every object of ours says in which logical cluster it is. */
const clusterAnnotation = "kcp.io/cluster";

function isOurs(annotations: unknown): boolean {
  return (
    typeof annotations === "object" &&
    annotations !== null &&
    Object.keys(annotations).join() === clusterAnnotation
  );
}

class Normalizer {
  readonly #uids = new Map<string, string>();

  value(value: unknown, key: string): unknown {
    if (typeof value === "string") return this.#text(value, key);
    if (key === "causes" && Array.isArray(value)) return this.#causes(value);
    if (key === "managedFields" && Array.isArray(value)) return this.#managers(value);
    if (Array.isArray(value)) {
      return value.map((item) => this.value(item, key === "cells" ? "cell" : ""));
    }
    if (typeof value !== "object" || value === null) return value;
    return this.#object(value as Record<string, unknown>);
  }

  /** The real server tells some of them twice. */
  #causes(causes: readonly unknown[]): unknown[] {
    const told = new Map(causes.map((cause) => [JSON.stringify(cause), cause]));
    return [...told.values()].map((cause) => this.value(cause, ""));
  }

  /** Entries are told by time: their order depends on when a second begins. */
  #managers(entries: readonly unknown[]): unknown[] {
    const name = (entry: unknown) =>
      ["operation", "manager", "apiVersion", "subresource"]
        .map((key) => valueAt(entry, key))
        .join();
    const sorted = [...entries].sort((a, b) => (name(a) < name(b) ? -1 : 1));
    return sorted.map((entry) => this.value(entry, ""));
  }

  #object(object: Record<string, unknown>): Record<string, unknown> {
    const { generateName, name } = object;
    const result: Record<string, unknown> = Object.create(null);
    for (const [key, value] of Object.entries(object)) {
      if (key === "annotations" && isOurs(value)) continue;
      if (key === clusterAnnotation) continue;
      if (isEmptyByHabit(key, value)) continue;
      // Of columns of tables: our words for people are our own.
      if (key === "description" && Object.hasOwn(object, "priority")) continue;
      result[key] = this.value(value, key);
    }
    if (typeof generateName === "string" && typeof name === "string" && name.length > 5) {
      result["name"] = name.startsWith(generateName) ? `${generateName}<generated>` : name;
    }
    return result;
  }

  #text(text: string, key: string): string {
    if (key === "resourceVersion") return /^[1-9]\d*$/.test(text) ? "<version>" : text;
    if (key === "continue") return "<continue>";
    if (key === "serverAddress") return "<address>";
    if (key === "storageVersionHash") return "<hash>";
    if (key === "caBundle") return "<authority>";
    if (key === "cell" && /^\d+s$/.test(text)) return "<age>";
    return (
      text
        .replaceAll(/ \(\*core\.\w+\)$/g, "")
        .replaceAll(/(Invalid value: )"\{.*\}":/gs, '$1"<object>":')
        // Parsers word differently what is wrong with a text.
        .replaceAll(
          /(json parse error: |error decoding (?:patch|YAML): ).*?( \([^()]*\))?$/gs,
          "$1<what is wrong>$2",
        )
        .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, (uid) => this.#uid(uid))
        .replaceAll(/\b(20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z/g, (_, __, fraction) =>
          fraction === undefined ? "<time>" : "<micro time>",
        )
        .replaceAll(/https:\/\/127\.0\.0\.1:\d{4,5}\b/g, "https://<hook>")
        .replaceAll(
          /(resource version: |current: |ResourceVersion: |in record \()[1-9]\d*/gi,
          "$1<version>",
        )
    );
  }

  /** Numbered, so that the same one twice stays the same one. */
  #uid(uid: string): string {
    const known = this.#uids.get(uid);
    if (known !== undefined) return known;
    const name = `<uid ${this.#uids.size + 1}>`;
    this.#uids.set(uid, name);
    return name;
  }
}
