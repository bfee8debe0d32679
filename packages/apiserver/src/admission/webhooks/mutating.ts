/**
 * Mutating webhooks are called one after the other; each receives the object as the previous ones
 * left it.
 */
import { type Resumable, runSyncFirst } from "@kcp-ts/machinery/base";
import { bounds, parseBoundedResumable } from "@kcp-ts/machinery/bounds";
import { type JsonObject, type JsonValue, jsonEqual, stringifyJson } from "@kcp-ts/machinery/json";
import {
  applyJsonPatchResumable,
  type JsonPatchBudget,
  readJsonPatch,
} from "@kcp-ts/machinery/patch";
import { quote, statusError } from "@kcp-ts/machinery/status";
import type { AdmissionRequest } from "../admission.ts";
import type { ConfiguredWebhook } from "../configuration.ts";
import { inServerWords } from "../in-server-words.ts";
import type { Match } from "../matching/criteria.ts";
import type { Reinvocation } from "../reinvocation.ts";
import type { ReviewedRequest } from "../reviewed-request.ts";
import { applyFailurePolicy, callWebhook, matchWebhook } from "./call-webhook.ts";
import { WebhookFailure } from "./review.ts";
import type { Webhook } from "./webhook.ts";

export async function mutateByWebhooks(
  webhooks: readonly ConfiguredWebhook[],
  reviewed: ReviewedRequest,
  reinvocation: Reinvocation<ConfiguredWebhook>,
): Promise<void> {
  for (const [at, configured] of webhooks.entries()) {
    if (!reinvocation.isDue(configured)) continue;
    const match = await matchWebhook(configured, reviewed);
    if (match === undefined) continue;
    const isChanged = await mutateByOne(
      configured,
      reviewed,
      match,
      `round_${reinvocation.round}_index_${at}`,
    );
    if (isChanged) reinvocation.noteChange();
    if (configured.webhook.isReinvoked) reinvocation.noteInvoked(configured);
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
    const result = await callWebhook(webhook, reviewed, match, "mutating");
    const operations = await runSyncFirst(operationsOf(webhook.name, result.patch));
    mutated = await change(webhook, result.patchType, operations, reviewed, match);
    notePatch(configured, operations, request, place);
  } catch (error) {
    applyFailurePolicy(error, webhook);
    request.annotate(`failed-open.${mutationPrefix}${place}`, webhook.name);
  } finally {
    const note = { configuration, webhook: webhook.name, mutated };
    request.annotate(`${mutationPrefix}${place}`, JSON.stringify(note));
  }
  return mutated;
}

const mutationPrefix = "mutation.webhook.admission.k8s.io/";

/**
 * Records the patch of the webhook, which contains parts of the object, only in audit events with
 * request bodies.
 */
function notePatch(
  { configuration, webhook }: ConfiguredWebhook,
  patch: readonly JsonValue[],
  request: AdmissionRequest,
  place: string,
): void {
  if (patch.length === 0) return;
  const note = { configuration, webhook: webhook.name, patch, patchType: "JSONPatch" };
  request.annotate(`patch.webhook.admission.k8s.io/${place}`, stringifyJson(note), "Request");
}

/** Applies the webhook's patch; returns whether the object changed. */
async function change(
  { name }: Webhook,
  patchType: string,
  operations: readonly JsonValue[],
  reviewed: ReviewedRequest,
  match: Match,
): Promise<boolean> {
  if (operations.length === 0) return false;
  const { object } = await reviewed.versionedAs(match);
  const { equivalent } = match;
  const before = reviewed.object;
  if (object === null || before === null)
    throw statusError.internal(
      `admission webhook ${quote(name)} attempted to modify the object, which is not supported for this operation`,
    );
  // An empty patchType means JSONPatch in the older version of the review, too.
  if (patchType !== "JSONPatch" && patchType !== "")
    throw new WebhookFailure(name, `unsupported patch type ${quote(patchType)}`);
  const form = equivalent?.decoder ?? reviewed.request.decoder;
  const { patching } = reviewed;
  const changed = await inServerWords(async () =>
    runSyncFirst(applied(object, operations, patching)),
  );
  const patched = await inServerWords(() => form.decode(changed));
  const restored = equivalent === undefined ? patched : await equivalent.restore(patched);
  if (jsonEqual(restored, before)) return false;
  reviewed.object = restored;
  return true;
}

/** A patch that cannot be parsed is a WebhookFailure. */
function* operationsOf(name: string, patch: string): Resumable<readonly JsonValue[]> {
  if (patch === "") return [];
  const undecodable = (why: string) =>
    new WebhookFailure(name, `received undecodable patch in webhook response: ${why}`);
  let value: JsonValue;
  try {
    const bytes = Buffer.from(patch, "base64");
    value = (yield* parseBoundedResumable(bounds.admissionPatch, bytes)).value;
  } catch (error) {
    throw undecodable((error as Error).message);
  }
  if (value === null) return [];
  if (Array.isArray(value)) return value as readonly JsonValue[];
  const found = typeof value === "boolean" ? "bool" : typeof value;
  throw undecodable(`json: cannot unmarshal ${found} into Go value of type jsonpatch.Patch`);
}

function* applied(
  object: JsonObject,
  operations: readonly JsonValue[],
  patching: JsonPatchBudget,
): Resumable<JsonObject> {
  const patch = readJsonPatch({ value: operations, duplicates: [] });
  const patched = (yield* applyJsonPatchResumable(object, patch, patching)) as JsonObject;
  for (const member of ["apiVersion", "kind"])
    if (patched[member] !== object[member]) throw new Error(`${member} can not be changed`);
  return patched;
}
