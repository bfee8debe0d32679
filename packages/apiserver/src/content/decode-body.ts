/**
 * Decodes request bytes into a JSON value: JSON, YAML, and protobuf for the kinds that have a
 * shape.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import {
  type Bound,
  type BoundExceededError,
  bounds,
  isBoundExceeded,
  parseBoundedResumable,
} from "@kcp-ts/machinery/bounds";
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
  type ParsedText,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import {
  decodeEnvelope,
  decodeMessageResumable,
  FieldCount,
  type MessageShape,
} from "@kcp-ts/machinery/shape";
import { type StatusError, statusError } from "@kcp-ts/machinery/status";
import type { TranslatedYaml } from "./translate-yaml.ts";

/** A body as it was sent, and as JSON if it was sent as YAML. */
export interface RequestBody {
  readonly bytes: Uint8Array;
  readonly contentType: string | undefined;
  readonly yaml?: TranslatedYaml | undefined;
}

export interface DecodedBody {
  readonly value: JsonObject;
  /** The paths of duplicate fields. */
  readonly duplicates: readonly string[];
  /** The duplicate fields of YAML, with YAML's own messages: see `yamlErrorMessage`. */
  readonly yamlDuplicates?: readonly string[];
  /**
   * The number of values of the body, if they were counted: then no object of it has too many
   * members.
   */
  readonly values?: number | undefined;
}

export interface BodyKind {
  readonly kind: string;
  readonly apiVersion: string;
  /** Undefined when protobuf is not accepted: for custom resources. */
  readonly shape: MessageShape | undefined;
}

/**
 * The values of a JSON body (objects, arrays and their members), managedFields included: as many as
 * are parsed in a few tens of milliseconds.
 */
export const bodyValuesMax: number = bounds.requestBody.valuesMax;

/**
 * The members of one object in a JSON body: from some ten thousand on, every access to an object
 * takes milliseconds.
 */
export const bodyMembersMax: number = bounds.requestBody.membersMax;

const protobufType = "application/vnd.kubernetes.protobuf";

export function mediaTypeOf(contentType: string | undefined): string {
  if (contentType === undefined || contentType === "") return "application/json";
  const end = contentType.indexOf(";");
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

export function isYamlType(mediaType: string): boolean {
  return mediaType.endsWith("yaml");
}

export function isProtobuf(contentType: string | undefined): boolean {
  return mediaTypeOf(contentType) === protobufType;
}

/** Yields to the event loop between the steps of parsing. */
export function* decodeBodyResumable(
  sent: RequestBody,
  expected: BodyKind,
): Resumable<DecodedBody> {
  const { bytes } = sent;
  switch (mediaTypeOf(sent.contentType)) {
    case "application/json":
      return asObject(yield* decodeJson(bytes, expected), expected);
    case "application/yaml":
      return asObject(yield* decodeYaml(sent, expected), expected);
    case protobufType:
      if (expected.shape !== undefined)
        return yield* decodeProtobuf(bytes, expected, expected.shape);
  }
  throw statusError.unsupportedMediaType([
    "application/json",
    "application/yaml",
    ...(expected.shape === undefined ? [] : [protobufType]),
  ]);
}

export function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Without the cause: invalid input of clients does not belong in the server's error log.
    throw statusError.badRequest("the body of the request is not valid UTF-8");
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function* decodeJson(bytes: Uint8Array, { kind }: BodyKind): Resumable<ParsedText> {
  const text = decodeText(bytes);
  if (bytes.length > longTextBytes) yield;
  try {
    return yield* parseBody(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw unrecognized(kind, error.message, bytes);
  }
}

/** Decoding a longer text takes a fraction of a millisecond. */
const longTextBytes = 512 << 10;

/** Parses JSON from a client. Throws a JsonSyntaxError, or a 413. */
export function* parseBody(text: string, bound: Bound = bounds.requestBody): Resumable<ParsedText> {
  try {
    return yield* parseBoundedResumable(bound, text);
  } catch (error) {
    if (isBoundExceeded(error)) throw tooLargeFor(error);
    throw error;
  }
}

function tooLargeFor({ dimension, max }: BoundExceededError): StatusError {
  const of = dimension === "members" ? "members of one object" : dimension;
  return statusError.tooLarge(`limit is ${max} ${of}`);
}

function* decodeYaml({ bytes, yaml }: RequestBody, { kind }: BodyKind): Resumable<ParsedBody> {
  if (yaml === undefined) throw new Error("YAML is translated before it is decoded");
  if ("error" in yaml)
    throw unrecognized(kind, `error converting YAML to JSON: ${yaml.error}`, bytes);
  return yield* parseTranslatedYaml(yaml);
}

/** A body with any JSON value. */
type ParsedBody = Omit<DecodedBody, "value"> & { readonly value: JsonValue };

/** Parses the JSON to which YAML was translated. */
export function* parseTranslatedYaml({
  json,
  duplicates,
}: Exclude<TranslatedYaml, { error: string }>): Resumable<ParsedBody> {
  const text = decodeText(json);
  if (json.length > longTextBytes) yield;
  const { value, values } = yield* parseBody(text, bounds.translatedYaml);
  return { value, values, duplicates: [], yamlDuplicates: duplicates };
}

/** Joins the errors as go-yaml does. */
export function yamlErrorMessage(problems: readonly string[]): string {
  return `yaml: unmarshal errors:\n  ${problems.join("\n  ")}`;
}

function* decodeProtobuf(
  bytes: Uint8Array,
  { kind, apiVersion }: BodyKind,
  shape: MessageShape,
): Resumable<DecodedBody> {
  try {
    const count = new FieldCount(bounds.requestBody);
    const envelope = decodeEnvelope(bytes, count);
    const value = yield* decodeMessageResumable(shape, envelope.raw, count);
    return {
      value: {
        kind: envelope.kind || kind,
        apiVersion: envelope.apiVersion || apiVersion,
        ...value,
      },
      duplicates: [],
    };
  } catch (error) {
    if (isBoundExceeded(error)) throw tooLargeFor(error);
    const why = error instanceof Error ? error.message : String(error);
    const start = Buffer.from(bytes.subarray(0, excerptBytes)).toString("hex");
    const shown = bytes.length > excerptBytes ? `${start} ...` : start;
    throw statusError.badRequest(
      `the object provided is unrecognized (must be of type ${kind}): ${why} (${shown})`,
    );
  }
}

function asObject(parsed: ParsedBody, { kind }: BodyKind): DecodedBody {
  const { value } = parsed;
  if (isJsonObject(value)) return parsed as DecodedBody;
  // As in Go, where null leaves every field at its zero value.
  if (parsed.value === null) return { value: {}, duplicates: [] };
  const found = Array.isArray(parsed.value) ? "array" : typeof parsed.value;
  throw unrecognized(
    kind,
    `json: cannot unmarshal ${found} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    Buffer.from(stringifyJson(parsed.value)),
  );
}

/** The start of the body, as text when it looks like JSON and in hex when it does not. */
function excerpt(bytes: Uint8Array): string {
  if (bytes.length === 0) return "<empty>";
  const start = Buffer.from(bytes.subarray(0, excerptBytes));
  const shown = start.toString(start[0] === "{".charCodeAt(0) ? "utf8" : "hex");
  return bytes.length > excerptBytes ? `${shown} ...` : shown;
}

const excerptBytes = 30;

function unrecognized(kind: string, message: string, bytes: Uint8Array): StatusError {
  return statusError.badRequest(
    `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${message} (${excerpt(bytes)})`,
  );
}
