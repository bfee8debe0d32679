/**
 * The subresources of Pods that run in physical clusters (`pods/log`, `pods/exec`, …), and the
 * endpoint that agents of such clusters dial (`synctargets/tunnel`).
 *
 * Requests have passed all filters by now: the roles of the logical cluster decide who may use
 * them. The Pod is computed from the stored copy, never from the request.
 */
import type {
  AdditionalSubresource,
  ApiResponse,
  Attributes,
  Authorizer,
  ConnectRequest,
  SubresourceStrategy,
  UserInfo,
} from "@kcp-ts/apiserver";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { podSessionKinds } from "@kcp-ts/machinery/shape";
import { statusError } from "@kcp-ts/machinery/status";
import {
  isPodSubresource,
  muxProtocol,
  type PodConnections,
  type PodSubresource,
  serviceAccounts,
  spliceStreams,
  syncTargets,
  type Tunnels,
} from "@kcp-ts/multicluster";
import { type Client, type KubernetesObject, onAbort } from "@kcp-ts/sdk";
import { serverHandshake } from "@kcp-ts/sdk/websocket";
import { virtualWorkspaceOf } from "@kcp-ts/tenancy";
import { ephemeralContainers } from "./ephemeral-containers.ts";
import { maySync } from "./sync-target-verbs.ts";

export interface PodEndpointsOptions {
  readonly connections: PodConnections;
  readonly tunnels: Tunnels;
  readonly authorizer: Authorizer;
  /** A client that may do everything. */
  readonly client: () => Client;
}

const unchanged = { prepareForUpdate: () => {}, validateUpdate: () => [] } as const;

export function podEndpoints(options: PodEndpointsOptions): AdditionalSubresource {
  const ofPods = new Map<string, SubresourceStrategy>();
  const tunnel: SubresourceStrategy = {
    ...unchanged,
    verbs: ["get"],
    connect: (call) => acceptTunnel(call, options),
  };
  const ephemeral: SubresourceStrategy = {
    ...unchanged,
    verbs: ["get", "patch"],
    connect: (call) => ephemeralContainers(call, options.connections),
  };
  return ({ group, resource }, { subresource, service }) => {
    if (group === syncTargets.group && resource === syncTargets.resource)
      return subresource === "tunnel" ? tunnel : undefined;
    // Virtual workspaces have their own authorization, and none for this.
    if (group !== "" || resource !== "pods" || service !== undefined) return undefined;
    if (subresource === "ephemeralcontainers") return ephemeral;
    if (!isPodSubresource(subresource)) return undefined;
    const known = ofPods.get(subresource);
    if (known !== undefined) return known;
    const made = podEndpoint(subresource, options);
    ofPods.set(subresource, made);
    return made;
  };
}

/**
 * Sessions pass the admission of the logical cluster with their options; logs are read, and reads
 * are not admitted.
 */
function podEndpoint(
  subresource: PodSubresource,
  options: PodEndpointsOptions,
): SubresourceStrategy {
  const connect = (call: ConnectRequest) => connectPod(call, subresource, options);
  if (subresource === "log") return { ...unchanged, verbs: ["get"], connect };
  const admissionTarget = { operation: "CONNECT", kind: podSessionKinds[subresource] } as const;
  return { ...unchanged, verbs: ["create", "get"], admissionTarget, connect };
}

async function connectPod(
  call: ConnectRequest,
  subresource: PodSubresource,
  { connections, authorizer }: PodEndpointsOptions,
): Promise<ApiResponse> {
  const { verb, object, query, headers, signal } = call;
  // As in Kubernetes from 1.35 on: a WebSocket starts with a GET, and a user with only read
  // permission must not run commands.
  if (subresource !== "log" && verb === "get") await demand("create", call, authorizer);
  const answer = await connections.open({
    cluster: call.scope.cluster as ClusterName,
    pod: object as unknown as KubernetesObject,
    subresource,
    method: verb === "create" ? "POST" : "GET",
    query,
    headers,
    signal,
  });
  const { status, headers: answered, done } = answer;
  if (!("connection" in answer)) {
    onAbort(signal, done);
    return { status, headers: answered, body: counted(answer.body, done), isWatch: true };
  }
  const { connection } = answer;
  connection.once("close", done);
  onAbort(signal, () => connection.destroy());
  const onUpgrade: ApiResponse["onUpgrade"] = (client) => spliceStreams(client, connection);
  return { status, headers: answered, body: undefined, onUpgrade };
}

async function* counted(
  body: AsyncIterable<Uint8Array>,
  done: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    done();
  }
}

async function demand(verb: string, call: ConnectRequest, authorizer: Authorizer): Promise<void> {
  const { group, resource, subresource, name } = call.scope;
  const { allowed, reason } = await authorizer.authorize(attributesOf(verb, call));
  if (allowed) return;
  const why = `cannot ${verb} ${resource}/${subresource}${reason === "" ? "" : `: ${reason}`}`;
  throw statusError.forbidden({ group, resource }, name, `User "${call.user.username}" ${why}`);
}

function attributesOf(verb: string, { scope, user }: ConnectRequest): Attributes {
  const { group, version, resource, subresource, namespace, name, path } = scope;
  const cluster = scope.cluster as ClusterName;
  const isResourceRequest = true;
  return {
    user,
    verb,
    cluster,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
    path,
    isResourceRequest,
  };
}

/** Every user with permission to sync to the cluster may be its agent. */
async function acceptTunnel(
  call: ConnectRequest,
  options: PodEndpointsOptions,
): Promise<ApiResponse> {
  const { scope, user, object, headers } = call;
  const { name, uid } = (object as unknown as KubernetesObject).metadata;
  const target = { cluster: scope.cluster as ClusterName, name, uid: uid ?? "" };
  const service = virtualWorkspaceOf(scope);
  const isOwnView =
    service === undefined || (service.name === "syncer" && service.uid === target.uid);
  if (!isOwnView || !(await isItsAgent(user, target, options)))
    throw statusError.forbidden(
      syncTargets,
      name,
      "only users that can sync to the cluster may open its tunnel",
    );
  const handshake = serverHandshake(headers, [muxProtocol]);
  if (handshake === undefined)
    throw statusError.badRequest(`the tunnel is a WebSocket that speaks ${muxProtocol}`);
  const isWelcome = () => isItsAgent(user, target, options);
  return {
    status: 101,
    headers: handshake.headers,
    body: undefined,
    onUpgrade: (connection) => options.tunnels.accept(target, connection, isWelcome),
  };
}

interface Target {
  readonly cluster: ClusterName;
  readonly name: string;
  readonly uid: string;
}

/** Checked again at intervals: roles are revoked, accounts and SyncTargets deleted. */
async function isItsAgent(
  user: UserInfo,
  { cluster, name, uid }: Target,
  { authorizer, client }: PodEndpointsOptions,
): Promise<boolean> {
  if (!(await maySync(authorizer, user, { cluster, name }))) return false;
  const home = client().inCluster(cluster);
  const target = await home.resource(syncTargets).find({ name });
  if (target?.metadata.uid !== uid) return false;
  const [, namespace, account] =
    /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user.username) ?? [];
  if (namespace === undefined || account === undefined) return true;
  const found = await home.resource(serviceAccounts).find({ namespace, name: account });
  return found !== undefined && (user.uid === undefined || found.metadata.uid === user.uid);
}
