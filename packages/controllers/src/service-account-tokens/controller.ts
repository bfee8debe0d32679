/**
 * Secrets of type kubernetes.io/service-account-token: the controller writes the token of the named
 * service account into them.
 *
 * One watch for all logical clusters, of such Secrets only; of each Secret the controller keeps
 * only whether it is filled. The Secret becomes a dependent of its service account, so the garbage
 * collector deletes it with the account.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  Controller,
  type ControllerOptions,
  type KubernetesObject,
  type ObjectKey,
} from "@kcp-ts/sdk";
import { type Secret, secrets, serviceAccounts } from "../api/index.ts";

export interface AccountOfToken {
  readonly cluster: ClusterName;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Issues a token that is valid as long as it is in the Secret of this name. */
export type IssueToken = (account: AccountOfToken, secretName: string) => string;

export interface ServiceAccountTokensOptions
  extends Pick<ControllerOptions, "metrics" | "onError"> {
  readonly clusters: Clusters;
  readonly caPem: string;
  readonly issue: IssueToken;
  readonly clock?: Clock;
}

const tokenType = "kubernetes.io/service-account-token";
const nameAnnotation = "kubernetes.io/service-account.name";
const uidAnnotation = "kubernetes.io/service-account.uid";

type Filling = "filled" | "wanting";

export function serviceAccountTokensController(options: ServiceAccountTokensOptions): Controller {
  const { clusters, clock = systemClock } = options;
  const selector = { fieldSelector: `type=${tokenType}` };
  const transform = (secret: Secret) => fillingOf(secret, options.caPem);
  const source = clusters.source<Secret, Filling>(secrets, { selector, transform });
  const controller = new Controller({
    name: "service-account-tokens",
    clusters,
    clock,
    ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
    ...(options.onError === undefined ? {} : { onError: options.onError }),
    async reconcile(key, { client, signal }) {
      if (source.store.get(key) === "wanting") await fill(key, client, options, signal);
    },
  });
  return controller.watch<Secret, Filling>(secrets, {
    selector,
    transform,
    predicate: ({ type, object }) => type !== "deleted" && object === "wanting",
  });
}

function fillingOf(secret: Secret, caPem: string): Filling {
  const { data = {}, metadata } = secret;
  const isFilled =
    (data["token"] ?? "") !== "" &&
    (data["namespace"] ?? "") !== "" &&
    data["ca.crt"] === btoa(caPem) &&
    metadata.annotations?.[uidAnnotation] !== undefined &&
    accountOwner(secret) !== undefined;
  return isFilled || metadata.deletionTimestamp !== undefined ? "filled" : "wanting";
}

function accountOwner({ metadata }: Secret) {
  return metadata.ownerReferences?.find(
    ({ apiVersion, kind }) => apiVersion === "v1" && kind === "ServiceAccount",
  );
}

async function fill(
  { cluster, namespace, name }: ObjectKey,
  client: Client,
  { caPem, issue }: ServiceAccountTokensOptions,
  signal: AbortSignal,
): Promise<void> {
  const resource = client.resource(secrets);
  const secret = await resource.find({ namespace, name }, { signal });
  if (secret === undefined || secret.type !== tokenType || fillingOf(secret, caPem) === "filled") {
    return;
  }
  const annotations = secret.metadata.annotations ?? {};
  const accountName = annotations[nameAnnotation] ?? "";
  const account = await client
    .resource(serviceAccounts)
    .find({ namespace, name: accountName }, { signal });
  const accountUid = account?.metadata.uid;
  const wantedUid = annotations[uidAnnotation];
  const isOthers = wantedUid !== undefined && wantedUid !== "" && wantedUid !== accountUid;
  if (account === undefined || accountUid === undefined || isOthers) {
    await deleteAs(client, secret, signal);
    return;
  }
  const data = secret.data ?? {};
  const token = issue({ cluster, namespace, name: accountName, uid: accountUid }, name);
  await resource.update(
    {
      ...secret,
      metadata: {
        ...secret.metadata,
        annotations: { ...annotations, [uidAnnotation]: accountUid },
        ownerReferences: withOwner(secret, account, accountUid),
      },
      stringData: {
        "ca.crt": caPem,
        ...((data["namespace"] ?? "") === "" ? { namespace } : {}),
        ...((data["token"] ?? "") === "" ? { token } : {}),
      },
    },
    { signal },
  );
}

function withOwner(secret: Secret, account: KubernetesObject, uid: string) {
  const { name = "" } = account.metadata;
  const others = (secret.metadata.ownerReferences ?? []).filter(
    (owner) => owner !== accountOwner(secret),
  );
  return [...others, { apiVersion: "v1", kind: "ServiceAccount", name, uid }];
}

/** Preconditions for exactly this Secret, not for a later one of the same name. */
async function deleteAs(client: Client, secret: Secret, signal: AbortSignal): Promise<void> {
  try {
    await client.resource(secrets).sameObject(secret).remove({ signal });
  } catch (error) {
    if (!isStatusError(error, "NotFound") && !isStatusError(error, "Conflict")) throw error;
  }
}
