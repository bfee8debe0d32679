/** PATCH: the patch is applied to the newest object, and again when that changed meanwhile, so a plain patch never conflicts. */
import { patchOptionsError } from "@kcp-ts/machinery/apply";
import { type Resumable, runSyncFirst, yieldToEventLoop } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, stringifyJson } from "@kcp-ts/machinery/json";
import {
  applyJsonPatchResumable,
  applyMergePatch,
  applyStrategicMergePatch,
  isPatchError,
  type PatchSchema,
  patchStatusError,
  readJsonPatch,
} from "@kcp-ts/machinery/patch";
import { patchRulesOf } from "@kcp-ts/machinery/shape";
import { fieldError, statusError } from "@kcp-ts/machinery/status";
import { decodeText, mediaTypeOf } from "../content/index.ts";
import type { BuildObject, Draft, ResourceDefinition } from "../registry/index.ts";
import { type ApiResponse, header } from "../request/api-request.ts";
import { applyPatchType, patchMediaTypes } from "../request/media-types.ts";
import { isTrue } from "../request/query.ts";
import { containsSecrets } from "../request/secret-kinds.ts";
import {
  admissionRequest,
  storeAdmitted,
  validatingAdmission,
  withMutatingAdmission,
} from "./admission-request.ts";
import { applyBuild } from "./apply.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
  uncancelled,
} from "./context.ts";
import {
  checkAddress,
  checkKind,
  checkValueCount,
  decodeDraft,
  decodeLargeDraft,
  isLargeBody,
  isLargeObject,
  type RejectBody,
  reportedErrorsMax,
  sentBody,
} from "./decode-object.ts";
import { fieldOwner, type MutationOptions, parseMutationOptions } from "./options.ts";
import { parseJsonPatchBody } from "./patch-body.ts";
import { finishWrite, negotiateObject, renderWriteResult } from "./render.ts";

/** A patch that has been read: from the present object to the wanted one. */
export interface ParsedPatch {
  apply(old: JsonObject): Resumable<JsonObject>;
  /** What strict validation objects to in the patch itself. */
  readonly strictErrors: readonly string[];
  readonly duplicates: readonly string[];
}

export async function handlePatch(
  handled: HandlerRequest,
  rooms: HandlerDependencies,
): Promise<ApiResponse> {
  const { request, scope, definition } = handled;
  const cluster = requireSingleCluster(scope);
  const { namespace, name } = scope;
  if (name === "") throw statusError.methodNotAllowed(definition, "patch");
  const form = negotiateObject(handled);
  const options = parseMutationOptions(scope.query, "PatchOptions");
  const type = patchType(header(request.headers, "content-type"), definition);
  const isApply = type === applyPatchType;
  const force = scope.query.has("force") ? isTrue(scope.query.get("force")) : undefined;
  const refused = patchOptionsError(isApply ? "apply" : "other", {
    fieldManager: options.fieldManager,
    force,
  });
  if (refused !== undefined) throw refused;
  const owner = fieldOwner(handled, options, isApply ? "apply" : "update");
  const sent = sentBody(handled);
  const isLarge = isLargeBody(sent);
  const build = isApply
    ? await applyBuild(handled, rooms, { sent, options, owner, force: force === true })
    : patchBuild(handled, await parsePatch(sent.bytes, type, definition), options);
  if (isLarge) await yieldToEventLoop();
  const admitted = admissionRequest(handled, "UPDATE", options.isDryRun);
  const admission = rooms.admission.admit(admitted);
  if (admission !== undefined) await admission;
  const mutated = withMutatingAdmission(
    rooms,
    admitted,
    isApply ? admittingCreation(handled, rooms, options, build) : build,
  );
  const written = await storeAdmitted(rooms, admitted, () =>
    rooms.registry.update(definition, { cluster, namespace, name }, mutated, {
      isDryRun: options.isDryRun,
      isLarge,
      user: handled.user,
      validate: validatingAdmission(rooms, admitted),
      signal: uncancelled,
      subresource: definition.subresources.get(scope.subresource),
      mayCreate: isApply && scope.subresource === "",
      isDerived: true,
      owner,
      asSent: admitted,
    }),
  );
  const status = written.outcome === "created" ? 201 : 200;
  return renderWriteResult(
    status,
    await finishWrite(written, handled, rooms),
    form,
    handled,
    rooms,
  );
}

/** An apply that makes an object is a create to those who decide where objects may be. */
function admittingCreation(
  handled: HandlerRequest,
  rooms: HandlerDependencies,
  { isDryRun }: MutationOptions,
  build: BuildObject,
): BuildObject {
  return async (old) => {
    if (old === undefined) {
      await rooms.admission.admit(admissionRequest(handled, "CREATE", isDryRun));
    }
    return build(old);
  };
}

export function patchType(
  contentType: string | undefined,
  { strategy }: ResourceDefinition,
): string {
  const type = contentType === undefined ? "" : mediaTypeOf(contentType);
  // Strategic merge needs merge keys, which most custom kinds do not have.
  const accepted: readonly string[] =
    strategy.patchRules === "none"
      ? patchMediaTypes.filter((each) => each !== "application/strategic-merge-patch+json")
      : patchMediaTypes;
  if (accepted.includes(type)) return type;
  throw statusError.unsupportedMediaType(accepted);
}

/** Called again when another write came first: what it warned of before does not count. */
function patchBuild(
  handled: HandlerRequest,
  patch: ParsedPatch,
  options: MutationOptions,
): BuildObject {
  const ofTheKind = handled.warnings.length;
  return async (old) => {
    handled.warnings.length = ofTheKind;
    const value = await applyPatch(patch, old as JsonObject);
    const isLarge = isLargeObject(value);
    if (isLarge) {
      await yieldToEventLoop();
      checkValueCount(value);
    }
    const decode = isLarge ? decodeLargeDraft : decodeDraft;
    return patched(handled, patch, value, old as JsonObject, options, decode);
  };
}

async function patched(
  handled: HandlerRequest,
  patch: ParsedPatch,
  value: JsonObject,
  old: JsonObject,
  options: MutationOptions,
  decode: typeof decodeDraft | typeof decodeLargeDraft,
): Promise<Draft> {
  const { definition, warnings } = handled;
  if (!isJsonObject(value)) throw statusError.badRequest("a patch must leave an object");
  checkKind(definition, value);
  const refuse = refusalOf(value, definition);
  if (options.fieldValidation === "Strict" && patch.strictErrors.length > 0) {
    throw refuse(
      `strict decoding error: ${patch.strictErrors.slice(0, reportedErrorsMax).join(", ")}`,
    );
  }
  if (options.fieldValidation === "Warn") {
    warnings.push(...patch.strictErrors.slice(0, reportedErrorsMax));
  }
  const body = { value, duplicates: patch.duplicates };
  const draft = await decode(definition, body, options, warnings, refuse);
  checkAddress(handled, draft, "update");
  dropOwnVersion(draft, old);
  return draft;
}

/**
 * A version that the patch did not touch is no wish of the client's: when another write comes first, the patch is applied again.
 * One that the patch set to the present version is: applied again it differs, and conflicts.
 */
function dropOwnVersion(draft: Draft, old: JsonObject): void {
  const metadata = draft["metadata"] as Draft;
  const { resourceVersion } = old["metadata"] as JsonObject;
  if (metadata["resourceVersion"] === resourceVersion) delete metadata["resourceVersion"];
}

/** Shown of a result that cannot be taken. */
const shownLengthMax = 10_000;

function refusalOf(value: JsonObject, definition: ResourceDefinition): RejectBody {
  return (why) => {
    // The object as it is stored is part of it: who may patch a Secret may not read it for that, nor may who reads the audit log.
    const shown = containsSecrets(definition)
      ? "<secret contents redacted>"
      : stringifyJson(value).slice(0, shownLengthMax);
    const errors = [fieldError.invalid("patch", shown, why)];
    return statusError.invalid({ group: "", kind: "" }, "", errors);
  };
}

function strategicRules({ strategy }: ResourceDefinition): PatchSchema {
  const { patchRules, shape } = strategy;
  return patchRules === undefined || patchRules === "none" ? patchRulesOf(shape) : patchRules;
}

export async function parsePatch(
  bytes: Uint8Array,
  type: string,
  definition: ResourceDefinition,
): Promise<ParsedPatch> {
  const parsed = await runSyncFirst(parseJsonPatchBody(decodeText(bytes)));
  return translatePatchErrors((): ParsedPatch => {
    switch (type) {
      case "application/json-patch+json": {
        const patch = readJsonPatch(parsed);
        return {
          apply: (old) => applyJsonPatchResumable(old, patch) as Resumable<JsonObject>,
          strictErrors: patch.strictErrors,
          duplicates: [],
        };
      }
      case "application/merge-patch+json":
        return {
          apply: runSynchronously((old) => applyMergePatch(old, parsed.value)),
          strictErrors: [],
          duplicates: parsed.duplicates,
        };
      default: {
        const rules = strategicRules(definition);
        return {
          apply: runSynchronously((old) => applyStrategicMergePatch(old, parsed.value, rules)),
          strictErrors: [],
          duplicates: parsed.duplicates,
        };
      }
    }
  });
}

function runSynchronously(apply: (old: JsonObject) => JsonObject): ParsedPatch["apply"] {
  return function* (old) {
    yield;
    return apply(old);
  };
}

/** What a patch makes of an object; waits only for a patch that takes long. */
export async function applyPatch(patch: ParsedPatch, old: JsonObject): Promise<JsonObject> {
  try {
    return await runSyncFirst(patch.apply(old));
  } catch (error) {
    if (isPatchError(error)) throw patchStatusError(error);
    throw error;
  }
}

function translatePatchErrors<Result>(body: () => Result): Result {
  try {
    return body();
  } catch (error) {
    if (isPatchError(error)) throw patchStatusError(error);
    throw error;
  }
}
