/** Mutating webhooks: asked one after the other, each seeing what those before made of the object. */
import { type JsonObject, jsonEqual, parseJson, stringifyJson } from "@kcp-ts/machinery/json";
import { applyJsonPatch, readJsonPatch } from "@kcp-ts/machinery/patch";
import { quote, statusError } from "@kcp-ts/machinery/status";
import type { AdmissionRequest } from "../admission.ts";
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
  configured: ConfiguredWebhook,
  reviewed: ReviewedRequest,
  match: Match,
  place: string,
): Promise<boolean> {
  const { configuration, webhook } = configured;
  const { request } = reviewed;
  let mutated = false;
  try {
    const verdict = await ask(webhook, reviewed, match, "mutating");
    mutated = await change(webhook.name, verdict, reviewed, match);
    notePatch(configured, verdict, request, place);
  } catch (error) {
    settleFailure(error, webhook);
    request.annotate(`failed-open.${mutationPrefix}${place}`, webhook.name);
  } finally {
    const note = { configuration, webhook: webhook.name, mutated };
    request.annotate(`${mutationPrefix}${place}`, JSON.stringify(note));
  }
  return mutated;
}

const mutationPrefix = "mutation.webhook.admission.k8s.io/";

/** What the webhook has done to the object is of the object: it is shown where request bodies are. */
function notePatch(
  { configuration, webhook }: ConfiguredWebhook,
  { patch }: Verdict,
  request: AdmissionRequest,
  place: string,
): void {
  if (patch === "") return;
  const { value } = parseJson(textOf(patch));
  if (!Array.isArray(value) || value.length === 0) return;
  const note = { configuration, webhook: webhook.name, patch: value, patchType: "JSONPatch" };
  request.annotate(`patch.webhook.admission.k8s.io/${place}`, stringifyJson(note), "Request");
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
  return applyJsonPatch(object, readJsonPatch(parseJson(textOf(patch)))) as JsonObject;
}

function textOf(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}

/** What a webhook makes of the object is no fault of the client's. */
function inServerWords<Result>(body: () => Result): Result {
  try {
    return body();
  } catch (error) {
    throw statusError.internal((error as Error).message);
  }
}
