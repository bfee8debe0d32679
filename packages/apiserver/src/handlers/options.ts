/** The query parameters of reads and writes, with Kubernetes' errors for invalid ones. */
import { fieldManagerOf } from "@kcp-ts/machinery/apply";
import { type FieldError, fieldError, statusError } from "@kcp-ts/machinery/status";
import type { FieldManager } from "../registry/index.ts";
import { header, isTrue } from "../request/api-request.ts";
import { type Revision, toRevision } from "../storage/index.ts";
import type { Freshness } from "../watch-cache/index.ts";
import type { HandlerRequest } from "./handler-context.ts";

export interface ListOptions {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly limit: number;
  readonly continueToken: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly sendInitialEvents: boolean | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly timeoutSeconds: number | undefined;
  /**
   * `kcpSelection=ownership`, which Kubernetes does not have, selects objects that have owners or
   * wait for their dependents; a watch also delivers the deletions of all other objects. The
   * garbage collector uses it, and would otherwise receive every write to every object.
   */
  readonly selectsOwnership: boolean;
}

const noQuery: ListOptions = {
  labelSelector: "",
  fieldSelector: "",
  limit: 0,
  continueToken: "",
  resourceVersion: "",
  resourceVersionMatch: "",
  sendInitialEvents: undefined,
  allowWatchBookmarks: false,
  timeoutSeconds: undefined,
  selectsOwnership: false,
};

export function parseListOptions(query: URLSearchParams, isWatch: boolean): ListOptions {
  if (query.size === 0) return noQuery;
  const options: ListOptions = {
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
    limit: integer(query, "limit") ?? 0,
    continueToken: query.get("continue") ?? "",
    resourceVersion: query.get("resourceVersion") ?? "",
    resourceVersionMatch: query.get("resourceVersionMatch") ?? "",
    sendInitialEvents: query.has("sendInitialEvents")
      ? isTrue(query.get("sendInitialEvents"))
      : undefined,
    allowWatchBookmarks: isTrue(query.get("allowWatchBookmarks")),
    timeoutSeconds: integer(query, "timeoutSeconds"),
    selectsOwnership: query.has("kcpSelection") && isOwnershipSelection(query.get("kcpSelection")),
  };
  const errors = isWatch ? watchErrors(options) : listErrors(options);
  if (errors.length > 0) {
    throw statusError.invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
  }
  return options;
}

function isOwnershipSelection(text: string | null): boolean {
  if (text === "ownership") return true;
  throw statusError.badRequest(`unknown kcpSelection ${JSON.stringify(text)}: try "ownership"`);
}

export function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw statusError.badRequest(
      `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  return value;
}

const matches = ["Exact", "NotOlderThan"];

function matchErrors(options: ListOptions): FieldError[] {
  const { resourceVersionMatch: match, resourceVersion, continueToken } = options;
  if (match === "") return [];
  const field = "resourceVersionMatch";
  const errors: FieldError[] = [];
  if (continueToken !== "") {
    errors.push(
      fieldError.forbidden(field, "resourceVersionMatch is forbidden when continue is provided"),
    );
  }
  if (resourceVersion === "") {
    errors.push(
      fieldError.forbidden(
        field,
        "resourceVersionMatch is forbidden unless resourceVersion is provided",
      ),
    );
  }
  if (!matches.includes(match))
    errors.push(fieldError.notSupported(field, match, [...matches, ""]));
  if (match === "Exact" && resourceVersion === "0") {
    errors.push(
      fieldError.forbidden(
        field,
        'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
      ),
    );
  }
  return errors;
}

function listErrors(options: ListOptions): FieldError[] {
  const errors = matchErrors(options);
  if (options.sendInitialEvents !== undefined) {
    errors.push(
      fieldError.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"),
    );
  }
  return errors;
}

function watchErrors(options: ListOptions): FieldError[] {
  if (options.continueToken !== "") {
    return [
      fieldError.forbidden(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden when continue is provided",
      ),
    ];
  }
  const { sendInitialEvents, resourceVersionMatch: match } = options;
  if (sendInitialEvents === undefined) {
    if (match === "") return [];
    return [
      fieldError.forbidden(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
      ),
    ];
  }
  if (match === "") {
    return [
      fieldError.forbidden(
        "resourceVersionMatch",
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
      ),
    ];
  }
  if (match === "NotOlderThan") return [];
  return [
    fieldError.forbidden(
      "resourceVersionMatch",
      "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    ),
    fieldError.notSupported("resourceVersionMatch", match, ["NotOlderThan"]),
  ];
}

/** A client's resourceVersion as a revision. An empty one is undefined. */
export function parseResourceVersion(text: string): Revision | undefined {
  if (text === "") return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    const shown = JSON.stringify(text);
    throw statusError.badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: invalid syntax`,
    );
  }
  return toRevision(value);
}

/** All is the only valid value of dryRun. */
export function dryRunErrors(dryRun: readonly string[]): FieldError[] {
  if (dryRun.every((value) => value === "All")) return [];
  const body = `Unsupported value: ${JSON.stringify(dryRun)}: supported values: "All"`;
  return [{ type: "FieldValueNotSupported", field: "dryRun", body }];
}

/** The error about the first character that is not printable. */
function unprintableIn(text: string): string | undefined {
  const found = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.exec(text);
  if (found === null) return undefined;
  const code = (found[0].codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0");
  return `invalid character U+${code} (at position ${found.index})`;
}

/**
 * The freshness of a list: Kubernetes' table of resourceVersion, resourceVersionMatch and limit.
 */
export function listFreshness(options: ListOptions): Freshness {
  const revision = parseResourceVersion(options.resourceVersion);
  if (revision === undefined) return { kind: "latest" };
  if (revision === 0) return { kind: "any" };
  if (options.resourceVersionMatch === "Exact") return { kind: "exact", revision };
  if (options.resourceVersionMatch === "" && options.limit > 0) return { kind: "exact", revision };
  return { kind: "notOlder", revision };
}

export interface MutationOptions {
  readonly isDryRun: boolean;
  readonly fieldValidation: "Ignore" | "Warn" | "Strict";
  readonly fieldManager: string;
}

const plainMutation: MutationOptions = {
  isDryRun: false,
  fieldValidation: "Warn",
  fieldManager: "",
};
const fieldManagerLengthMax = 128;

export function parseMutationOptions(query: URLSearchParams, kind: string): MutationOptions {
  if (query.size === 0) return plainMutation;
  const errors: FieldError[] = [];
  const dryRun = query.getAll("dryRun");
  errors.push(...dryRunErrors(dryRun));
  const fieldValidation = query.get("fieldValidation") || "Warn";
  if (fieldValidation !== "Ignore" && fieldValidation !== "Warn" && fieldValidation !== "Strict") {
    const supported = ["", "Ignore", "Strict", "Warn"];
    errors.push(fieldError.notSupported("fieldValidation", fieldValidation, supported));
  }
  const fieldManager = query.get("fieldManager") ?? "";
  if (fieldManager.length > fieldManagerLengthMax) {
    errors.push(fieldError.tooLong("fieldManager", fieldManagerLengthMax));
  }
  const unprintable = unprintableIn(fieldManager);
  if (unprintable !== undefined) {
    errors.push(fieldError.invalid("fieldManager", fieldManager, unprintable));
  }
  if (errors.length > 0) throw statusError.invalid({ group: "meta.k8s.io", kind }, "", errors);
  return {
    isDryRun: dryRun.length > 0,
    fieldValidation: fieldValidation as MutationOptions["fieldValidation"],
    fieldManager,
  };
}

// The field manager of a write: the `fieldManager` of the query, or the name of the client program.

export function fieldOwner(
  { request, scope }: HandlerRequest,
  { fieldManager }: MutationOptions,
  kind: "apply" | "update",
): FieldManager {
  return {
    manager: fieldManager !== "" ? fieldManager : programOf(header(request.headers, "user-agent")),
    subresource: scope.subresource,
    isApply: kind === "apply",
  };
}

const remembered = new Map<string, string>();
const rememberedMax = 1000;
const rememberedLengthMax = 256;

/**
 * Caches the parsed User-Agent: clients send the same few with every write, and parsing one costs a
 * tenth of a create.
 */
function programOf(userAgent = ""): string {
  let manager = remembered.get(userAgent);
  if (manager === undefined) {
    manager = fieldManagerOf("", userAgent);
    if (userAgent.length > rememberedLengthMax) return manager;
    if (remembered.size >= rememberedMax) remembered.clear();
    remembered.set(userAgent, manager);
  }
  return manager;
}
