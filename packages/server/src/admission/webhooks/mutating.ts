/** Mutating webhooks: asked one after the other, each seeing what those before made of the object. */
import { type JsonObject, jsonEqual, parseJson } from "@kcp-ts/machinery/json";
import { applyJsonPatch, readJsonPatch } from "@kcp-ts/machinery/patch";
import { quote, statusError } from "@kcp-ts/machinery/status";
import type { ConfiguredWebhook } from "../configuration.ts";
import type { Match } from "../matching/criteria.ts";
import type { Reinvocation } from "../reinvocation.ts";
import type { ReviewedRequest } from "../reviewed-request.ts";
import { ask, businessOf, settleFailure } from "./call.ts";
import type { Verdict } from "./review.ts";

export async function mutateByWebhooks(
  webhooks: readonly ConfiguredWebhook[],
  reviewed: ReviewedRequest,
  reinvocation: Reinvocation<ConfiguredWebhook>,
): Promise<void> {
  for (const [at, configured] of webhooks.entries()) {
    if (!reinvocation.isDue(configured)) continue;
    const match = await businessOf(configured, reviewed);
    if (match === undefined) continue;
    const isChanged = await mutateByOne(
      configured,
      reviewed,
      match,
      `round_${reinvocation.round}_index_${at}`,
    );
    if (isChanged) reinvocation.noteChange();
    if (configured.webhook.isReinvoked) reinvocation.noteAsked(configured);
  }
}

async function mutateByOne(
  { configuration, webhook }: ConfiguredWebhook,
  reviewed: ReviewedRequest,
  match: Match,
  place: string,
): Promise<boolean> {
  const { request } = reviewed;
  try {
    const verdict = await ask(webhook, reviewed, match, "mutating");
    const mutated = await change(webhook.name, verdict, reviewed, match);
    const note = { configuration, webhook: webhook.name, mutated };
    request.annotate(`mutation.webhook.admission.k8s.io/${place}`, JSON.stringify(note));
    return mutated;
  } catch (error) {
    settleFailure(error, webhook);
    request.annotate(`failed-open.mutating.webhook.admission.k8s.io/${place}`, webhook.name);
    return false;
  }
}

/** Whether the answer changed anything. */
async function change(
  name: string,
  { patch }: Verdict,
  reviewed: ReviewedRequest,
  match: Match,
): Promise<boolean> {
  if (patch === "") return false;
  const { object } = await reviewed.shownAs(match);
  const { equivalent } = match;
  const before = reviewed.object;
  if (object === null || before === null)
    throw statusError.internal(
      `admission webhook ${quote(name)} attempted to modify the object, which is not supported for this operation`,
    );
  const form = equivalent?.form ?? reviewed.request.form;
  const patched = inServerWords(() => form.decode(applied(object, patch)));
  const restored = equivalent === undefined ? patched : await equivalent.restore(patched);
  if (jsonEqual(restored, before)) return false;
  reviewed.object = restored;
  return true;
}

function applied(object: JsonObject, patch: string): JsonObject {
  const text = Buffer.from(patch, "base64").toString("utf8");
  return applyJsonPatch(object, readJsonPatch(parseJson(text))) as JsonObject;
}

/** What a webhook makes of the object is no fault of the client's. */
function inServerWords<Result>(body: () => Result): Result {
  try {
    return body();
  } catch (error) {
    throw statusError.internal((error as Error).message);
  }
}
