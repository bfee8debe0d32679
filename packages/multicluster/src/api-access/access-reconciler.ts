/** One reconcile of one workload: the Secrets that it should have, and the writes for them. */
import type { Clock } from "@kcp-ts/machinery/base";
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  apiVersionOf,
  type Client,
  type EventRecorder,
  type KubernetesObject,
  type ObjectKey,
  type ReconcileResult,
  type Resource,
  type StringMap,
  stringMember,
} from "@kcp-ts/sdk";
import {
  type AgentServer,
  isDueForRenewal,
  readToken,
  requestToken,
  secrets,
  serviceAccounts,
} from "../agent/index.ts";
import {
  apiAccessFieldManager,
  apiAccessLabel,
  apiAccessResources,
  apiAccessSecretName,
  clusterLabels,
  stateLabelPrefix,
  wantsApiAccess,
} from "../api/index.ts";
import { targetsOf } from "../coordination/index.ts";
import { withApiAccess } from "../syncer/index.ts";
import {
  accessLabels,
  accountAnnotation,
  accountOf,
  assignmentLabels,
  ownedBy,
  ownerOf,
  secretData,
  tokenIn,
} from "./access-secret.ts";

interface Secret extends KubernetesObject {
  readonly data?: StringMap;
}

export interface AccessReconcilerOptions {
  /** A client of the logical cluster. */
  readonly client: Client;
  readonly signal: AbortSignal;
  /** The key with `<kind>/<name>` as its name. */
  readonly key: ObjectKey;
  readonly server: () => AgentServer | undefined;
  readonly tokenSeconds: number;
  readonly events: EventRecorder;
  readonly clock: Clock;
}

const renewAtShare = 0.5;
/**
 * Watches report all awaited changes, except those that only the control plane's operator can make.
 */
const lookAgainMs = 10_000;
const fieldManager = apiAccessFieldManager;

/** A user has to act; reported on the workload. */
class AccessBlockedError extends Error {
  override readonly name = "AccessBlockedError";
}

export class AccessReconciler {
  readonly #options: AccessReconcilerOptions;
  readonly #resource: Resource<KubernetesObject>;
  readonly #name: string;

  constructor(options: AccessReconcilerOptions) {
    this.#options = options;
    const [kind = "", name = ""] = options.key.name.split("/");
    const resource = apiAccessResources.find((one) => one.kind === kind);
    if (resource === undefined) throw new Error(`${kind} has no Pods`);
    this.#resource = resource;
    this.#name = name;
  }

  async reconcile(): Promise<ReconcileResult> {
    const { client, signal, key } = this.#options;
    const { namespace } = key;
    const at = { namespace, name: this.#name };
    const workload = await client.resource(this.#resource).find(at, { signal });
    // The Secrets of a deleted workload are garbage-collected.
    if (workload === undefined) return;
    const { items } = await client
      .resource(secrets)
      .list({ namespace, labelSelector: `${apiAccessLabel}=true`, signal });
    const wanted = this.#wanted(workload);
    const own = items.filter((secret) => ownerOf(secret)?.uid === workload.metadata.uid);
    for (const secret of own) if (!wanted.has(secret.metadata.name)) await this.#delete(secret);
    try {
      const waits: number[] = [];
      for (const [name, target] of wanted) {
        const found = items.find(({ metadata }) => metadata.name === name);
        const waitMs = await this.#ensure(workload, { name, target, found });
        if (waitMs !== undefined) waits.push(waitMs);
      }
      return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
    } catch (error) {
      if (!(error instanceof AccessBlockedError) && !isRefusal(error)) throw error;
      this.#tell(workload, error.message);
      if (error instanceof AccessBlockedError) return { requeueAfterMs: lookAgainMs };
      throw error;
    }
  }

  /** The names of the workload's Secrets, with the SyncTarget of each. */
  #wanted(workload: KubernetesObject): ReadonlyMap<string, string> {
    const wanted = new Map<string, string>();
    const { metadata } = workload;
    if (!wantsApiAccess(metadata.labels) || !this.#isGiven(workload)) return wanted;
    for (const target of targetsOf(workload)) {
      const of = { kind: this.#resource.kind, name: this.#name, target };
      wanted.set(apiAccessSecretName(of), target);
    }
    return wanted;
  }

  /** Pods may disable tokens, and containers may have their own server. */
  #isGiven(workload: KubernetesObject): boolean {
    const body = workload as unknown as JsonObject;
    const place = { resource: this.#resource, namespace: "", name: this.#name, target: "" };
    return withApiAccess(body, place) !== body;
  }

  /** Returns when the token is due for renewal. */
  async #ensure(
    workload: KubernetesObject,
    { name, target, found }: { name: string; target: string; found: Secret | undefined },
  ): Promise<number | undefined> {
    const { server: serverOf, key, clock } = this.#options;
    const server = serverOf();
    if (server === undefined)
      throw new AccessBlockedError(
        "the control plane has no address that Pods could reach it at: start it with --external-hostname",
      );
    // The Secret of an earlier workload of this name, or one that a user deletes to revoke its
    // token: its deletion triggers another reconcile.
    const isOther = found !== undefined && ownerOf(found)?.uid !== workload.metadata.uid;
    if (isOther) await this.#delete(found);
    if (isOther || found?.metadata.deletionTimestamp !== undefined) return undefined;
    const isLeaving = workload.metadata.deletionTimestamp !== undefined;
    if (found === undefined && isLeaving) return undefined;
    const account = accountOf(this.#resource, workload as unknown as JsonObject);
    const secret = found ?? (await this.#create(workload, name, account));
    const token = await this.#token(secret, account);
    await this.#write(secret, {
      account,
      labels: { ...accessLabels, ...assignmentLabels(target) },
      data: secretData(server, { namespace: key.namespace, token }),
    });
    const facts = readToken(token);
    if (facts === undefined) return undefined;
    const { issuedAtMs, expiresAtMs } = facts;
    const renewAtMs = issuedAtMs + (expiresAtMs - issuedAtMs) * renewAtShare;
    return Math.max(renewAtMs - clock.now(), 0);
  }

  /** The Secret is created before its token, which is bound to it; it is not assigned yet. */
  async #create(workload: KubernetesObject, name: string, account: string): Promise<Secret> {
    const { client, key, signal } = this.#options;
    const metadata = {
      name,
      namespace: key.namespace,
      labels: accessLabels,
      annotations: { [accountAnnotation]: account },
      ownerReferences: [ownedBy(this.#resource, workload)],
    };
    try {
      return await client.resource(secrets).create({ metadata }, { fieldManager, signal });
    } catch (error) {
      if (!isStatusError(error, "AlreadyExists")) throw error;
      throw new AccessBlockedError(
        `the Secret ${name} exists and was not created by the control plane: delete it`,
      );
    }
  }

  /**
   * The existing token, as long as it belongs to this account, is bound to this Secret, and does
   * not expire soon; else a new token.
   */
  async #token({ metadata, data }: Secret, account: string): Promise<string> {
    const { client, key, signal, clock, tokenSeconds } = this.#options;
    const { namespace } = key;
    const { name, uid = "" } = metadata;
    const at = { namespace, name: account };
    const found = await client.resource(serviceAccounts).find(at, { signal });
    if (found === undefined)
      throw new AccessBlockedError(
        `ServiceAccount ${account} is not there: create it, or name another one as serviceAccountName`,
      );
    const token = tokenIn(data);
    const facts = readToken(token);
    const isGood =
      facts !== undefined &&
      facts.uid === found.metadata.uid &&
      facts.secretUid === uid &&
      !isDueForRenewal(facts, clock.now(), renewAtShare);
    if (isGood) return token;
    const boundTo = { name, uid };
    return await requestToken(client, at, { expirationSeconds: tokenSeconds, boundTo, signal });
  }

  async #write(
    { metadata, data }: Secret,
    wanted: { readonly account: string; readonly labels: StringMap; readonly data: StringMap },
  ): Promise<void> {
    const { client, signal } = this.#options;
    const annotations = { [accountAnnotation]: wanted.account };
    // The Secret is assigned to one cluster, whatever labels another client has added.
    const elsewhere = Object.keys(metadata.labels ?? {}).filter(
      (label) => isAssignment(label) && !(label in wanted.labels),
    );
    const isSame =
      elsewhere.length === 0 &&
      jsonEqual((data ?? {}) as JsonObject, wanted.data as JsonObject) &&
      hasAll(metadata.labels, wanted.labels) &&
      hasAll(metadata.annotations, annotations);
    if (isSame) return;
    const strangers = Object.keys(data ?? {}).filter((member) => !(member in wanted.data));
    const without = (names: readonly string[]) =>
      Object.fromEntries(names.map((one) => [one, null]));
    const members = { ...without(strangers), ...wanted.data };
    const labels = { ...without(elsewhere), ...wanted.labels };
    await client
      .resource(secrets)
      .sameVersion({ metadata })
      .mergePatch({ metadata: { labels, annotations }, data: members }, { fieldManager, signal });
  }

  async #delete(secret: Secret): Promise<void> {
    const { client, signal } = this.#options;
    if (secret.metadata.deletionTimestamp !== undefined) return;
    try {
      await client.resource(secrets).sameObject(secret).remove({ signal });
    } catch (error) {
      if (!isStatusError(error, "NotFound") && !isStatusError(error, "Conflict")) throw error;
    }
  }

  #tell(workload: KubernetesObject, message: string): void {
    const { events, key } = this.#options;
    const about = {
      ...workload,
      apiVersion: apiVersionOf(this.#resource),
      kind: this.#resource.kind,
    };
    events.record(key.cluster, about, {
      type: "Warning",
      reason: "ApiAccessFailed",
      message: `its Pods cannot talk to the control plane: ${message}`,
    });
  }
}

function hasAll(map: StringMap | undefined, wanted: StringMap): boolean {
  return Object.entries(wanted).every(([key, value]) => stringMember(map, key) === value);
}

function isAssignment(label: string): boolean {
  return label.startsWith(stateLabelPrefix) || clusterLabels.includes(label);
}

/**
 * A quota, a policy or a webhook rejected the request: the message may be shown to readers of the
 * workload.
 */
function isRefusal(error: unknown): error is Error {
  return isStatusError(error, "Forbidden") || isStatusError(error, "Invalid");
}
