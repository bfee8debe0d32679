/**
 * Admission: is this object acceptable, must it change? Plug-ins run in order; the first refusal ends the request.
 *
 * This room knows neither storage nor HTTP: what a plug-in needs to look up it declares as a source, and wiring supplies it.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
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

export interface AdmissionPlugin {
  readonly name: string;
  /** Runs before the object is prepared and may refuse by throwing a StatusError. */
  admit?(request: AdmissionRequest): void | Promise<void>;
  /** Sees the object as it would be stored, and the one it replaces. */
  validate?(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): void | Promise<void>;
}

export class Admission {
  readonly #plugins: readonly AdmissionPlugin[];

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins;
  }

  async admit(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#plugins) await plugin.admit?.(request);
  }

  async validate(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): Promise<void> {
    for (const plugin of this.#plugins) await plugin.validate?.(request, object, old);
  }
}
