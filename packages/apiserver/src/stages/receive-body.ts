/**
 * The stages of requests with a body: the body is received after authorization, its memory counts
 * for the tenant, and the request takes a seat only with its last byte. A slow sender holds no
 * seat, and decoding, which is expensive, comes after.
 *
 * YAML is converted to JSON before the seat is taken: waiting for the YAML worker thread does not
 * delay other requests.
 */
import { isUtf8 } from "node:buffer";
import { statusError } from "@kcp-ts/machinery/status";
import {
  isJsonLike,
  isShortYaml,
  isYamlType,
  mediaTypeOf,
  sharedYamlWorker,
  type TranslatedYaml,
  translateYaml,
} from "../content/index.ts";
import { estimateWrite, type FlowControl } from "../flow-control/index.ts";
import { bodyBytesMax } from "../handlers/index.ts";
import { type ApiRequest, header, requestedUpgrade } from "../request/api-request.ts";
import { applyPatchType } from "../request/media-types.ts";
import type { RequestContext } from "./request-context.ts";

interface BodyDependencies {
  /** Undefined without API Priority and Fairness. */
  readonly flowControl: FlowControl | undefined;
}

/** The stage `receiveBody` of the pipeline. */
export async function receiveBody(
  context: RequestContext,
  { flowControl }: BodyDependencies,
): Promise<undefined> {
  const { scope, unresolvedTarget, request, audit } = context;
  // Non-resource paths take no body, and a connection that is to be upgraded has no end of a body.
  if (scope?.kind !== "resource" && unresolvedTarget === undefined) return undefined;
  if (requestedUpgrade(request.headers) !== undefined) return undefined;
  const reserve =
    flowControl === undefined
      ? undefined
      : (bytes: number) => {
          flowControl.reserveBody(context, bytes);
        };
  const body = await request.readBody(bodyBytesMax, reserve);
  context.body = body;
  if (audit !== undefined && audit.rule.level !== "Metadata") audit.requestBody = body;
  // The forwarder sends the received body to another server.
  if (unresolvedTarget !== undefined) context.request = received(request, body);
  else if (isYaml(context, body)) {
    const translated = await translate(context, body);
    if ("json" in translated) reserve?.(translated.json.length);
    context.setYaml(translated);
  }
  return undefined;
}

function isYaml({ request }: RequestContext, body: Uint8Array): boolean {
  const mediaType = mediaTypeOf(header(request.headers, "content-type"));
  return isYamlType(mediaType) && !(mediaType === applyPatchType && isJsonLike(body));
}

async function translate(context: RequestContext, bytes: Uint8Array): Promise<TranslatedYaml> {
  if (!isUtf8(bytes)) throw statusError.badRequest("the body of the request is not valid UTF-8");
  if (isShortYaml(bytes)) return translateYaml(Buffer.from(bytes).toString("utf8"));
  const { tenantKey, scope, signal } = context;
  return sharedYamlWorker.translate(
    tenantKey === "" ? String(scope?.cluster) : tenantKey,
    bytes,
    signal,
  );
}

/** The same request with a received body. */
function received(request: ApiRequest, body: Uint8Array): ApiRequest {
  const { method, target, headers, rawHeaders, remoteAddress } = request;
  return {
    method,
    target,
    headers,
    rawHeaders,
    remoteAddress,
    clientCertificate: request.clientCertificate,
    onClose: (callback) => request.onClose(callback),
    readBody: async () => body,
  };
}

/** The stage `flowControlOfBody` of the pipeline: the cost of a request depends on its body. */
export function flowControlOfBody(
  context: RequestContext,
  { flowControl }: BodyDependencies,
): Promise<undefined> | undefined {
  const { body, yaml } = context;
  if (flowControl === undefined || body === undefined) return undefined;
  if (flowControl.admitExempt(context)) return undefined;
  const { length } = yaml !== undefined && "json" in yaml ? yaml.json : body;
  return flowControl.admit(context, estimateWrite(length)) as Promise<undefined> | undefined;
}
