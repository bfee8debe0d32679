/** Encodes an object to its stored bytes: the only code that decides the positions of its parts. */
import { cachedFieldSetTexts } from "@kcp-ts/machinery/apply";
import type { Resumable } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  stringifyJson,
  stringifyResumable,
} from "@kcp-ts/machinery/json";
import {
  envelopeFlag,
  labelsOpening,
  metadataOpening,
  textStart,
  writeEnvelope,
} from "./envelope.ts";

/**
 * The annotation with the logical cluster on every served object, so that clients of all clusters
 * can distinguish objects. Never stored: the key has it.
 */
export const clusterAnnotation = "kcp.io/cluster";

export function encodeObject(object: JsonObject): Buffer {
  const parts = partsOf(object);
  return assemble(parts, textOfMetadata(parts.metadata), stringifyJson(parts.rest));
}

/**
 * The fields of the only manager are half of a new Pod's text: where their text is known, it is not
 * made again.
 */
function textOfMetadata(metadata: JsonObject): string {
  const { managedFields } = metadata;
  const entries: readonly JsonValue[] = Array.isArray(managedFields) ? managedFields : [];
  const [entry] = entries;
  if (entries.length !== 1 || !isJsonObject(entry)) return stringifyJson(metadata);
  const { fieldsV1, ...others } = entry;
  const fields = isJsonObject(fieldsV1) ? cachedFieldSetTexts.get(fieldsV1) : undefined;
  if (fields === undefined) return stringifyJson(metadata);
  const manager = withLastMember(stringifyJson(others), `"fieldsV1":${fields}`);
  const { managedFields: _, ...rest } = metadata;
  return withLastMember(stringifyJson(rest), `"managedFields":[${manager}]`);
}

function withLastMember(object: string, member: string): string {
  return object === "{}" ? `{${member}}` : `${object.slice(0, -1)},${member}}`;
}

/** Encodes a large object while yielding to the event loop. */
export function* encodeObjectResumable(object: JsonObject): Resumable<Buffer> {
  const parts = partsOf(object);
  const metadata = yield* stringifyResumable(parts.metadata);
  const rest = yield* stringifyResumable(parts.rest);
  yield;
  return assemble(parts, metadata, rest);
}

interface Parts {
  readonly kind: JsonValue | undefined;
  readonly apiVersion: JsonValue | undefined;
  readonly labels: JsonValue | undefined;
  readonly annotations: JsonObject | undefined;
  /** The other members of the metadata. */
  readonly metadata: JsonObject;
  /** The other members of the object. */
  readonly rest: JsonObject;
}

function partsOf(object: JsonObject): Parts {
  const { kind, apiVersion, metadata: given, ...rest } = object;
  const { labels, annotations, resourceVersion: _, ...metadata } = isJsonObject(given) ? given : {};
  return {
    kind,
    apiVersion,
    labels: isJsonObject(labels) ? labels : undefined,
    annotations: isJsonObject(annotations) ? storedAnnotations(annotations) : undefined,
    metadata,
    rest,
  };
}

function storedAnnotations(annotations: JsonObject): JsonObject | undefined {
  if (!Object.hasOwn(annotations, clusterAnnotation)) return annotations;
  // Most objects have no other annotation.
  if (Object.keys(annotations).length === 1) return undefined;
  const { [clusterAnnotation]: _, ...others } = annotations;
  return others;
}

/**
 * Writes each part at its position, as a JSON object; where a part continues an open object, its
 * brace becomes a comma. No member can leave its part, whatever its name is.
 */
function assemble(parts: Parts, metadataText: string, restText: string): Buffer {
  const head = headText(parts.kind, parts.apiVersion);
  const labels =
    parts.labels === undefined
      ? metadataOpening
      : `${metadataOpening}${labelsOpening}${stringifyJson(parts.labels)},`;
  const annotations =
    parts.annotations === undefined ? "}" : continued(stringifyJson(parts.annotations));
  const metadata = continued(metadataText);
  // Not joined with the rest, which may be large: that would copy it.
  const isEmpty = restText === "{}";
  const start = head + labels + annotations + metadata + (isEmpty ? "}" : ",");
  const rest = isEmpty ? "" : restText.slice(1);
  const startLength = Buffer.byteLength(start);
  const restLength = Buffer.byteLength(rest);
  // With as many bytes as characters, which is the common case, byte offsets equal character
  // offsets.
  const lengthOf = startLength === start.length ? charactersOf : Buffer.byteLength;
  const headEnd = textStart + lengthOf(head);
  const gap = headEnd + lengthOf(labels);
  const metadataEnd = gap + lengthOf(annotations) + lengthOf(metadata);
  const bytes = Buffer.allocUnsafe(textStart + startLength + restLength);
  bytes.write(start, textStart, startLength === start.length ? "latin1" : "utf8");
  bytes.write(rest, textStart + startLength, restLength === rest.length ? "latin1" : "utf8");
  return writeEnvelope(bytes, flagsOf(parts), { metadata: headEnd, gap, metadataEnd });
}

function charactersOf(text: string): number {
  return text.length;
}

/** An object's text as a continuation of another object, up to the brace that closes both. */
function continued(object: string): string {
  return object === "{}" ? "}" : `,${object.slice(1)}`;
}

/** Objects of one kind are often encoded consecutively. */
let lastHead: { kind?: JsonValue | undefined; apiVersion?: JsonValue | undefined; text: string } = {
  text: "",
};

function headText(kind: JsonValue | undefined, apiVersion: JsonValue | undefined): string {
  if (lastHead.text === "" || lastHead.kind !== kind || lastHead.apiVersion !== apiVersion) {
    const text = `{"kind":${stringifyJson(kind ?? "")},"apiVersion":${stringifyJson(apiVersion ?? "")},`;
    lastHead = { kind, apiVersion, text };
  }
  return lastHead.text;
}

/** The finalizers of objects that wait for their dependents. */
const waitingFinalizers: readonly string[] = ["orphan", "foregroundDeletion"];

function flagsOf({ metadata, rest: { status } }: Parts): number {
  const { ownerReferences, finalizers, deletionTimestamp } = metadata;
  let flags = status !== undefined && isEstablished(status) ? envelopeFlag.established : 0;
  if (Array.isArray(ownerReferences) && ownerReferences.length > 0) flags |= envelopeFlag.owned;
  if (Array.isArray(finalizers) && finalizers.length > 0) {
    flags |= envelopeFlag.finalizers;
    if (waitingFinalizers.some((one) => finalizers.includes(one)))
      flags |= envelopeFlag.awaitsDependents;
  }
  if (deletionTimestamp !== undefined && deletionTimestamp !== null) flags |= envelopeFlag.deleting;
  return flags;
}

function isEstablished(status: JsonValue | undefined): boolean {
  if (!isJsonObject(status) || !Array.isArray(status["conditions"])) return false;
  const conditions: readonly JsonValue[] = status["conditions"];
  return conditions.some(
    (one) => isJsonObject(one) && one["type"] === "Established" && one["status"] === "True",
  );
}
