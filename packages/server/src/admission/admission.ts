/**
 * Admission: is this object acceptable, must it change? Plug-ins run in order; the first refusal ends the request.
 *
 * This room knows neither storage nor HTTP: what a plug-in needs to look up it declares as a source, and wiring supplies it.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { MaybePromise } from "../request/api-request.ts";
import type { UserInfo } from "../request/user.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE";

export interface AdmissionRequest {
  readonly operation: Operation;
  readonly cluster: ClusterName;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
}

/** An object on its way in: the plug-in's to change until it is stored. */
export type MutableObject = { [member: string]: JsonValue };

export interface AdmissionPlugin {
  readonly name: string;
  /** Runs before the object is prepared and may refuse by throwing a StatusError. */
  admit?(request: AdmissionRequest): MaybePromise<void>;
  /**
   * May change the object in place, on creates and updates: before defaults and validation, so what it sets is held to the same rules as what
   * clients send. Called again when another write came first.
   */
  mutate?(
    request: AdmissionRequest,
    draft: MutableObject,
    old: JsonObject | undefined,
  ): MaybePromise<void>;
  /** Sees the object as it would be stored, and the one it replaces. */
  validate?(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): MaybePromise<void>;
}

export class Admission {
  readonly #admitting: readonly NonNullable<AdmissionPlugin["admit"]>[];
  readonly #mutating: readonly NonNullable<AdmissionPlugin["mutate"]>[];
  readonly #validating: readonly NonNullable<AdmissionPlugin["validate"]>[];

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#admitting = plugins.flatMap(({ admit }) => (admit === undefined ? [] : [admit]));
    this.#mutating = plugins.flatMap(({ mutate }) => (mutate === undefined ? [] : [mutate]));
    this.#validating = plugins.flatMap(({ validate }) =>
      validate === undefined ? [] : [validate],
    );
  }

  get isMutating(): boolean {
    return this.#mutating.length > 0;
  }

  admit(request: AdmissionRequest): MaybePromise<void> {
    return inTurn(this.#admitting, (admit) => admit(request));
  }

  mutate(
    request: AdmissionRequest,
    draft: MutableObject,
    old: JsonObject | undefined,
  ): MaybePromise<void> {
    return inTurn(this.#mutating, (mutate) => mutate(request, draft, old));
  }

  validate(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): MaybePromise<void> {
    return inTurn(this.#validating, (validate) => validate(request, object, old));
  }
}

/** One after the other; without a promise as long as nobody needs one. */
function inTurn<Plugin>(
  plugins: readonly Plugin[],
  call: (plugin: Plugin) => MaybePromise<void>,
  from = 0,
): MaybePromise<void> {
  for (let at = from; at < plugins.length; at++) {
    const pending = call(plugins[at] as Plugin);
    if (pending instanceof Promise) return pending.then(() => inTurn(plugins, call, at + 1));
  }
  return undefined;
}
