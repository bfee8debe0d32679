/** Calls one webhook: matches the request, and evaluates the response. */
import { bounds } from "@kcp-ts/machinery/bounds";
import { quote, statusError } from "@kcp-ts/machinery/status";
import type { ConfiguredWebhook } from "../configuration.ts";
import type { ExpressionValues } from "../expressions/evaluator.ts";
import { evaluateMatchConditions } from "../expressions/match-conditions.ts";
import { type Match, matchRequest } from "../matching/criteria.ts";
import type { ReviewedRequest } from "../reviewed-request.ts";
import {
  type AdmissionResponse,
  admissionReviewOf,
  denialStatus,
  readAdmissionResponse,
  readReview,
  WebhookFailure,
} from "./review.ts";
import type { Webhook } from "./webhook.ts";

/** The kind as which the webhook receives the request, or undefined when it does not match. */
export async function matchWebhook(
  { webhook }: ConfiguredWebhook,
  reviewed: ReviewedRequest,
): Promise<Match | undefined> {
  if (webhook.criteria.rules.length === 0) return undefined;
  const match = await matchRequest(webhook.criteria, reviewed);
  if (match === undefined || webhook.conditions.length === 0) return match;
  const { object, old } = await reviewed.versionedAs(match);
  const values: ExpressionValues = {
    object,
    oldObject: old,
    request: reviewed.describe(match),
    namespaceObject: null,
  };
  const { isMet, error } = await evaluateMatchConditions(
    webhook.conditions,
    values,
    reviewed.decisions,
  );
  if (error === undefined) return isMet ? match : undefined;
  if (webhook.isIgnored) return undefined;
  const { request } = reviewed;
  throw statusError.forbidden(request, request.name, error);
}

/**
 * Resolves to the webhook's response; throws its denial, or a WebhookFailure when there is no valid
 * response.
 */
export async function callWebhook(
  webhook: Webhook,
  reviewed: ReviewedRequest,
  match: Match,
  kind: "mutating" | "validating",
): Promise<AdmissionResponse> {
  const { request, sources } = reviewed;
  if (request.isDryRun && !webhook.canDryRun)
    throw statusError.badRequest(
      `admission webhook ${quote(webhook.name)} does not support dry run`,
    );
  const uid = sources.newUid();
  const { cluster, signal } = request;
  const { timeoutMs } = webhook;
  const call = {
    answer: bounds.admissionAnswer,
    budget: reviewed.answers,
    cluster,
    timeoutMs,
    signal,
  };
  // A failed conversion is no failure of the webhook.
  await reviewed.versionedAs(match);
  const answer = await admissionReviewOf(uid, webhook, reviewed, match)
    .then((review) =>
      reviewed.sending.run(review.length, () =>
        sources.webhooks.post(webhook.client, review, call),
      ),
    )
    .then(readReview)
    .catch((error: Error) => {
      throw new WebhookFailure(webhook.name, `failed to call webhook: ${error.message}`);
    });
  const result = readResponse(() => readAdmissionResponse(answer, uid, webhook, kind), webhook);
  for (const warning of result.warnings) request.warn(warning);
  for (const [key, value] of Object.entries(result.annotations))
    if (typeof value === "string") request.annotate(`${webhook.name}/${key}`, value);
  if (!result.isAllowed) throw denialStatus(webhook.name, result.result);
  return result;
}

function readResponse(read: () => AdmissionResponse, { name }: Webhook): AdmissionResponse {
  try {
    return read();
  } catch (error) {
    const { message } = error as Error;
    throw new WebhookFailure(name, `received invalid webhook response: ${message}`);
  }
}

/**
 * Applies the failure policy to a WebhookFailure: ignores it, or throws a 500. Rethrows all other
 * errors.
 */
export function applyFailurePolicy(error: unknown, { isIgnored }: Webhook): void {
  if (!(error instanceof WebhookFailure)) throw error;
  if (!isIgnored) throw statusError.internal(error.message);
}
