/**
 * PATCH applies the patch to the newest object, and again when the object has changed meanwhile, so
 * a patch without a resourceVersion never conflicts.
 */
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
import { type ApiResponse, header, isTrue } from "../request/api-request.ts";
import { applyPatchType, patchMediaTypes } from "../request/media-types.ts";
import { containsSecrets } from "../request/secret-kinds.ts";
import {
  HandlerAdmissionRequest,
  storeAdmitted,
  validatingAdmission,
  withMutatingAdmission,
} from "./admission-request.ts";
import { applyBuild } from "./apply.ts";
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
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
  uncancelled,
} from "./handler-context.ts";
import { fieldOwner, type MutationOptions, parseMutationOptions } from "./options.ts";
import { parseJsonPatchBody } from "./patch-body.ts";
import { finishWrite, negotiateObject, renderWriteResult } from "./render.ts";

/** A parsed patch: maps the current object to the desired one. */
export interface ParsedPatch {
  apply(old: JsonObject): Resumable<JsonObject>;
  /** The errors of strict validation in the patch itself. */
  readonly strictErrors: readonly string[];
  readonly duplicates: readonly string[];
}

export async function handlePatch(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
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
  const fieldManager = fieldOwner(handled, options, isApply ? "apply" : "update");
  const sent = sentBody(handled);
  const isLarge = isLargeBody(sent);
  const build = isApply
    ? await applyBuild(handled, dependencies, {
        sent,
        options,
        fieldManager,
        force: force === true,
      })
    : patchBuild(handled, await parsePatch(sent.bytes, type, definition), options);
  if (isLarge) await yieldToEventLoop();
  const admitted = new HandlerAdmissionRequest(handled, "UPDATE", options.isDryRun);
  await dependencies.admission.admit(admitted);
  const mutated = withMutatingAdmission(
    dependencies,
    admitted,
    isApply ? admittingCreation(handled, dependencies, options, build) : build,
  );
  const written = await storeAdmitted(dependencies, admitted, () =>
    dependencies.registry.update(definition, { cluster, namespace, name }, mutated, {
      isDryRun: options.isDryRun,
      isLarge,
      user: handled.user,
      validate: validatingAdmission(dependencies, admitted),
      signal: uncancelled,
      subresource: definition.subresources.get(scope.subresource),
      mayCreate: isApply && scope.subresource === "",
      isDerivedFromLive: true,
      fieldManager,
      asSent: admitted,
    }),
  );
  const status = written.outcome === "created" ? 201 : 200;
  return renderWriteResult(
    status,
    await finishWrite(written, handled, dependencies),
    form,
    handled,
    dependencies,
  );
}

/** An apply that creates its object is also admitted as a CREATE. */
function admittingCreation(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
  { isDryRun }: MutationOptions,
  build: BuildObject,
): BuildObject {
  return async (old) => {
    if (old === undefined) {
      const { definition, scope } = handled;
      if (definition.creationForbidden !== undefined)
        throw statusError.forbidden(definition, scope.name, definition.creationForbidden);
      await dependencies.admission.admit(new HandlerAdmissionRequest(handled, "CREATE", isDryRun));
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

/**
 * The build function of a patch. It runs again when another write came first, and then drops the
 * warnings of the previous attempt.
 */
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
 * Drops a resourceVersion that the patch did not set: it is no precondition, and the patch is
 * applied again when another write comes first. If the patch set the current version, it differs in
 * the next attempt and conflicts.
 */
function dropOwnVersion(draft: Draft, old: JsonObject): void {
  const metadata = draft["metadata"] as Draft;
  const { resourceVersion } = old["metadata"] as JsonObject;
  if (metadata["resourceVersion"] === resourceVersion) delete metadata["resourceVersion"];
}

/** The maximum length of a rejected result in an error message. */
const shownLengthMax = 10_000;

function refusalOf(value: JsonObject, definition: ResourceDefinition): RejectBody {
  return (why) => {
    // The result contains the stored object: the permission to patch a Secret, or to read the audit
    // log, does not permit reading the Secret.
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

/** The result of a patch on an object; only a patch that takes long is asynchronous. */
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
