/** Validating webhooks are called concurrently, and all of them must allow the request. */
import type { ConfiguredWebhook } from "../configuration.ts";
import type { ReviewedRequest } from "../reviewed-request.ts";
import { applyFailurePolicy, callWebhook, matchWebhook } from "./call-webhook.ts";

/** The number of concurrent calls for one request. */
const concurrency = 16;

export async function validateByWebhooks(
  webhooks: readonly ConfiguredWebhook[],
  reviewed: ReviewedRequest,
): Promise<void> {
  const errors = new Map<number, unknown>();
  let next = 0;
  const work = async () => {
    while (next < webhooks.length && errors.size === 0) {
      const at = next++;
      try {
        await callOne(webhooks[at] as ConfiguredWebhook, reviewed, at);
      } catch (error) {
        errors.set(at, error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, webhooks.length) }, work));
  if (errors.size > 0) throw errors.get(Math.min(...errors.keys()));
}

async function callOne(
  configured: ConfiguredWebhook,
  reviewed: ReviewedRequest,
  at: number,
): Promise<void> {
  const match = await matchWebhook(configured, reviewed);
  if (match === undefined) return;
  const { webhook } = configured;
  try {
    await callWebhook(webhook, reviewed, match, "validating");
  } catch (error) {
    applyFailurePolicy(error, webhook);
    const key = `failed-open.validating.webhook.admission.k8s.io/round_0_index_${at}`;
    reviewed.request.annotate(key, webhook.name);
  }
}
