/**
 * Handles subresources that are a kind of their own, such as Scale: derived from the object, and
 * written back into it.
 */
import { patchOptionsError } from "@kcp-ts/machinery/apply";
import { runSyncFirst } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, stringifyJson } from "@kcp-ts/machinery/json";
import { applyTypeOf, decodeShape, ShapeError } from "@kcp-ts/machinery/shape";
import { fieldError, statusError } from "@kcp-ts/machinery/status";
import { negotiate } from "../content/index.ts";
import {
  apiVersionOf,
  type BuildObject,
  type Draft,
  type ResourceDefinition,
  type SubresourceKind,
  type SubresourceView,
  storageKeyOf,
  toServed,
  translateStorageErrors,
} from "../registry/index.ts";
import { type ApiResponse, header, isTrue } from "../request/api-request.ts";
import { applyPatchType } from "../request/media-types.ts";
import { decodeObject } from "../stored-object/index.ts";
import { HandlerAdmissionRequest } from "./admission-request.ts";
import { type ApplyRequest, applyBuild, decodeConfiguration } from "./apply.ts";
import { checkAddress, decodeSent, type RejectBody, sentBody } from "./decode-object.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
  uncancelled,
} from "./handler-context.ts";
import { fieldOwner, parseMutationOptions } from "./options.ts";
import { applyPatch, parsePatch, patchType } from "./patch.ts";
import { finishWrite, renderValue } from "./render.ts";

export async function handleView(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
  view: SubresourceView,
): Promise<ApiResponse> {
  const { request, scope } = handled;
  const form = negotiate(header(request.headers, "accept"), {});
  const shown =
    scope.verb === "get"
      ? readView(handled, dependencies, view)
      : writeView(handled, dependencies, view);
  return renderValue(200, await shown, form);
}

async function readView(
  { definition, scope, signal }: HandlerRequest,
  dependencies: HandlerDependencies,
  view: SubresourceView,
): Promise<JsonObject> {
  const { namespace, name } = scope;
  const key = storageKeyOf(definition, { cluster: requireSingleCluster(scope), namespace, name });
  const entry = await translateStorageErrors({ resource: definition }, () =>
    dependencies.watchCache.get(key, { kind: "latest" }, signal),
  );
  if (entry === undefined || definition.isVisible?.(entry) === false)
    throw statusError.notFound(definition, name);
  return view.read(decodeObject(await toServed(definition, entry)));
}

async function writeView(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
  view: SubresourceView,
): Promise<JsonObject> {
  const { scope, definition } = handled;
  const cluster = requireSingleCluster(scope);
  const { namespace, name } = scope;
  const isPatch = scope.verb === "patch";
  const options = parseMutationOptions(scope.query, isPatch ? "PatchOptions" : "UpdateOptions");
  const isApply = isPatch && patchType(contentTypeOf(handled), definition) === applyPatchType;
  const force = scope.query.has("force") ? isTrue(scope.query.get("force")) : undefined;
  const fieldManager = fieldOwner(handled, options, isApply ? "apply" : "update");
  if (isPatch) {
    const refused = patchOptionsError(isApply ? "apply" : "other", {
      fieldManager: options.fieldManager,
      force,
    });
    if (refused !== undefined) throw refused;
  }
  const change = isApply ? undefined : await readChange(handled, view);
  const isForced = force === true;
  const applied = isApply
    ? await applyOwned(handled, dependencies, view, { options, fieldManager, force: isForced })
    : undefined;
  const admitted = new HandlerAdmissionRequest(handled, "UPDATE", options.isDryRun, {
    view: viewKind(view),
  });
  await dependencies.admission.admit(admitted);
  const written = await dependencies.registry.update(
    definition,
    { cluster, namespace, name },
    async (old) => {
      const present = old as JsonObject;
      const shown = view.read(present, "change");
      // The replicas of other appliers are not changed without force.
      const owned = await applied?.(present);
      const wanted: Draft =
        change === undefined ? { ...view.read(owned ?? present, "change") } : await change(shown);
      if (dependencies.admission.mutates(admitted, wanted))
        await dependencies.admission.mutate(admitted, wanted, shown);
      checkAddress(handled, wanted, "update");
      return withVersion(view.write(owned ?? present, wanted), wanted, present);
    },
    {
      isDryRun: options.isDryRun,
      validate: (object, old) =>
        dependencies.admission.validate(
          admitted,
          view.read(object),
          view.read(old as JsonObject, "change"),
        ),
      signal: uncancelled,
      isDerivedFromLive: true,
      fieldManager,
    },
  );
  const { entry } = await finishWrite(written, handled, dependencies);
  return view.read(decodeObject(entry));
}

/**
 * Applies the part of the object that the view shows: conflicts are those of the fields that are
 * written.
 */
async function applyOwned(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
  view: SubresourceView,
  { options, fieldManager, force }: Omit<ApplyRequest, "sent">,
): Promise<BuildObject> {
  const { definition, scope } = handled;
  const body = await runSyncFirst(decodeConfiguration(sentBody(handled)));
  const { name } = scope;
  const object = {
    kind: definition.kind,
    apiVersion: apiVersionOf(definition),
    metadata: { name },
  };
  const config = view.write(object, decodeView(view, body.value));
  const bytes = new TextEncoder().encode(stringifyJson(config));
  const sent = { bytes, contentType: applyPatchType, yaml: undefined };
  return applyBuild(handled, dependencies, { sent, options, fieldManager, force });
}

function contentTypeOf({ request }: HandlerRequest): string | undefined {
  return header(request.headers, "content-type");
}

/** The kind of the admission request. */
function viewKind(view: SubresourceView) {
  const { group, version, kind, shape } = view;
  const codec = {
    decode: async (value: JsonObject) => decodeView(view, value),
    applyType: applyTypeOf(shape),
  };
  return { group, version, kind, codec };
}

/** The patch type for such a kind: its objects are small, and JSON merge patch is sufficient. */
function viewPatchType(contentType: string | undefined, definition: ResourceDefinition): string {
  const type = patchType(contentType, definition);
  return type.includes("json-patch") ? type : "application/merge-patch+json";
}

/**
 * Decodes the body into a function that maps the current object of the subresource to the desired
 * one.
 */
async function readChange(
  handled: HandlerRequest,
  view: SubresourceView,
): Promise<(shown: JsonObject) => Promise<Draft>> {
  const { definition, scope } = handled;
  const sent = sentBody(handled);
  const { bytes, contentType } = sent;
  if (scope.verb === "patch") {
    const patch = await parsePatch(bytes, viewPatchType(contentType, definition), definition);
    return async (shown) => {
      const value = await applyPatch(patch, shown);
      if (!isJsonObject(value)) throw statusError.badRequest("a patch must leave an object");
      return decodeView(view, value, (why) =>
        statusError.invalid({ group: "", kind: "" }, "", [
          fieldError.invalid("patch", stringifyJson(value), why),
        ]),
      );
    };
  }
  const { kind, shape } = view;
  const body = await decodeSent(sent, { kind, apiVersion: apiVersionOf(view), shape });
  const draft = decodeView(view, body.value);
  return async () => ({ ...draft });
}

export function decodeView(
  { group, version, kind, shape }: SubresourceKind,
  value: JsonObject,
  reject: RejectBody = (why) =>
    statusError.badRequest(
      `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${why}`,
    ),
): Draft {
  const expected = apiVersionOf({ group, version });
  if ((value["kind"] ?? kind) !== kind || (value["apiVersion"] ?? expected) !== expected) {
    const found = `${String(value["apiVersion"])}, Kind=${String(value["kind"])}`;
    throw statusError.badRequest(`wrong object passed to ${kind} update: ${found}`);
  }
  try {
    return { ...decodeShape(shape, value).value };
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw reject(error.message);
  }
}

/**
 * A resourceVersion in the request is a precondition; the unchanged one of the current object is
 * not.
 */
function withVersion(object: JsonObject, wanted: JsonObject, present: JsonObject): Draft {
  const { resourceVersion: asked } = (wanted["metadata"] ?? {}) as JsonObject;
  const { resourceVersion: _, ...metadata } = object["metadata"] as JsonObject;
  const isWish =
    asked !== undefined && asked !== (present["metadata"] as JsonObject)["resourceVersion"];
  return { ...object, metadata: isWish ? { ...metadata, resourceVersion: asked } : metadata };
}
