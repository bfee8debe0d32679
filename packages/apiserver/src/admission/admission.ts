/**
 * Admission: is this object acceptable, must it change? Plug-ins run in order; the first refusal ends the request.
 *
 * This room knows neither storage nor HTTP: what a plug-in needs to look up it declares as a source, and wiring supplies it.
 */
import type { TypeSchema } from "@kcp-ts/machinery/apply";
import { type JsonObject, type JsonValue, shallowCopy } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type StatusError, statusError } from "@kcp-ts/machinery/status";
import type { MaybePromise } from "../request/api-request.ts";
import type { UserInfo } from "../request/user.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

export interface AdmissionRequest {
  /** What happens to the object, whichever verb asked for it: a patch updates, an apply updates or creates. */
  readonly operation: Operation;
  readonly cluster: ClusterName;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Of the object: a subresource may have one of its own, such as Scale or PodExecOptions. */
  readonly kind: string;
  /** The kind with its own group and version, which need not be those of the resource: Evictions of Pods are in `policy`. */
  readonly gvk: GroupVersionKind;
  readonly subresource: string;
  readonly namespace: string;
  /** Empty when the name is yet to be generated. */
  readonly name: string;
  readonly user: UserInfo;
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
  /** CreateOptions, UpdateOptions or DeleteOptions, as sent. Connecting has none: what it is asked with is the object. */
  readonly options: JsonObject;
  /** How objects of the kind are read and merged. */
  readonly form: ObjectDecoder;
  /** Set when admission made another object of the draft: the draft before, which is what its sender comes to own. */
  sent?: MutableObject | undefined;
  /** Tells the client something, in a Warning header. */
  warn(text: string): void;
  /** Leaves a note for the audit of the request; the key is `<domain>/<name>`. `Request`: only where request bodies are shown. */
  annotate(key: string, value: string, level?: "Metadata" | "Request"): void;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface ObjectDecoder {
  /**
   * The value as an object of the kind: pruned and with defaults. Throws a StatusError when it cannot be one; read strictly, also when a
   * built-in kind has no such member.
   */
  decode(value: JsonObject, how?: "strictly"): MutableObject;
  /** How server-side apply sees the kind. */
  readonly applyType: TypeSchema;
}

/** An object on its way in: the plug-in's to change until it is stored. */
export type MutableObject = { [member: string]: JsonValue };

/** A plug-in does any of the following, and refuses by throwing a StatusError. */
export interface AdmissionPlugin {
  readonly name: string;
  /** False when the plug-in has nothing to do with such a request: it is left alone then, and the request costs nothing. */
  concerns?(request: AdmissionRequest): boolean;
  /** Runs before the object is prepared. */
  admit?(request: AdmissionRequest): MaybePromise<void>;
  /**
   * May replace members of the object, on creates, updates and connects, and changes nothing within them: before defaults and validation, so what it sets is held to the same rules as what
   * clients send. Called again when another write came first.
   */
  mutate?(
    request: AdmissionRequest,
    draft: MutableObject,
    old: JsonObject | undefined,
  ): MaybePromise<void>;
  /** Sees the object as it would be stored, and the one it replaces. On deletes both are the object that goes. */
  validate?(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): MaybePromise<void>;
  /** The object was found valid, but was not stored after all. Must not throw. */
  abandon?(request: AdmissionRequest): MaybePromise<void>;
}

/** The refusal that a plug-in throws: a 403 that names the object. */
export function denied(request: AdmissionRequest, reason: string): StatusError {
  return statusError.forbidden(request, request.name, reason);
}

type With<Step extends keyof AdmissionPlugin> = AdmissionPlugin &
  Required<Pick<AdmissionPlugin, Step>>;

export class Admission {
  readonly #admitting: readonly With<"admit">[];
  readonly #mutating: readonly With<"mutate">[];
  readonly #validating: readonly With<"validate">[];
  readonly #abandoning: readonly With<"abandon">[];

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#admitting = plugins.filter((plugin) => plugin.admit !== undefined) as With<"admit">[];
    this.#mutating = plugins.filter((plugin) => plugin.mutate !== undefined) as With<"mutate">[];
    this.#validating = plugins.filter(
      (plugin) => plugin.validate !== undefined,
    ) as With<"validate">[];
    this.#abandoning = plugins.filter(
      (plugin) => plugin.abandon !== undefined,
    ) as With<"abandon">[];
  }

  /** Whether anybody may want to change the object: if not, it need not be copied for them. */
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

  abandon(request: AdmissionRequest): MaybePromise<void> {
    return runSequentially(this.#abandoning, request, (plugin) => plugin.abandon(request));
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
  return plugin.concerns === undefined || plugin.concerns(request);
}

/** One after the other; without a promise as long as nobody needs one. */
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
