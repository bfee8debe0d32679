/**
 * Admission validates and mutates the objects of writes. Plugins run in order; the first denial
 * ends the request.
 *
 * This folder knows neither storage nor HTTP: a plugin declares the sources that it needs, and
 * wiring supplies them.
 */
import type { TypeSchema } from "@kcp-ts/machinery/apply";
import { type JsonObject, type JsonValue, shallowCopy } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type StatusError, statusError } from "@kcp-ts/machinery/status";
import type { MaybePromise } from "../request/api-request.ts";
import type { UserInfo } from "../request/user.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

export interface AdmissionRequest {
  /**
   * The operation on the object, independent of the verb: a patch is an UPDATE, an apply is an
   * UPDATE or a CREATE.
   */
  readonly operation: Operation;
  readonly cluster: ClusterName;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /**
   * The kind of the object: a subresource may have a kind of its own, such as Scale or
   * PodExecOptions.
   */
  readonly kind: string;
  /**
   * The kind with its own group and version, which may differ from those of the resource: Evictions
   * of Pods are in `policy`.
   */
  readonly gvk: GroupVersionKind;
  readonly subresource: string;
  readonly namespace: string;
  /** Empty when the name has not been generated yet. */
  readonly name: string;
  readonly user: UserInfo;
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
  /**
   * CreateOptions, UpdateOptions or DeleteOptions, as sent. CONNECT has none: its options are the
   * object.
   */
  readonly options: JsonObject;
  /** Decodes and merges objects of the kind. */
  readonly decoder: ObjectDecoder;
  /**
   * The draft before admission, if admission replaced it: the client becomes the owner of the
   * fields of this one.
   */
  sent?: MutableObject | undefined;
  /** Adds a Warning header to the response. */
  warn(text: string): void;
  /**
   * Adds an annotation to the audit event of the request; the key is `<domain>/<name>`. `Request`:
   * only in events that contain request bodies.
   */
  annotate(key: string, value: string, level?: "Metadata" | "Request"): void;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface ObjectDecoder {
  /**
   * Decodes the value into an object of the kind: pruned and with defaults. Throws a StatusError
   * when the value is invalid; if decoded strictly, also when a built-in kind has no such field. A
   * large value is decoded while yielding to the event loop.
   */
  decode(value: JsonObject, how?: "strictly"): MaybePromise<MutableObject>;
  /** The type of the kind in server-side apply. */
  readonly applyType: TypeSchema;
}

/** An object before it is stored: plugins may change it. */
export type MutableObject = { [member: string]: JsonValue };

/**
 * A plugin implements any of the following methods, and denies a request by throwing a StatusError.
 */
export interface AdmissionPlugin {
  readonly name: string;
  /**
   * False when the plugin ignores such a request: the plugin is not called, and the request costs
   * nothing.
   */
  handles?(request: AdmissionRequest): boolean;
  /** Runs before the object is prepared. */
  admit?(request: AdmissionRequest): MaybePromise<void>;
  /**
   * May replace members of the object, on creates, updates and connects, but must not change their
   * content: runs before defaulting and validation, so its changes are validated like the input of
   * clients. Called again when another write came first.
   */
  mutate?(
    request: AdmissionRequest,
    draft: MutableObject,
    old: JsonObject | undefined,
  ): MaybePromise<void>;
  /**
   * Receives the object as it would be stored, and the one it replaces. On deletes, both are the
   * object to delete.
   */
  validate?(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): MaybePromise<void>;
  /** Called when the object was validated, but not stored. Must not throw. */
  rollback?(request: AdmissionRequest): MaybePromise<void>;
}

/** The error that a plugin throws to deny a request: a 403 that names the object. */
export function denied(request: AdmissionRequest, reason: string): StatusError {
  return statusError.forbidden(request, request.name, reason);
}

type With<Step extends keyof AdmissionPlugin> = AdmissionPlugin &
  Required<Pick<AdmissionPlugin, Step>>;

export class Admission {
  readonly #admitting: readonly With<"admit">[];
  readonly #mutating: readonly With<"mutate">[];
  readonly #validating: readonly With<"validate">[];
  readonly #rollingBack: readonly With<"rollback">[];

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#admitting = plugins.filter((plugin) => plugin.admit !== undefined) as With<"admit">[];
    this.#mutating = plugins.filter((plugin) => plugin.mutate !== undefined) as With<"mutate">[];
    this.#validating = plugins.filter(
      (plugin) => plugin.validate !== undefined,
    ) as With<"validate">[];
    this.#rollingBack = plugins.filter(
      (plugin) => plugin.rollback !== undefined,
    ) as With<"rollback">[];
  }

  /** Whether any plugin may change the object: if not, the object need not be copied. */
  mutates(request: AdmissionRequest): boolean {
    for (const plugin of this.#mutating) if (isHandledBy(plugin, request)) return true;
    return false;
  }

  admit(request: AdmissionRequest): MaybePromise<void> {
    return runSequentially(this.#admitting, request, (plugin) => plugin.admit(request));
  }

  mutate(
    request: AdmissionRequest,
    draft: MutableObject,
    old: JsonObject | undefined,
  ): MaybePromise<void> {
    const sent = shallowCopy(draft);
    const pending = runSequentially(this.#mutating, request, (plugin) =>
      plugin.mutate(request, draft, old),
    );
    if (pending instanceof Promise)
      return pending.then(() => recordSentObject(request, draft, sent));
    recordSentObject(request, draft, sent);
    return undefined;
  }

  validate(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): MaybePromise<void> {
    return runSequentially(this.#validating, request, (plugin) =>
      plugin.validate(request, object, old),
    );
  }

  rollback(request: AdmissionRequest): MaybePromise<void> {
    return runSequentially(this.#rollingBack, request, (plugin) => plugin.rollback(request));
  }
}

function recordSentObject(
  request: AdmissionRequest,
  draft: MutableObject,
  sent: MutableObject,
): void {
  request.sent = isSame(draft, sent) ? undefined : sent;
}

function isSame(draft: MutableObject, sent: MutableObject): boolean {
  let members = 0;
  for (const member in draft) {
    if (draft[member] !== sent[member]) return false;
    members++;
  }
  for (const _ in sent) members--;
  return members === 0;
}

function isHandledBy(plugin: AdmissionPlugin, request: AdmissionRequest): boolean {
  return plugin.handles === undefined || plugin.handles(request);
}

/** Runs the plugins one after the other; synchronously as long as all plugins are synchronous. */
function runSequentially<Plugin extends AdmissionPlugin>(
  plugins: readonly Plugin[],
  request: AdmissionRequest,
  call: (plugin: Plugin) => MaybePromise<void>,
  from = 0,
): MaybePromise<void> {
  for (let at = from; at < plugins.length; at++) {
    const plugin = plugins[at] as Plugin;
    if (!isHandledBy(plugin, request)) continue;
    const pending = call(plugin);
    if (pending instanceof Promise)
      return pending.then(() => runSequentially(plugins, request, call, at + 1));
  }
  return undefined;
}
