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
import type { ServiceScope } from "../request/request-scope.ts";
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
  /** The view that the request was sent to; undefined for the logical cluster itself. */
  readonly service?: ServiceScope | undefined;
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
  decode(value: JsonObject, how?: "strictly"): Promise<MutableObject>;
  /** The type of the kind in server-side apply. */
  readonly applyType: TypeSchema;
}

/** An object before it is stored: plugins may change it. */
export type MutableObject = { [member: string]: JsonValue };

/** What a plug-in may read without a request of its own, from memory where it is there. */
export interface PluginSources {
  /** Undefined if the namespace does not exist. */
  namespaceLabels(
    cluster: ClusterName,
    name: string,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>> | undefined>;
}

/**
 * A plugin implements any of the following methods, and denies a request by throwing a StatusError.
 */
export interface AdmissionPlugin {
  readonly name: string;
  /**
   * The resources whose writes the plugin concerns; all resources if omitted.
   */
  readonly resources?: readonly Pick<AdmissionRequest, "group" | "resource">[];
  /** Called once, before the first request. */
  connect?(sources: PluginSources): void;
  /**
   * False when the plugin ignores such a request: the plugin is not called, and the request costs
   * nothing.
   */
  handles?(request: AdmissionRequest): boolean;
  /**
   * Whether the plugin ignores objects without labels and finalizers when they are created or
   * updated: such a write costs nothing, and its object is not copied.
   */
  readonly isAboutMarks?: boolean;
  /** Runs before the object is prepared. */
  admit?(request: AdmissionRequest): Promise<void> | void;
  /**
   * May replace members of the object, on creates, updates and connects, but must not change their
   * content: runs before defaulting and validation, so its changes are validated like the input of
   * clients. Called again when another write came first.
   */
  mutate?(
    request: AdmissionRequest,
    draft: MutableObject,
    old: JsonObject | undefined,
  ): Promise<void> | void;
  /**
   * Receives the object as it would be stored, and the one it replaces. On deletes, both are the
   * object to delete.
   */
  validate?(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): Promise<void> | void;
  /** Called when the object was validated, but not stored. Must not throw. */
  rollback?(request: AdmissionRequest): Promise<void> | void;
}

/** The error that a plugin throws to deny a request: a 403 that names the object. */
export function denied(request: AdmissionRequest, reason: string): StatusError {
  return statusError.forbidden(request, request.name, reason);
}

/** The plugins that concern a resource, by the steps that they implement. */
interface Steps {
  readonly admitting: readonly With<"admit">[];
  readonly mutating: readonly With<"mutate">[];
  readonly validating: readonly With<"validate">[];
  readonly rollingBack: readonly With<"rollback">[];
}

type With<Step extends keyof AdmissionPlugin> = AdmissionPlugin &
  Required<Pick<AdmissionPlugin, Step>>;

export class Admission {
  /** By `<resource>.<group>`, for the resources that a plugin names. */
  readonly #ofResource = new Map<string, Steps>();
  /** The plugins of all other resources. */
  readonly #ofOthers: Steps;

  constructor(plugins: readonly AdmissionPlugin[]) {
    const named = new Set(plugins.flatMap(({ resources = [] }) => resources.map(nameOf)));
    for (const name of named) {
      const concerns = ({ resources }: AdmissionPlugin) =>
        resources === undefined || resources.some((one) => nameOf(one) === name);
      this.#ofResource.set(name, stepsOf(plugins.filter(concerns)));
    }
    this.#ofOthers = stepsOf(plugins.filter(({ resources }) => resources === undefined));
  }

  #stepsFor({ group, resource }: AdmissionRequest): Steps {
    return this.#ofResource.get(`${resource}.${group}`) ?? this.#ofOthers;
  }

  /** Whether any plugin may change the object: if not, the object need not be copied. */
  mutates(request: AdmissionRequest, object: JsonObject): boolean {
    return this.#stepsFor(request).mutating.some(
      (plugin) => concerns(plugin, request, object) && (plugin.handles?.(request) ?? true),
    );
  }

  /** Whether any plugin looks at the object that would be stored, or deleted. */
  validates(request: AdmissionRequest): boolean {
    return this.#stepsFor(request).validating.some((plugin) => plugin.handles?.(request) ?? true);
  }

  async admit(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#stepsFor(request).admitting) {
      if (plugin.handles?.(request) !== false) await plugin.admit(request);
    }
  }

  async mutate(
    request: AdmissionRequest,
    draft: MutableObject,
    old: JsonObject | undefined,
  ): Promise<void> {
    const sent = shallowCopy(draft);
    for (const plugin of this.#stepsFor(request).mutating) {
      if (concerns(plugin, request, draft) && plugin.handles?.(request) !== false)
        await plugin.mutate(request, draft, old);
    }
    request.sent = isSame(draft, sent) ? undefined : sent;
  }

  async validate(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): Promise<void> {
    for (const plugin of this.#stepsFor(request).validating) {
      if (concerns(plugin, request, object, old) && plugin.handles?.(request) !== false)
        await plugin.validate(request, object, old);
    }
  }

  async rollback(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#stepsFor(request).rollingBack)
      if (plugin.handles?.(request) !== false) await plugin.rollback(request);
  }
}

/** A subresource may have a kind of its own, which shows neither: Scale. */
function concerns(
  { isAboutMarks }: AdmissionPlugin,
  { subresource }: AdmissionRequest,
  { metadata }: JsonObject,
  old?: JsonObject,
): boolean {
  if (isAboutMarks !== true || subresource !== "") return true;
  const { labels, finalizers } = (metadata ?? {}) as JsonObject;
  const before = (old?.["metadata"] ?? {}) as JsonObject;
  return (labels ?? finalizers ?? before["labels"] ?? before["finalizers"]) !== undefined;
}

function nameOf({ group, resource }: Pick<AdmissionRequest, "group" | "resource">): string {
  return `${resource}.${group}`;
}

function stepsOf(plugins: readonly AdmissionPlugin[]): Steps {
  return {
    admitting: plugins.filter((plugin): plugin is With<"admit"> => plugin.admit !== undefined),
    mutating: plugins.filter((plugin): plugin is With<"mutate"> => plugin.mutate !== undefined),
    validating: plugins.filter(
      (plugin): plugin is With<"validate"> => plugin.validate !== undefined,
    ),
    rollingBack: plugins.filter(
      (plugin): plugin is With<"rollback"> => plugin.rollback !== undefined,
    ),
  };
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
