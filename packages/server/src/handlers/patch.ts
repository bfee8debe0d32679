/** PATCH: the patch is applied to the newest object, and again when that changed meanwhile, so a plain patch never conflicts. */
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type ParsedJson,
  parseJson,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import {
  applyJsonPatch,
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
import type { Draft, ResourceDefinition } from "../registry/index.ts";
import { type ApiResponse, header } from "../request/api-request.ts";
import { patchMediaTypes } from "../request/media-types.ts";
import { admissionRequest, validatorFor } from "./admission-request.ts";
import {
  bodyBytesMax,
  type HandlerRequest,
  type HandlerRooms,
  oneCluster,
  uncancelled,
} from "./context.ts";
import {
  checkAddress,
  checkKind,
  decodeDraft,
  problemsMax,
  type Refusal,
} from "./decode-object.ts";
import { type MutationOptions, parseMutationOptions } from "./options.ts";
import { negotiateObject, renderWritten } from "./render.ts";
import { settled } from "./settled.ts";

/** A patch that has been read: from the present object to the wanted one. */
export interface ReadPatch {
  apply(old: JsonObject): JsonObject;
  /** What strict validation objects to in the patch itself. */
  readonly strictErrors: readonly string[];
  readonly duplicates: readonly string[];
}

export async function handlePatch(
  handled: HandlerRequest,
  rooms: HandlerRooms,
): Promise<ApiResponse> {
  const { request, scope, definition } = handled;
  const cluster = oneCluster(scope);
  const { namespace, name } = scope;
  if (name === "") throw statusError.methodNotAllowed(definition, "patch");
  const form = negotiateObject(handled);
  const options = parseMutationOptions(scope.query, "PatchOptions");
  if (scope.query.has("force")) {
    throw statusError.invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [
      fieldError.forbidden("force", "may not be specified for non-apply patch"),
    ]);
  }
  const patch = readPatch(
    await request.readBody(bodyBytesMax),
    header(request.headers, "content-type"),
    definition,
  );
  const admitted = admissionRequest(handled, "UPDATE", options.isDryRun);
  const admission = rooms.admission.admit(admitted);
  if (admission !== undefined) await admission;
  const build = async (old: JsonObject | undefined): Promise<Draft> => {
    handled.warnings.length = 0;
    return patched(handled, patch, old as JsonObject, options);
  };
  const written = await rooms.registry.update(definition, { cluster, namespace, name }, build, {
    isDryRun: options.isDryRun,
    validate: validatorFor(rooms, admitted),
    signal: uncancelled,
    subresource: definition.subresources.get(scope.subresource),
    isDerived: true,
  });
  return renderWritten(200, await settled(written, handled, rooms), form, handled, rooms);
}

function patched(
  handled: HandlerRequest,
  patch: ReadPatch,
  old: JsonObject,
  options: MutationOptions,
): Draft {
  const { definition, warnings } = handled;
  const value = translatePatchErrors(() => patch.apply(old));
  if (!isJsonObject(value)) throw statusError.badRequest("a patch must leave an object");
  checkKind(definition, value);
  const refuse = refusalOf(value);
  if (options.fieldValidation === "Strict" && patch.strictErrors.length > 0) {
    throw refuse(`strict decoding error: ${patch.strictErrors.slice(0, problemsMax).join(", ")}`);
  }
  if (options.fieldValidation === "Warn") {
    warnings.push(...patch.strictErrors.slice(0, problemsMax));
  }
  const body = { value, duplicates: patch.duplicates };
  const draft = decodeDraft(definition, body, options, warnings, refuse);
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

function refusalOf(value: JsonObject): Refusal {
  return (why) => {
    const shown = stringifyJson(value).slice(0, shownLengthMax);
    const errors = [fieldError.invalid("patch", shown, why)];
    return statusError.invalid({ group: "", kind: "" }, "", errors);
  };
}

/** Strategic merge needs merge keys, which most custom kinds do not have. */
function patchTypesOf({ strategy }: ResourceDefinition): readonly string[] {
  return strategy.patchRules === "none"
    ? patchMediaTypes.filter((type) => type !== "application/strategic-merge-patch+json")
    : patchMediaTypes;
}

function strategicRules({ strategy }: ResourceDefinition): PatchSchema {
  const { patchRules, shape } = strategy;
  return patchRules === undefined || patchRules === "none" ? patchRulesOf(shape) : patchRules;
}

export function readPatch(
  bytes: Uint8Array,
  contentType: string | undefined,
  definition: ResourceDefinition,
): ReadPatch {
  const type = contentType === undefined ? "" : mediaTypeOf(contentType);
  const accepted = patchTypesOf(definition);
  if (!accepted.includes(type)) throw statusError.unsupportedMediaType(accepted);
  const parsed = parsePatch(bytes);
  return translatePatchErrors((): ReadPatch => {
    switch (type) {
      case "application/json-patch+json": {
        const patch = readJsonPatch(parsed);
        return {
          apply: (old) => applyJsonPatch(old, patch) as JsonObject,
          strictErrors: patch.strictErrors,
          duplicates: [],
        };
      }
      case "application/merge-patch+json":
        return {
          apply: (old) => applyMergePatch(old, parsed.value),
          strictErrors: [],
          duplicates: parsed.duplicates,
        };
      default: {
        const rules = strategicRules(definition);
        return {
          apply: (old) => applyStrategicMergePatch(old, parsed.value, rules),
          strictErrors: [],
          duplicates: parsed.duplicates,
        };
      }
    }
  });
}

function parsePatch(bytes: Uint8Array): ParsedJson {
  try {
    return parseJson(decodeText(bytes));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw statusError.badRequest(`error decoding patch: ${error.message}`);
  }
}

export function translatePatchErrors<Result>(body: () => Result): Result {
  try {
    return body();
  } catch (error) {
    if (isPatchError(error)) throw patchStatusError(error);
    throw error;
  }
}
