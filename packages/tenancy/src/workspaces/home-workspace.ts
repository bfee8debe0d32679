/**
 * Home workspaces: every user has one, created on the first request for `~` in root, and found by a
 * hash of the user's name. A home is a logical cluster without a Workspace object: the Workspace in
 * the response is computed from its LogicalCluster.
 */
import { apiVersionOf } from "@kcp-ts/apiserver/registry";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isUserWord } from "@kcp-ts/machinery/names";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import { remainingInitializers } from "./bindings-initializer.ts";
import { homeClusterName } from "./cluster-names.ts";
import { createLogicalCluster } from "./create-logical-cluster.ts";
import { logicalClusterKey, type TenancyDependencies, uncancelled } from "./dependencies.ts";
import { workspaces } from "./kinds/definitions.ts";
import { annotation, member } from "./records.ts";
import { shardName } from "./shard.ts";
import { resolveOrForbid } from "./workspace-admission.ts";
import { defaultBindingsOf, initializersOf, terminatorsOf, typePathOf } from "./workspace-types.ts";

export const homeName = "~";

export interface HomeWorkspaceOptions extends TenancyDependencies {
  readonly externalUrl: () => string;
  readonly ownInitializers: ReadonlySet<string>;
}

/** Upstream's timeout for the controllers that initialize a home. */
const creationMsMax = 60_000;

/** The user's home as a Workspace, created if it does not exist; a 429 while it is initializing. */
export async function homeWorkspace(
  options: HomeWorkspaceOptions,
  user: UserInfo,
): Promise<JsonObject> {
  const cluster = homeClusterName(user.username);
  const found = await options.logicalClusterIndex.get(logicalClusterKey(cluster));
  if (found === undefined) await createHome(options, user);
  const key = logicalClusterKey(cluster);
  const entry = await options.watchCache.get(key, { kind: "latest" }, uncancelled);
  if (entry === undefined) throw statusError.notFound(workspaces, homeName);
  const object = decodeObject(entry);
  const status = member(object, "status");
  const { name, creationTimestamp } = member(object, "metadata");
  if (status["phase"] === "Scheduling" || status["phase"] === "Initializing")
    throw notReadyYet(options, String(creationTimestamp));
  const { URL: url, ...rest } = status;
  return {
    kind: workspaces.kind,
    apiVersion: apiVersionOf(workspaces),
    metadata: {
      name: name ?? "",
      creationTimestamp: creationTimestamp ?? null,
      annotations: { "kcp.io/cluster": cluster },
    },
    spec: { cluster, URL: url ?? "" },
    status: rest as JsonObject,
  };
}

async function createHome(options: HomeWorkspaceOptions, user: UserInfo): Promise<void> {
  const { types, ownInitializers } = options;
  const cluster = homeClusterName(user.username);
  const found = await types.find("root", "home");
  if (found === undefined)
    throw statusError.forbidden(
      workspaces,
      homeName,
      'workspace type "root:home" cannot be resolved',
    );
  const type = await resolveOrForbid(types, found, homeName);
  const initializers = initializersOf(type);
  const { username } = user;
  await createLogicalCluster(options, {
    cluster,
    // The first of concurrent requests creates the home, all of them for the same user.
    isNameGenerated: true,
    annotations: {
      [annotation.path]: isUserWord(username) ? `user:${username}` : cluster,
      [annotation.type]: typePathOf(type.type),
      [annotation.shard]: options.otherShards?.ownName ?? shardName,
      [annotation.owner]: JSON.stringify({ username }),
    },
    url: `${options.externalUrl()}/clusters/${cluster}`,
    owner: undefined,
    createdBy: user,
    adminName: username,
    initializers,
    terminators: terminatorsOf(type),
    waiting: await remainingInitializers(options, cluster, type, ownInitializers),
    bindings: defaultBindingsOf(type),
  });
}

function notReadyYet({ clock }: HomeWorkspaceOptions, creationTimestamp: string): StatusError {
  if (clock.now() - Date.parse(creationTimestamp) > creationMsMax)
    return statusError.internal("home workspace creation timeout");
  return new StatusError({
    code: 429,
    reason: "TooManyRequests",
    message: "Creating the home workspace",
    details: { retryAfterSeconds: 1 },
  });
}
