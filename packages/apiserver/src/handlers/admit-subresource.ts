/**
 * Admission of requests to subresources that do not store their input: the options of a session, an
 * eviction.
 */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { applyTypeOf } from "@kcp-ts/machinery/shape";
import { statusError } from "@kcp-ts/machinery/status";
import type { AdmissionRequest, GroupVersionKind, ObjectDecoder } from "../admission/index.ts";
import {
  type AdmissionTarget,
  apiVersionOf,
  type Draft,
  type SubresourceKind,
} from "../registry/index.ts";
import { HandlerAdmissionRequest } from "./admission-request.ts";
import { optionsFrom } from "./connect-options.ts";
import { checkAddress, decodeSent, sentBody } from "./decode-object.ts";
import type { HandlerDependencies, HandlerRequest } from "./handler-context.ts";
import { parseMutationOptions } from "./options.ts";
import { decodeView } from "./subresource-view.ts";

/** Resolves to the object as admission leaves it; rejects when admission denies the request. */
export async function admitSubresource(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
  { operation, kind }: AdmissionTarget,
): Promise<Draft> {
  const isConnect = operation === "CONNECT";
  const draft = isConnect ? connectOptions(handled, kind) : await posted(handled, kind);
  const isDryRun =
    !isConnect && parseMutationOptions(handled.scope.query, "CreateOptions").isDryRun;
  const request = new HandlerAdmissionRequest(handled, operation, isDryRun, {
    view: admissionKindOf(kind),
  });
  await mutateDraft(dependencies, request, draft);
  if (!isConnect) checkName(handled, kind, draft);
  await dependencies.admission.validate(request, draft, undefined);
  return draft;
}

export async function mutateDraft(
  { admission }: HandlerDependencies,
  request: AdmissionRequest,
  draft: Draft,
): Promise<void> {
  await admission.admit(request);
  await admission.mutate(request, draft, undefined);
}

/** The kind of the admission request, and the decoder of the object that plugins return. */
export function admissionKindOf(
  kind: SubresourceKind,
): GroupVersionKind & { readonly codec: ObjectDecoder } {
  const { group, version } = kind;
  const codec: ObjectDecoder = {
    decode: async (value) => ({
      ...decodeView(kind, value),
      kind: kind.kind,
      apiVersion: apiVersionOf(kind),
    }),
    applyType: applyTypeOf(kind.shape),
  };
  return { group, version, kind: kind.kind, codec };
}

export async function readKind(handled: HandlerRequest, expected: SubresourceKind): Promise<Draft> {
  const sent = sentBody(handled);
  const { kind, shape } = expected;
  const body = await decodeSent(sent, { kind, apiVersion: apiVersionOf(expected), shape });
  return decodeView(expected, body.value);
}

function connectOptions({ scope: { query } }: HandlerRequest, kind: SubresourceKind): Draft {
  if (query.has("dryRun")) throw statusError.badRequest("dryRun is not supported");
  return optionsFrom(kind, query);
}

async function posted(handled: HandlerRequest, kind: SubresourceKind): Promise<Draft> {
  const body = await readKind(handled, kind);
  checkAddress(handled, body, "create");
  const metadata = metadataOf(body);
  const { namespace } = handled.scope;
  return {
    ...body,
    kind: kind.kind,
    apiVersion: apiVersionOf(kind),
    metadata: namespace === "" ? metadata : { ...metadata, namespace },
  };
}

function checkName({ scope }: HandlerRequest, { kind }: SubresourceKind, draft: Draft): void {
  if (metadataOf(draft)["name"] === scope.name) return;
  throw statusError.badRequest(`name in URL does not match name in ${kind} object`);
}

function metadataOf({ metadata }: JsonObject): JsonObject {
  return metadata !== undefined && isJsonObject(metadata) ? metadata : {};
}
