/**
 * Installs an agent in its cluster, upgrades the agent, and renews its token: the installer applies
 * the desired objects, and only objects that differ change. A Deployment with another image or
 * other arguments rolls out by itself.
 *
 * No credential but the agent's own token leaves the control plane.
 */
import { createHash } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, type KubernetesObject, stringMember } from "@kcp-ts/sdk";
import { type AgentServer, agentKubeconfig } from "../agent-manifest/index.ts";
import { agentAnnotation, type SyncTarget } from "../api/index.ts";
import type { TargetIdentity } from "../syncer/index.ts";
import { applied, ensureAccount, nameIn } from "./agent-account.ts";
import { agentId, agentManifest } from "./agent-manifest.ts";
import { deployments, resourceOf, secrets } from "./agent-objects.ts";
import {
  agentTokenSecondsDefault,
  isDueForRenewal,
  readToken,
  requestToken,
} from "./agent-token.ts";

export interface AgentInstallerOptions {
  /** The address at which agents reach the control plane; undefined while it is unknown. */
  readonly server: () => AgentServer | undefined;
  readonly image: string;
  readonly tokenSeconds?: number | undefined;
  readonly clock: Clock;
}

export interface InstallRequest {
  readonly target: SyncTarget;
  /** The logical cluster of the SyncTarget. */
  readonly cluster: ClusterName;
  readonly upstream: Client;
  readonly downstream: Client;
  readonly resources: readonly string[];
  readonly signal: AbortSignal;
}

/** `starting`: all objects exist, and no Pod of the newest template is ready yet. */
export type Installation =
  | { readonly state: "installed"; readonly message: string }
  | { readonly state: "starting"; readonly message: string };

/**
 * The installer renews a token after this share of its lifetime. The agent itself renews its token
 * later, so the installer renews in time for an agent that cannot.
 */
const renewAtShare = 0.6;
/**
 * Changes that others made to the agent's objects in the cluster are reverted after this time at
 * most.
 */
const repairMs = 600_000;

interface LastInstall {
  readonly digest: string;
  readonly atMs: number;
}

export class AgentInstaller {
  readonly #options: AgentInstallerOptions;
  readonly #last = new Map<string, LastInstall>();

  constructor(options: AgentInstallerOptions) {
    this.#options = options;
  }

  async install(request: InstallRequest): Promise<Installation> {
    const { clock, image, server: serverOf } = this.#options;
    const { downstream, resources, signal } = request;
    const server = serverOf();
    if (server === undefined)
      throw new Error("the control plane has no address that agents could reach it at");
    const target = identityOf(request);
    const token = await this.#token(request);
    const kubeconfig = agentKubeconfig(server, target);
    const objects = agentManifest({ target, resources, image, kubeconfig, token });
    const digest = createHash("sha256").update(JSON.stringify(objects)).digest("hex");
    const last = this.#last.get(target.uid);
    const isDue = last?.digest !== digest || clock.monotonic() - last.atMs >= repairMs;
    if (isDue) {
      await checkOwnership(downstream, objects[0] as JsonObject, signal);
      for (const object of objects) await applied(downstream, object, signal);
      this.#last.set(target.uid, { digest, atMs: clock.monotonic() });
    }
    return await installationState(downstream, agentId(target), signal);
  }

  /** Deletes the objects that `install` has created, and no others. */
  async uninstall(request: Omit<InstallRequest, "resources" | "upstream">): Promise<void> {
    const { downstream, signal } = request;
    const target = identityOf(request);
    this.#last.delete(target.uid);
    const options = { target, resources: [], image: "", kubeconfig: "", token: "" };
    for (const object of agentManifest(options).toReversed()) {
      const { name, namespace } = object["metadata"] as { name: string; namespace?: string };
      const resource = downstream.resource(resourceOf(object));
      const found = await resource.find(nameIn(name, namespace), { signal });
      if (found === undefined || !isOurs(found, object)) continue;
      try {
        await resource.sameObject(found).remove({ signal });
      } catch (error) {
        if (!isStatusError(error, "NotFound") && !isStatusError(error, "Conflict")) throw error;
      }
    }
  }

  /**
   * The token in the cluster, as long as it belongs to this account and does not expire soon; else
   * a new token.
   */
  async #token({ target, upstream, downstream, signal }: InstallRequest): Promise<string> {
    const { clock, tokenSeconds: expirationSeconds = agentTokenSecondsDefault } = this.#options;
    const account = await ensureAccount(upstream, target, signal);
    const { name } = account.metadata;
    const secret = await downstream.resource(secrets).find({ namespace: name, name }, { signal });
    const token = Buffer.from(stringMember(secret?.data, "token") ?? "", "base64").toString("utf8");
    const facts = readToken(token);
    const isGood =
      facts !== undefined &&
      facts.uid === account.metadata.uid &&
      !isDueForRenewal(facts, clock.now(), renewAtShare);
    return isGood ? token : await requestToken(upstream, { name }, { expirationSeconds, signal });
  }
}

function identityOf(request: Pick<InstallRequest, "target" | "cluster">): TargetIdentity {
  const { name, uid = "" } = request.target.metadata;
  return { cluster: request.cluster, name, uid };
}

async function checkOwnership(client: Client, wanted: JsonObject, signal: AbortSignal) {
  const { name } = wanted["metadata"] as { name: string };
  const found = await client.resource(resourceOf(wanted)).find({ name }, { signal });
  if (found === undefined || isOurs(found, wanted)) return;
  throw new Error(
    `the namespace ${name} in the cluster was not made for this SyncTarget: delete it there`,
  );
}

function isOurs({ metadata }: KubernetesObject, wanted: JsonObject): boolean {
  const { annotations } = wanted["metadata"] as { annotations: Record<string, string> };
  return stringMember(metadata.annotations, agentAnnotation) === annotations[agentAnnotation];
}

async function installationState(
  client: Client,
  id: string,
  signal: AbortSignal,
): Promise<Installation> {
  const found = await client.resource(deployments).get({ namespace: id, name: id }, { signal });
  const { observedGeneration = 0, availableReplicas = 0, updatedReplicas = 0 } = found.status ?? {};
  const isCurrent = observedGeneration >= (found.metadata.generation ?? 0) && updatedReplicas > 0;
  if (isCurrent && availableReplicas > 0)
    return { state: "installed", message: `the agent runs in the namespace ${id}` };
  return {
    state: "starting",
    message: `the agent is installed in the cluster, and no Pod of it is ready: kubectl --namespace ${id} describe pods`,
  };
}
