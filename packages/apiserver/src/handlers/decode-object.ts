/**
 * Decodes the body of a write into an object of the resource's kind, checks it against the path,
 * and handles unknown fields.
 */
import {
  type Resumable,
  runSync,
  runSyncFirst,
  runYielding,
  yieldToEventLoop,
} from "@kcp-ts/machinery/base";
import {
  exceededLimit,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@kcp-ts/machinery/json";
import { deduplicateOwnerReferences, type OwnerReference } from "@kcp-ts/machinery/meta";
import { SchemaLimitError } from "@kcp-ts/machinery/schema";
import {
  type Decoded,
  decodeShape,
  decodeShapeOfProtobuf,
  decodeShapeResumable,
  ShapeError,
} from "@kcp-ts/machinery/shape";
import { fieldError, quote, type StatusError, statusError } from "@kcp-ts/machinery/status";
import {
  type BodyKind,
  bodyMembersMax,
  type DecodedBody,
  decodeBodyResumable,
  isProtobuf,
  type RequestBody,
  yamlErrorMessage,
} from "../content/index.ts";
import {
  apiVersionOf,
  type Draft,
  type ResourceDefinition,
  type Strategy,
} from "../registry/index.ts";
import { header } from "../request/api-request.ts";
import type { HandlerRequest } from "./handler-context.ts";
import type { MutationOptions } from "./options.ts";

export interface DecodedObject {
  readonly draft: Draft;
  /** Whether the write yields to the event loop between its steps. */
  readonly isLarge: boolean;
}

export async function readObject(
  handled: HandlerRequest,
  options: MutationOptions,
): Promise<DecodedObject> {
  const { definition, warnings } = handled;
  const sent = sentBody(handled);
  const { shape, protobufShape } = definition.strategy;
  const { kind } = definition;
  const apiVersion = apiVersionOf(definition);
  let body: DecodedBody;
  if (protobufShape !== undefined && isProtobuf(sent.contentType)) {
    body = await decodeForeign(sent, { kind, apiVersion, shape: protobufShape() });
  } else {
    // Other custom kinds have no protobuf encoding.
    const expected = { kind, apiVersion, shape: definition.itemsCarryKind ? undefined : shape };
    body = await decodeSent(sent, expected);
  }
  if (isJsonObject(body.value["metadata"])) handled.recordAuditObject(body.value["metadata"]);
  checkKind(definition, body.value);
  if (!isLargeBody(sent))
    return { draft: decodeDraft(definition, body, options, warnings), isLarge: false };
  if ((body.values ?? Number.POSITIVE_INFINITY) > objectValuesMax) {
    await yieldToEventLoop();
    checkValueCount(body.value);
  }
  const draft = await decodeLargeDraft(definition, body, options, warnings);
  await yieldToEventLoop();
  return { draft, isLarge: true };
}

/**
 * Decodes protobuf of a built-in Kubernetes kind that a CustomResourceDefinition serves here: Go
 * clients write zero values that JSON omits, and the schema of the definition may not permit them.
 * Protobuf cannot express empty lists, which the schema may require.
 */
async function decodeForeign(sent: RequestBody, expected: BodyKind): Promise<DecodedBody> {
  const body = await decodeSent(sent, expected);
  return expected.shape === undefined
    ? body
    : { ...body, value: decodeShapeOfProtobuf(expected.shape, body.value).value };
}

/**
 * The maximum number of values of an object (objects, arrays and their members) without its
 * managedFields. Every step of a write visits each of them in one turn of the event loop; the
 * largest real objects, definitions with long schemas, have some 50,000.
 */
export const objectValuesMax = 80_000;

export function checkValueCount(object: JsonObject): void {
  const exceeded = exceededLimit(withoutManagers(object), objectLimits);
  if (exceeded !== undefined) throw statusError.tooLarge(exceeded);
}

/**
 * Whether the write of the object yields to the event loop between its steps; visits no more values
 * than needed.
 */
export function isLargeObject(value: JsonValue): boolean {
  return exceededLimit(value, manyValues) !== undefined;
}

const manyValues = { valuesMax: 10_000, membersMax: 10_000 };

const objectLimits = { valuesMax: objectValuesMax, membersMax: bodyMembersMax };

function withoutManagers(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isJsonObject(metadata) || metadata["managedFields"] === undefined) return object;
  const { managedFields: _, ...rest } = metadata;
  return { ...object, metadata: rest };
}

/** Creates the error for a body that is rejected, from the reason. */
export type RejectBody = (why: string) => StatusError;

/** The maximum number of reported errors; a body can have hundreds of thousands. */
export const reportedErrorsMax = 100;

/**
 * Decodes the value by the shape of its kind; unknown fields are rejected, reported as warnings or
 * dropped, as the fieldValidation of the request says.
 */
export function decodeDraft(
  definition: ResourceDefinition,
  body: DecodedBody,
  options: MutationOptions,
  warnings: string[],
  reject?: RejectBody,
): Draft {
  const { shape, decode } = definition.strategy;
  try {
    const decoded = decode === undefined ? decodeShape(shape, body.value) : decode(body.value);
    return runSync(draftOf(decoded, body, options, warnings));
  } catch (error) {
    throw decodingError(definition, error, reject);
  }
}

/**
 * decodeDraft in a turn of its own, which yields to the event loop where the kind's decoder can.
 */
export function decodeLargeDraft(
  definition: ResourceDefinition,
  body: DecodedBody,
  options: MutationOptions,
  warnings: string[],
  reject?: RejectBody,
): Promise<Draft> {
  return runYielding(largeDraftResumable(definition, body, options, warnings, reject));
}

function* largeDraftResumable(
  definition: ResourceDefinition,
  body: DecodedBody,
  options: MutationOptions,
  warnings: string[],
  reject: RejectBody | undefined,
): Resumable<Draft> {
  try {
    const decoded = yield* shapeResumable(definition.strategy, body.value);
    return yield* draftOf(decoded, body, options, warnings);
  } catch (error) {
    throw decodingError(definition, error, reject);
  }
}

function* draftOf(
  decoded: Decoded,
  { duplicates, yamlDuplicates = [] }: DecodedBody,
  { fieldValidation }: MutationOptions,
  warnings: string[],
): Resumable<Draft> {
  const draft = decoded.value as Draft;
  const metadata = draft["metadata"] as Draft | undefined;
  if (metadata?.["ownerReferences"] !== undefined) yield* dropRepeatedOwners(metadata, warnings);
  const isClean = decoded.unknownFields.length === 0 && duplicates.length === 0;
  if (isClean && yamlDuplicates.length === 0) return draft;
  const problems = [
    ...decoded.unknownFields
      .slice(0, reportedErrorsMax)
      .map((path) => `unknown field ${quote(path)}`),
    ...duplicates.slice(0, reportedErrorsMax).map((path) => `duplicate field ${quote(path)}`),
  ].slice(0, reportedErrorsMax);
  if (fieldValidation === "Strict") {
    if (yamlDuplicates.length > 0) problems.unshift(yamlErrorMessage(yamlDuplicates));
    throw new ShapeError(`strict decoding error: ${problems.join(", ")}`);
  }
  if (fieldValidation === "Warn") warnings.push(...yamlDuplicates, ...problems);
  return draft;
}

function* dropRepeatedOwners(metadata: Draft, warnings: string[]): Resumable<void> {
  const sent = metadata["ownerReferences"] as unknown as OwnerReference[];
  const { ownerReferences, warning } = yield* deduplicateOwnerReferences(sent);
  if (warning === undefined) return;
  metadata["ownerReferences"] = ownerReferences;
  warnings.push(warning);
}

function* shapeResumable(
  { decodeResumable, decode, shape }: Strategy,
  value: JsonObject,
): Resumable<Decoded> {
  if (decodeResumable !== undefined) return yield* decodeResumable(value);
  return decode === undefined ? yield* decodeShapeResumable(shape, value) : decode(value);
}

function decodingError(
  { kind, version }: ResourceDefinition,
  error: unknown,
  reject: RejectBody = (why) =>
    statusError.badRequest(
      `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${why}`,
    ),
): unknown {
  if (error instanceof SchemaLimitError) return statusError.tooLarge(error.message);
  return error instanceof ShapeError ? reject(error.message) : error;
}

export function checkKind(definition: ResourceDefinition, value: JsonObject): void {
  const expected = apiVersionOf(definition);
  const { apiVersion, kind } = value;
  if (definition.itemsCarryKind && kind !== definition.kind) refuseOtherKind(definition, value);
  if (apiVersion !== undefined && apiVersion !== "" && apiVersion !== expected) {
    throw statusError.badRequest(
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${expected})`,
    );
  }
  if (kind !== undefined && kind !== "" && kind !== definition.kind) {
    throw statusError.badRequest(
      `${String(kind)} in version ${JSON.stringify(definition.version)} cannot be handled as a ${definition.kind}: no kind ${JSON.stringify(kind)} is registered for this endpoint`,
    );
  }
}

/**
 * Rejects a custom resource of another kind as invalid (422); a built-in kind fails to decode
 * (400).
 */
function refuseOtherKind({ group, kind: expected }: ResourceDefinition, value: JsonObject): void {
  const { kind = "", metadata } = value;
  if (kind === "" || typeof kind !== "string") return;
  const name = isJsonObject(metadata) ? metadata["name"] : undefined;
  throw statusError.invalid({ group, kind }, typeof name === "string" ? name : "", [
    fieldError.invalid("kind", kind, `must be ${expected}`),
  ]);
}

/** Rejects a body whose name or namespace contradicts the path. */
export function checkAddress(
  handled: HandlerRequest,
  draft: Draft,
  rule: "create" | "update",
): void {
  const { scope, definition } = handled;
  const metadata = isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
  const { namespace, name } = metadata;
  if (
    definition.isNamespaced &&
    typeof namespace === "string" &&
    namespace !== "" &&
    namespace !== scope.namespace
  ) {
    throw namespaceMismatchError();
  }
  if (rule === "create") return;
  if (typeof name !== "string" || name === "") {
    throw statusError.badRequest(
      `the name of the object (${scope.name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (name !== scope.name) {
    throw statusError.badRequest(
      `the name of the object (${name}) does not match the name on the URL (${scope.name})`,
    );
  }
}

export function namespaceMismatchError(): StatusError {
  return statusError.badRequest(
    "the namespace of the provided object does not match the namespace sent on the request",
  );
}

// The body of a request as handlers read it: the only accessor, for every content type.

export function sentBody({ request, body, yaml }: HandlerRequest): RequestBody {
  return { bytes: body ?? noBytes, contentType: header(request.headers, "content-type"), yaml };
}

const noBytes = new Uint8Array();

/**
 * Parsing, decoding and validating larger bodies takes some milliseconds each: the handler yields
 * to the event loop in between.
 */
const largeBodyBytes = 32 << 10;

export function isLargeBody({ bytes, yaml }: RequestBody): boolean {
  const { length } = yaml !== undefined && "json" in yaml ? yaml.json : bytes;
  return length >= largeBodyBytes;
}

export async function decodeSent(sent: RequestBody, expected: BodyKind): Promise<DecodedBody> {
  const work = decodeBodyResumable(sent, expected);
  return isLargeBody(sent) ? runSyncFirst(work) : runSync(work);
}
