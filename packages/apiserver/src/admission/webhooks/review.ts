/** AdmissionReview: the request to a webhook, and its response. */
import { isJsonObject, type JsonObject, stringifyJson, textOf } from "@kcp-ts/machinery/json";
import {
  bool,
  bytes,
  decodeShape,
  list,
  map,
  message,
  status,
  string,
} from "@kcp-ts/machinery/shape";
import { quote, StatusError, type StatusReason } from "@kcp-ts/machinery/status";
import { EncodedBody } from "../../request/encoded-body.ts";
import type { Match } from "../matching/criteria.ts";
import type { ReviewedRequest } from "../reviewed-request.ts";
import type { Webhook } from "./webhook.ts";

export interface AdmissionResponse {
  readonly isAllowed: boolean;
  /** A Status; all its fields are optional. */
  readonly result: JsonObject;
  /** A JSON patch in base64; empty if none. */
  readonly patch: string;
  readonly patchType: string;
  readonly warnings: readonly string[];
  readonly annotations: JsonObject;
}

/** A webhook that cannot be called, or whose response is invalid: its failure policy decides. */
export class WebhookFailure extends Error {
  override readonly name = "WebhookFailure";

  constructor(webhook: string, reason: string) {
    super(`failed calling webhook ${quote(webhook)}: ${reason}`);
  }
}

export async function admissionReviewOf(
  uid: string,
  { reviewVersion }: Webhook,
  reviewed: ReviewedRequest,
  match: Match,
): Promise<EncodedBody> {
  const { object, old } = await reviewed.encodedObjects(match);
  const head = stringifyJson({
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${reviewVersion}`,
    request: { uid, ...reviewed.describe(match) },
  });
  // The members of the objects follow the others of the request, before its brace and the review's.
  return new EncodedBody([
    Buffer.from(`${head.slice(0, -2)},"object":`),
    object,
    Buffer.from(',"oldObject":'),
    old,
    Buffer.from("}}"),
  ]);
}

const reviewAnswer = message("AdmissionReview", {
  response: [
    2,
    message("AdmissionResponse", {
      uid: [1, string],
      allowed: [2, bool],
      status: [3, status],
      patch: [4, bytes],
      patchType: [5, string],
      auditAnnotations: [6, map(string)],
      warnings: [7, list(string)],
    }),
  ],
});

/** The response as an AdmissionReview; throws a ShapeError when it is not one. */
export function readReview(answer: JsonObject): JsonObject {
  return decodeShape(reviewAnswer, answer).value;
}

/** Throws an Error with Kubernetes' message when the response is invalid. */
export function readAdmissionResponse(
  answer: JsonObject,
  uid: string,
  { reviewVersion }: Webhook,
  kind: "mutating" | "validating",
): AdmissionResponse {
  const { response } = answer;
  if (!isJsonObject(response)) throw new Error("webhook response was absent");
  if (reviewVersion === "v1") {
    if (response["uid"] !== uid)
      throw new Error(
        `expected response.uid=${quote(uid)}, got ${quote(String(response["uid"] ?? ""))}`,
      );
    const expected = "admission.k8s.io/v1, Kind=AdmissionReview";
    const version = textOf(answer["apiVersion"]);
    const got = `${version.includes("/") ? "" : "/"}${version}, Kind=${textOf(answer["kind"])}`;
    if (got !== expected) throw new Error(`expected webhook response of ${expected}, got ${got}`);
    checkPatch(response, kind);
  }
  const { auditAnnotations, warnings, patchType } = response;
  return {
    isAllowed: response["allowed"] === true,
    result: isJsonObject(response["status"]) ? response["status"] : {},
    patch: kind === "mutating" ? textOf(response["patch"]) : "",
    patchType: textOf(patchType),
    warnings: Array.isArray(warnings) ? (warnings as readonly string[]) : [],
    annotations: isJsonObject(auditAnnotations) ? auditAnnotations : {},
  };
}

function checkPatch({ patch, patchType }: JsonObject, kind: "mutating" | "validating"): void {
  const hasPatch = textOf(patch) !== "";
  const hasType = patchType !== undefined && patchType !== null;
  if (kind === "validating") {
    if (hasPatch) throw new Error("validating webhook may not return response.patch");
    if (hasType) throw new Error("validating webhook may not return response.patchType");
    return;
  }
  if (hasPatch && !hasType)
    throw new Error("webhook returned response.patch but not response.patchType");
  if (!hasPatch && hasType)
    throw new Error("webhook returned response.patchType but not response.patch");
  if (patchType === "") throw new Error('webhook returned invalid response.patchType of ""');
}

/**
 * The denial as the client receives it: the webhook's own Status, prefixed with the webhook's name.
 */
export function denialStatus(webhook: string, result: JsonObject): StatusError {
  const { reason, code, details } = result;
  const deniedBy = `admission webhook ${quote(webhook)} denied the request`;
  const why = textOf(result["message"]) || textOf(reason);
  return new StatusError({
    code: typeof code === "number" && code >= 400 && code < 600 ? Math.trunc(code) : 400,
    ...(textOf(reason) === "" ? {} : { reason: textOf(reason) as StatusReason }),
    message: why === "" ? `${deniedBy} without explanation` : `${deniedBy}: ${why}`,
    ...(isJsonObject(details)
      ? { details: details as NonNullable<StatusError["status"]["details"]> }
      : {}),
  });
}
