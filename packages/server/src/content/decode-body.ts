/**
 * From request bytes to a JSON value: JSON, YAML, and protobuf for the kinds that have a shape.
 */
import { atOnce, type Pieces } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  JsonTooManyValuesError,
  type JsonValue,
  type ParsedText,
  parseInPieces,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import { decodeEnvelope, decodeMessage, type MessageShape } from "@kcp-ts/machinery/shape";
import { type StatusError, statusError } from "@kcp-ts/machinery/status";
import { parseYaml } from "./yaml.ts";

export interface DecodedBody {
  readonly value: JsonObject;
  /** Paths of members that stand twice. */
  readonly duplicates: readonly string[];
  /** The same of YAML, which tells them in its own words: see `yamlProblemOf`. */
  readonly yamlDuplicates?: readonly string[];
  /** How many values the body has, where they were counted: none of its objects has more members than a body may have then. */
  readonly values?: number | undefined;
}

export interface BodyKind {
  readonly kind: string;
  readonly apiVersion: string;
  /** Undefined where protobuf is not accepted: custom resources. */
  readonly shape: MessageShape | undefined;
}

/** Larger YAML would hold up everybody while it is parsed; JSON of the same size does not. */
export const yamlBytesMax = 512 << 10;

/** Values of a JSON body (objects, arrays and what is in them), managedFields included: what is parsed in a few tens of milliseconds. */
export const bodyValuesMax = 100_000;

/** Members of one object in a JSON body: from some ten thousand on, every look at an object takes milliseconds. */
export const bodyMembersMax = 20_000;

const protobufType = "application/vnd.kubernetes.protobuf";

export function mediaTypeOf(contentType: string | undefined): string {
  if (contentType === undefined || contentType === "") return "application/json";
  const end = contentType.indexOf(";");
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

export function isProtobuf(contentType: string | undefined): boolean {
  return mediaTypeOf(contentType) === protobufType;
}

export function decodeBody(
  bytes: Uint8Array,
  contentType: string | undefined,
  expected: BodyKind,
): DecodedBody {
  return atOnce(decodeInPieces(bytes, contentType, expected));
}

/** The same, resting between the steps of parsing JSON. */
export function* decodeInPieces(
  bytes: Uint8Array,
  contentType: string | undefined,
  expected: BodyKind,
): Pieces<DecodedBody> {
  switch (mediaTypeOf(contentType)) {
    case "application/json":
      return asObject(yield* decodeJson(bytes, expected), expected);
    case "application/yaml":
      return asObject(decodeYaml(bytes, expected), expected);
    case protobufType:
      if (expected.shape !== undefined) return decodeProtobuf(bytes, expected, expected.shape);
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
    // Without the cause: what clients send is nothing for the server's log of errors.
    throw statusError.badRequest("the body of the request is not valid UTF-8");
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function* decodeJson(bytes: Uint8Array, { kind }: BodyKind): Pieces<ParsedText> {
  const text = decodeText(bytes);
  if (bytes.length > longTextBytes) yield;
  try {
    return yield* parseBody(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw unrecognized(kind, error.message, text);
  }
}

/** Decoding a longer one takes part of a millisecond. */
const longTextBytes = 512 << 10;

/** JSON from a client. Throws a JsonSyntaxError, or a 413. */
export function* parseBody(text: string): Pieces<ParsedText> {
  try {
    return yield* parseInPieces(text, { valuesMax: bodyValuesMax, membersMax: bodyMembersMax });
  } catch (error) {
    if (!(error instanceof JsonTooManyValuesError)) throw error;
    throw statusError.tooLarge(error.message);
  }
}

function decodeYaml(
  bytes: Uint8Array,
  { kind }: BodyKind,
): Omit<DecodedBody, "value"> & { readonly value: JsonValue } {
  if (bytes.length > yamlBytesMax)
    throw statusError.tooLarge(`limit for YAML is ${yamlBytesMax}, send JSON instead`);
  const text = decodeText(bytes);
  const parsed = parseYaml(text);
  if ("error" in parsed)
    throw unrecognized(kind, `error converting YAML to JSON: ${parsed.error}`, text);
  return { value: parsed.value, duplicates: [], yamlDuplicates: parsed.duplicates };
}

/** As go-yaml puts together what it found. */
export function yamlProblemOf(problems: readonly string[]): string {
  return `yaml: unmarshal errors:\n  ${problems.join("\n  ")}`;
}

function decodeProtobuf(
  bytes: Uint8Array,
  { kind, apiVersion }: BodyKind,
  shape: MessageShape,
): DecodedBody {
  try {
    const envelope = decodeEnvelope(bytes);
    const value = decodeMessage(shape, envelope.raw);
    return {
      value: {
        kind: envelope.kind || kind,
        apiVersion: envelope.apiVersion || apiVersion,
        ...value,
      },
      duplicates: [],
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const start = Buffer.from(bytes.subarray(0, excerptBytes)).toString("hex");
    const shown = bytes.length > excerptBytes ? `${start} ...` : start;
    throw statusError.badRequest(
      `the object provided is unrecognized (must be of type ${kind}): ${why} (${shown})`,
    );
  }
}

function asObject(
  parsed: Omit<DecodedBody, "value"> & { readonly value: JsonValue },
  { kind }: BodyKind,
): DecodedBody {
  const { value } = parsed;
  if (isJsonObject(value)) return { ...parsed, value };
  // As in Go, where null leaves everything at its zero value.
  if (parsed.value === null) return { value: {}, duplicates: [] };
  const found = Array.isArray(parsed.value) ? "array" : typeof parsed.value;
  throw unrecognized(
    kind,
    `json: cannot unmarshal ${found} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    stringifyJson(parsed.value),
  );
}

/** The start of the body, readable when it looks like JSON and in hex when it does not. */
function excerpt(text: string): string {
  if (text === "") return "<empty>";
  const bytes = Buffer.from(text);
  const start = bytes.subarray(0, excerptBytes);
  const shown = text.startsWith("{") ? start.toString("utf8") : start.toString("hex");
  return bytes.length > excerptBytes ? `${shown} ...` : shown;
}

const excerptBytes = 30;

function unrecognized(kind: string, message: string, text: string): StatusError {
  return statusError.badRequest(
    `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${message} (${excerpt(text)})`,
  );
}
