/**
 * Server-side apply merges the configuration into the newest object by field ownership, and merges
 * again when the object has changed meanwhile.
 */
import { applyResumable } from "@kcp-ts/machinery/apply";
import { type Resumable, runSyncFirst, yieldToEventLoop } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { quote, StatusError, statusError } from "@kcp-ts/machinery/status";
import {
  decodeText,
  parseTranslatedYaml,
  type RequestBody,
  type TranslatedYaml,
  yamlErrorMessage,
} from "../content/index.ts";
import {
  type BuildObject,
  type Draft,
  type FieldManager,
  managedFieldsInput,
  timestamp,
} from "../registry/index.ts";
import {
  checkAddress,
  checkValueCount,
  decodeDraft,
  decodeLargeDraft,
  isLargeObject,
  reportedErrorsMax,
} from "./decode-object.ts";
import type { HandlerDependencies, HandlerRequest } from "./handler-context.ts";
import type { MutationOptions } from "./options.ts";
import { parseJsonPatchBody } from "./patch-body.ts";

export interface ApplyRequest {
  readonly sent: RequestBody;
  readonly options: MutationOptions;
  readonly fieldManager: FieldManager;
  readonly force: boolean;
}

export async function applyBuild(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
  request: ApplyRequest,
): Promise<BuildObject> {
  const { definition, scope } = handled;
  const body = await runSyncFirst(decodeConfiguration(request.sent));
  const { fieldValidation } = request.options;
  if (fieldValidation === "Strict" && body.problems.length > 0) {
    throw statusError.badRequest(
      `error strict decoding YAML: error converting YAML to JSON: ${yamlErrorMessage(body.problems)}`,
    );
  }
  const config = withName(body.value, scope.name);
  const ofTheKind = handled.warnings.length;
  return async (old) => {
    handled.warnings.length = ofTheKind;
    if (fieldValidation === "Warn") handled.warnings.push(...body.problems);
    refuseUnknownUid(handled, config, old);
    const now = timestamp(dependencies.clock.now());
    const { kind } = definition;
    const write = managedFieldsInput(
      definition,
      request.fieldManager,
      ownable(definition, old),
      now,
    );
    const options = { ...write, config, kind, force: request.force };
    const applied = await runSyncFirst(applyResumable(options));
    const isLarge = isLargeObject(applied);
    if (isLarge) {
      await yieldToEventLoop();
      checkValueCount(applied);
    }
    const decode = isLarge ? decodeLargeDraft : decodeDraft;
    const draft = await decode(
      definition,
      { value: applied, duplicates: [] },
      request.options,
      handled.warnings,
    );
    checkAddress(handled, draft, "update");
    return withRequestedVersion(draft, old === undefined ? {} : (config["metadata"] as JsonObject));
  };
}

/**
 * Drops null members, with which built-in kinds express absent fields: an absent field has no owner
 * before the first apply.
 */
function ownable(
  { itemsCarryKind }: HandlerRequest["definition"],
  old: JsonObject | undefined,
): JsonObject | undefined {
  if (itemsCarryKind || old === undefined) return old;
  const members = Object.entries(old);
  const told = members.filter(([, value]) => value !== null);
  return told.length === members.length ? old : Object.fromEntries(told);
}

interface Configuration {
  readonly value: JsonObject;
  /** Messages about duplicate fields. */
  readonly problems: readonly string[];
}

/** JSON may be sent as YAML, and is then not translated. */
export function* decodeConfiguration({ bytes, yaml }: RequestBody): Resumable<Configuration> {
  const { value, problems } =
    yaml === undefined ? yield* decodeJson(bytes) : yield* decodeYaml(yaml);
  if (!isJsonObject(value))
    throw statusError.badRequest("error decoding YAML: the configuration must be an object");
  return { value, problems };
}

function* decodeJson(bytes: Uint8Array) {
  const text = decodeText(bytes);
  const { value, duplicates } = yield* parseJsonPatchBody(text.trim() || "{}");
  return { value, problems: problemsOfJson(duplicates, text) };
}

function* decodeYaml(yaml: TranslatedYaml) {
  if ("error" in yaml) throw statusError.badRequest(`error decoding YAML: ${yaml.error}`);
  const { value, yamlDuplicates: problems = [] } = yield* parseTranslatedYaml(yaml);
  return { value, problems };
}

/**
 * The messages of YAML's parser, since upstream parses JSON as YAML; they contain the line number
 * when there is only one line.
 */
function problemsOfJson(duplicates: readonly string[], text: string): string[] {
  const at = text.includes("\n") ? "" : "line 1: ";
  return duplicates
    .slice(0, reportedErrorsMax)
    .map((path) => `${at}key ${quote(path.split(".").at(-1) ?? path)} already set in map`);
}

function withName(config: JsonObject, name: string): JsonObject {
  const metadata = isJsonObject(config["metadata"]) ? config["metadata"] : {};
  return metadata["name"] === undefined ? { ...config, metadata: { ...metadata, name } } : config;
}

/** Rejects a configuration with a uid when the object does not exist. */
function refuseUnknownUid(
  { definition, scope }: HandlerRequest,
  config: JsonObject,
  old: JsonObject | undefined,
): void {
  const { uid } = config["metadata"] as JsonObject;
  if (old !== undefined || uid === undefined || uid === "") return;
  throw new StatusError({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${definition.resource} ${quote(scope.name)}: uid mismatch: the provided object specified uid ${String(uid)}, and no existing object was found`,
    details: { name: scope.name, kind: definition.resource },
  });
}

/**
 * Only a resourceVersion in the configuration is a precondition; the one of the live object is not.
 */
function withRequestedVersion(draft: Draft, { resourceVersion }: JsonObject): Draft {
  const metadata = draft["metadata"] as Draft;
  if (resourceVersion === undefined) delete metadata["resourceVersion"];
  else metadata["resourceVersion"] = resourceVersion;
  return draft;
}
