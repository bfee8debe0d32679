/**
 * The directory of a server with workspaces: resolves paths through the workspace tree, forwards
 * requests to mounts, and rejects requests to closed workspaces.
 */
import type {
  ClusterDirectory,
  CountedKind,
  UnresolvedTarget,
  UnresolvedTargetRequest,
} from "@kcp-ts/apiserver";
import { type Authorizer, forbidden, hasOwnIdentityIn } from "@kcp-ts/apiserver/authorization";
import { jsonResponse } from "@kcp-ts/apiserver/content";
import type { ApiRequest, MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { Attributes } from "@kcp-ts/apiserver/request/attributes";
import type { RequestScope } from "@kcp-ts/apiserver/request/request-scope";
import { mayEnterAll } from "@kcp-ts/apiserver/request/user";
import {
  parseRequestTarget,
  type SplitService,
  stripClusterPrefix,
} from "@kcp-ts/apiserver/routing";
import type { ResourceKey } from "@kcp-ts/apiserver/storage";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { accessDenied } from "./access/index.ts";
import type { ApiSharing } from "./api-sharing/index.ts";
import type { RequestForwarder } from "./mounts/index.ts";
import type { PathResolution } from "./shards/index.ts";
import { type MoveRequestsOptions, moveTargetOf } from "./shards/index.ts";
import { homeName, logicalClusters, type Tenancy, workspaces } from "./workspaces/index.ts";

export interface WorkspaceDirectoryOptions {
  readonly tenancy: Tenancy;
  readonly sharing: ApiSharing;
  readonly authorizer: Authorizer;
  /** Forwards requests to mounts on other servers. */
  readonly forwarder: Pick<RequestForwarder, "forward">;
  readonly split: SplitService;
  /** Where requests for clusters of other shards are sent on. */
  readonly forward?: ClusterDirectory["forward"];
  /** Serves requests about moves between shards; absent where this server is the only one. */
  readonly moves?: MoveRequestsOptions | undefined;
}

/** The maximum of consecutive mounts that refer to workspaces of this server. */
const mountsInARowMax = 4;

interface Way {
  readonly method: string;
  /** The request target for the next hop. */
  readonly target: string;
  readonly mountsLeft: number;
}

type Elsewhere = Exclude<PathResolution, { kind: "cluster" }>;

export class WorkspaceDirectory implements ClusterDirectory {
  readonly #options: WorkspaceDirectoryOptions;
  readonly #home: UnresolvedTarget;
  readonly forward: ClusterDirectory["forward"];

  constructor(options: WorkspaceDirectoryOptions) {
    this.#options = options;
    this.#home = homeTarget(options);
    this.forward = options.forward;
  }

  get catalog(): ClusterDirectory["catalog"] {
    return this.#options.sharing.catalog;
  }

  resolve(
    scope: RequestScope,
    { method, target }: Pick<ApiRequest, "method" | "target">,
  ): MaybePromise<RequestScope | UnresolvedTarget> {
    return this.#follow(scope, { method, target, mountsLeft: mountsInARowMax });
  }

  #follow(scope: RequestScope, way: Way): MaybePromise<RequestScope | UnresolvedTarget> {
    if (scope.clusterPath === undefined) return scope;
    const resolution = this.#options.tenancy.resolve(scope.clusterPath);
    if (!(resolution instanceof Promise)) return this.#resolved(scope, resolution, way);
    return resolution.then((found) => this.#resolved(scope, found, way));
  }

  #resolved(
    scope: RequestScope,
    resolution: PathResolution,
    { method, target, mountsLeft }: Way,
  ): MaybePromise<RequestScope | UnresolvedTarget> {
    const { tenancy, split } = this.#options;
    if (resolution.kind === "cluster") return { ...scope, cluster: resolution.cluster };
    if (resolution.kind !== "mount") return nowhere(resolution);
    const own = tenancy.localTarget(resolution.url);
    if (own === undefined) return mountTarget(this.#options, resolution);
    // The mount is another workspace of this server: the request is served there, for the same
    // user.
    if (mountsLeft === 0) return nowhere({ kind: "unavailable" });
    const next = own + stripClusterPrefix(target);
    const there = parseRequestTarget({ method, target: next, clusterHeader: undefined }, split);
    return this.#follow(there, { method, target: next, mountsLeft: mountsLeft - 1 });
  }

  enter(cluster: ClusterName, attributes: Attributes): MaybePromise<void> {
    const isInactive = this.#options.tenancy.isInactive(cluster);
    if (isInactive instanceof Promise)
      return isInactive.then((is) => (is ? refuseInactive(attributes) : undefined));
    return isInactive ? refuseInactive(attributes) : undefined;
  }

  unresolvedTargetOf(scope: RequestScope): UnresolvedTarget | undefined {
    const { moves } = this.#options;
    const move = moves && moveTargetOf(scope, moves);
    if (move !== undefined) return move;
    return scope.kind === "resource" && scope.name === homeName && this.#isHome(scope)
      ? this.#home
      : undefined;
  }

  mayHave(cluster: ClusterName, collection: ResourceKey): boolean {
    return this.#options.tenancy.mayContain(cluster, collection);
  }

  ownerOf(cluster: ClusterName, group: string, resource: string): ClusterName {
    const { bindings } = this.#options.sharing.dependencies;
    if (bindings.isEmpty) return cluster;
    const served = bindings.inCluster(cluster)?.find(group, resource);
    return served?.binding.exportCluster ?? cluster;
  }

  objectLimitOf(cluster: ClusterName): Promise<number | undefined> {
    return this.#options.tenancy.objectLimitOf(cluster);
  }

  isBootstrapping(cluster: ClusterName): Promise<boolean> {
    return this.#options.tenancy.isBootstrapping(cluster);
  }

  /** As in kcp: the initial objects of every workspace are not counted. */
  isUncounted({ group, resource }: CountedKind, name?: string): boolean {
    if (resource === logicalClusters.resource) return group === logicalClusters.group;
    const isRoleBinding =
      resource === "clusterrolebindings" && group === "rbac.authorization.k8s.io";
    return isRoleBinding && name === "workspace-admin";
  }

  /** `~` is the home workspace of the requesting user: users that may create a home may see it. */
  #isHome(scope: RequestScope & { readonly kind: "resource" }): boolean {
    return (
      this.#options.tenancy.hasHomeWorkspaces &&
      scope.verb === "get" &&
      scope.cluster === rootCluster &&
      scope.resource === workspaces.resource &&
      scope.group === workspaces.group
    );
  }
}

function refuseInactive({ path, cluster }: Attributes): void {
  const isServed =
    path.startsWith("/openapi") || path.startsWith("/apis/core.kcp.io/v1alpha1/logicalclusters");
  if (!isServed)
    throw statusError.forbidden(logicalClusters, cluster, "logical cluster is marked inactive");
}

/** Only users with access to all workspaces learn whether a workspace exists. */
function nowhere({ kind }: Exclude<Elsewhere, { kind: "mount" }>): UnresolvedTarget {
  const refusal = ({ scope, user, attributes }: UnresolvedTargetRequest): Error => {
    if (!mayEnterAll(user)) return forbidden(attributes, accessDenied);
    return kind === "missing"
      ? statusError.notFound(workspaces, scope.clusterPath?.text ?? "")
      : statusError.unavailable("Not available.");
  };
  return {
    kind: "unresolved",
    async authorize(request) {
      throw refusal(request);
    },
    serve(request) {
      throw refusal(request);
    },
  };
}

/**
 * A user with access to the workspace of the mount may send requests to it; the mounted server
 * authorizes them.
 */
function mountTarget(
  { tenancy, authorizer, forwarder }: WorkspaceDirectoryOptions,
  { url, parent }: Extract<Elsewhere, { kind: "mount" }>,
): UnresolvedTarget {
  return {
    kind: "unresolved",
    async authorize({ user, attributes, note }) {
      if (await tenancy.isInactive(parent)) throw forbidden(attributes, accessDenied);
      const decision = await authorizer.authorize({
        user,
        verb: "get",
        cluster: parent,
        path: "/api",
        isResourceRequest: false,
        group: "",
        version: "",
        resource: "",
        subresource: "",
        namespace: "",
        name: "",
      });
      note(decision);
      if (!decision.allowed) throw forbidden(attributes, accessDenied);
    },
    serve: ({ request, scope, user, signal }) =>
      forwarder.forward({
        request,
        user,
        signal,
        url,
        cluster: parent,
        isWatch: scope.verb === "watch",
        path: stripClusterPrefix(request.target),
      }),
  };
}

/** Clients match this message. */
const homeRefused = "workspace access not permitted";

function homeTarget({ tenancy, authorizer }: WorkspaceDirectoryOptions): UnresolvedTarget {
  return {
    kind: "unresolved",
    async authorize({ user, attributes, note }) {
      const asked = { ...attributes, verb: "create" };
      // A home workspace is found by its user's name, and users that are scoped to another cluster
      // may have any name.
      if (!hasOwnIdentityIn(user, rootCluster)) throw forbidden(asked, homeRefused);
      const decision = await authorizer.authorize(asked);
      note(decision);
      if (!decision.allowed) throw forbidden(asked, homeRefused);
    },
    serve: async ({ user }) => jsonResponse(200, await tenancy.homeWorkspaceOf(user)),
  };
}
