/**
 * WebhookAuthorizer: an external service decides by SubjectAccessReviews, as for kube-apiserver,
 * once for each effective user in the logical cluster. The service may permit, deny finally, or
 * have no opinion. Requests of system:masters skip the webhook, which could lock out the server
 * itself.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, stringifyJson } from "@kcp-ts/machinery/json";
import type { Attributes } from "../../request/index.ts";
import type { Authorizer, Decision } from "../authorizer.ts";
import { privilegedGroups } from "../bootstrap-authorizer.ts";
import { effectiveUsers } from "../rbac/effective-users.ts";
import { DecisionCache } from "./decision-cache.ts";
import { type ReviewVersion, subjectAccessReview } from "./subject-access-review.ts";

export interface WebhookAuthorizerOptions {
  /** Sends a review and resolves to the response. Rejects when there is none. */
  readonly review: (review: JsonObject) => Promise<ReviewResponse>;
  readonly version: ReviewVersion;
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly clock: Pick<Clock, "now">;
}

/** The review with its status. */
export type ReviewResponse = JsonObject;

/**
 * The length of the parts that a client chose; longer requests are not cached, so that clients
 * cannot fill the memory.
 */
export const cachedCharactersMax = 10_000;

export class WebhookAuthorizer implements Authorizer {
  readonly #options: WebhookAuthorizerOptions;
  readonly #cache: DecisionCache;

  constructor(options: WebhookAuthorizerOptions) {
    this.#options = options;
    this.#cache = new DecisionCache(options.clock);
  }

  authorize(attributes: Attributes): Decision | Promise<Decision> {
    const privileged = privilegedGroups.authorize(attributes);
    return privileged.allowed ? privileged : this.#reviewAll(attributes);
  }

  async #reviewAll(attributes: Attributes): Promise<Decision> {
    const reasons: string[] = [];
    let failure: unknown;
    for (const user of effectiveUsers(attributes.user, attributes.cluster)) {
      try {
        const decision = await this.#review({ ...attributes, user });
        if (decision.allowed || decision.isFinal === true) return decision;
        if (decision.reason !== "") reasons.push(decision.reason);
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return { allowed: false, reason: reasons.join("\n") };
  }

  async #review(attributes: Attributes): Promise<Decision> {
    const { review: send, version, authorizedTtlMs, unauthorizedTtlMs } = this.#options;
    const review = subjectAccessReview(attributes, version);
    const key = stringifyJson(review["spec"] as JsonObject);
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const decision = decisionOf(await send(review));
    if (chosenCharacters(attributes) < cachedCharactersMax)
      this.#cache.add(key, decision, decision.allowed ? authorizedTtlMs : unauthorizedTtlMs);
    return decision;
  }
}

function decisionOf({ status }: ReviewResponse): Decision {
  if (!isJsonObject(status)) throw new Error("the authorization webhook answered without a status");
  const reason = typeof status["reason"] === "string" ? status["reason"] : "";
  // A response that both permits and denies is a denial.
  if (status["denied"] === true) return { allowed: false, reason, isFinal: true };
  return status["allowed"] === true ? { allowed: true, reason } : { allowed: false, reason };
}

function chosenCharacters(attributes: Attributes): number {
  const { namespace, verb, group, version, resource, subresource, name, path } = attributes;
  return [namespace, verb, group, version, resource, subresource, name, path].reduce(
    (sum, text) => sum + text.length,
    0,
  );
}
