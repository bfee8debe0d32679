/** AdmissionReview: what a webhook is told, and what it may answer. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { quote, StatusError, type StatusReason } from "@kcp-ts/machinery/status";
import type { Match } from "../matching/criteria.ts";
import type { ReviewedRequest, Shown } from "../reviewed-request.ts";
import type { Webhook } from "./webhook.ts";

export interface Verdict {
  readonly isAllowed: boolean;
  /** A Status, of which nothing need be there. */
  readonly result: JsonObject;
  /** A JSON patch in base64; empty if none. */
  readonly patch: string;
  readonly warnings: readonly string[];
  readonly annotations: JsonObject;
}

/** A webhook that cannot be asked, or whose answer is none: what its failure policy is for. */
export class WebhookFailure extends Error {
  override readonly name = "WebhookFailure";

  constructor(webhook: string, reason: string) {
    super(`failed calling webhook ${quote(webhook)}: ${reason}`);
  }
}

export function reviewOf(
  uid: string,
  { reviewVersion }: Webhook,
  reviewed: ReviewedRequest,
  match: Match,
  { object, old }: Shown,
): JsonObject {
  return {
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${reviewVersion}`,
    request: { uid, ...reviewed.describe(match), object, oldObject: old },
  };
}

/** Throws an Error in Kubernetes' words when the answer is none. */
export function readVerdict(
  answer: JsonObject,
  uid: string,
  { reviewVersion }: Webhook,
  kind: "mutating" | "validating",
): Verdict {
  const { response } = answer;
  if (!isJsonObject(response)) throw new Error("webhook response was absent");
  if (reviewVersion === "v1") {
    if (response["uid"] !== uid)
      throw new Error(
        `expected response.uid=${quote(uid)}, got ${quote(String(response["uid"] ?? ""))}`,
      );
    const expected = "admission.k8s.io/v1, Kind=AdmissionReview";
    const got = `${text(answer["apiVersion"])}, Kind=${text(answer["kind"])}`;
    if (got !== expected) throw new Error(`expected webhook response of ${expected}, got ${got}`);
    checkPatch(response, kind);
  }
  const { status, auditAnnotations, warnings, patchType } = response;
  const patch = kind === "mutating" ? text(response["patch"]) : "";
  if (patch !== "" && patchType !== undefined && patchType !== "JSONPatch")
    throw new Error(`unsupported patch type ${quote(text(patchType))}`);
  return {
    isAllowed: response["allowed"] === true,
    result: isJsonObject(status) ? status : {},
    patch,
    warnings: Array.isArray(warnings)
      ? (warnings as readonly JsonValue[]).filter((each) => typeof each === "string")
      : [],
    annotations: isJsonObject(auditAnnotations) ? auditAnnotations : {},
  };
}

function checkPatch({ patch, patchType }: JsonObject, kind: "mutating" | "validating"): void {
  const hasPatch = text(patch) !== "";
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

/** The refusal as the client gets it: the webhook's own Status, with who refused in front. */
export function refusal(webhook: string, result: JsonObject): StatusError {
  const { message, reason, code, details } = result;
  const deniedBy = `admission webhook ${quote(webhook)} denied the request`;
  const why = text(message) || text(reason);
  return new StatusError({
    code: typeof code === "number" && code >= 400 && code < 600 ? Math.trunc(code) : 400,
    ...(text(reason) === "" ? {} : { reason: text(reason) as StatusReason }),
    message: why === "" ? `${deniedBy} without explanation` : `${deniedBy}: ${why}`,
    ...(isJsonObject(details)
      ? { details: details as NonNullable<StatusError["status"]["details"]> }
      : {}),
  });
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
