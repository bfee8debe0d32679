/**
 * The part of the SyncTarget controller that manages agents: their accounts, and where a kubeconfig
 * exists, their installation in the cluster.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, formatKey, isConditionTrue, startDeadline } from "@kcp-ts/sdk";
import {
  type AgentInstaller,
  ensureAccount,
  type Installation,
  removeAccount,
} from "../agent/index.ts";
import { type SyncTarget, targetConditions } from "../api/index.ts";
import { diagnose } from "./diagnose.ts";
import { boundedMessage } from "./problem.ts";
import { keyOf, type TargetConnection } from "./targets.ts";

/** The state of the installation in a cluster; undefined while it is unknown. */
export type AgentState = Installation | { readonly state: "failed"; readonly message: string };

export interface AgentInstallationsOptions {
  /** Undefined where the control plane does not install agents. */
  readonly installer: AgentInstaller | undefined;
  readonly clock: Clock;
}

const installTimeoutMs = 30_000;

export class AgentInstallations {
  readonly #options: AgentInstallationsOptions;
  readonly #states = new Map<string, AgentState>();
  /** The uids of SyncTargets whose accounts exist. */
  readonly #accounts = new Map<string, string>();

  constructor(options: AgentInstallationsOptions) {
    this.#options = options;
  }

  /** The state by the SyncTarget's key as text. */
  stateOf(id: string): AgentState | undefined {
    return this.#states.get(id);
  }

  forget(id: string): void {
    this.#states.delete(id);
    this.#accounts.delete(id);
  }

  /** The account is looked for again while the agent is not heard of. */
  async ensureAccount(
    client: Client,
    target: SyncTarget,
    id: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { uid = "" } = target.metadata;
    const { heartbeatHealthy } = targetConditions;
    const isWell = isConditionTrue(target.status?.conditions, heartbeatHealthy);
    if (isWell && this.#accounts.get(id) === uid) return;
    await ensureAccount(client, target, signal);
    this.#accounts.set(id, uid);
  }

  /** Installs or upgrades the agent, and records the result as the state. */
  async install(
    connection: TargetConnection,
    target: SyncTarget,
    upstream: Client,
    resources: readonly string[],
  ): Promise<void> {
    const { installer, clock } = this.#options;
    if (installer === undefined) return;
    const id = formatKey(keyOf(connection));
    const { client: downstream, cluster, signal: ending } = connection;
    const what = "installing the agent";
    const deadline = startDeadline({ clock, timeoutMs: installTimeoutMs, signal: ending, what });
    const { signal } = deadline;
    try {
      const request = { target, cluster, upstream, downstream, resources, signal };
      this.#states.set(id, await installer.install(request));
    } catch (error) {
      if (!ending.aborted)
        this.#states.set(id, { state: "failed", message: installProblemOf(error) });
    } finally {
      deadline.cancel();
    }
  }

  /** Resolves when the agent is deleted from the cluster, if a connection to the cluster exists. */
  async uninstall(
    target: SyncTarget,
    connection: TargetConnection | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { installer } = this.#options;
    if (connection === undefined || installer === undefined) return;
    const { client: downstream, cluster } = connection;
    await installer.uninstall({ target, cluster, downstream, signal });
  }

  /** Revokes the agent's credentials. */
  async revoke(client: Client, target: SyncTarget, signal: AbortSignal): Promise<void> {
    await removeAccount(client, target, signal);
  }
}

function installProblemOf(error: unknown): string {
  const { reason, message } = diagnose(error);
  // Errors of the installer itself already contain the next step.
  const said = reason === "UnexpectedResponse" && error instanceof Error ? error.message : message;
  const hint = isStatusError(error, "NotFound") ? "; the cluster does not serve what it takes" : "";
  return boundedMessage(`the agent could not be installed in the cluster: ${said}${hint}`);
}
