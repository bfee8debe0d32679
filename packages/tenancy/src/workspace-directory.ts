/**
 * The directory of a server with workspaces: paths lead through their tree, some are served
 * elsewhere, and some are closed for a while.
 */

import type { ClusterDirectory, CountedKind, Detour, DetourRequest } from "@kcp-ts/apiserver";
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
import {
  homeName,
  logicalClusters,
  type PathResolution,
  type Tenancy,
  workspaces,
} from "./workspaces/index.ts";

export interface WorkspaceDirectoryOptions {
  readonly tenancy: Tenancy;
  readonly sharing: ApiSharing;
  readonly authorizer: Authorizer;
  /** For workspaces that are served elsewhere. */
  readonly forwarder: Pick<RequestForwarder, "forward">;
  readonly split: SplitService;
}

/** Mounts of workspaces of this server that lead to one another. */
const mountsInARowMax = 4;

interface Way {
  readonly method: string;
  /** The request line as it leads on from here. */
  readonly target: string;
  readonly mountsLeft: number;
}

type Elsewhere = Exclude<PathResolution, { kind: "cluster" }>;

export class WorkspaceDirectory implements ClusterDirectory {
  readonly #options: WorkspaceDirectoryOptions;
  readonly #home: Detour;

  constructor(options: WorkspaceDirectoryOptions) {
    this.#options = options;
    this.#home = homeDetour(options);
  }

  get catalog(): ClusterDirectory["catalog"] {
    return this.#options.sharing.catalog;
  }

  resolve(
    scope: RequestScope,
    { method, target }: Pick<ApiRequest, "method" | "target">,
  ): MaybePromise<RequestScope | Detour> {
    return this.#follow(scope, { method, target, mountsLeft: mountsInARowMax });
  }

  #follow(scope: RequestScope, way: Way): MaybePromise<RequestScope | Detour> {
    if (scope.clusterPath === undefined) return scope;
    const resolution = this.#options.tenancy.resolve(scope.clusterPath);
    if (!(resolution instanceof Promise)) return this.#resolved(scope, resolution, way);
    return resolution.then((found) => this.#resolved(scope, found, way));
  }

  #resolved(
    scope: RequestScope,
    resolution: PathResolution,
    { method, target, mountsLeft }: Way,
  ): MaybePromise<RequestScope | Detour> {
    const { tenancy, split } = this.#options;
    if (resolution.kind === "cluster") return { ...scope, cluster: resolution.cluster };
    if (resolution.kind !== "mount") return nowhere(resolution);
    const own = tenancy.ownTarget(resolution.url);
    if (own === undefined) return mountDetour(this.#options, resolution);
    // What is mounted is another workspace of ours: the request is made there, by who makes it.
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

  detourOf(scope: RequestScope): Detour | undefined {
    return scope.kind === "resource" && scope.name === homeName && this.#isHome(scope)
      ? this.#home
      : undefined;
  }

  mayHave(cluster: ClusterName, collection: ResourceKey): boolean {
    return this.#options.tenancy.mayHave(cluster, collection);
  }

  ownerOf(cluster: ClusterName, group: string, resource: string): ClusterName {
    return this.#options.sharing.ownerOf(cluster, group, resource);
  }

  objectLimitOf(cluster: ClusterName): MaybePromise<number | undefined> {
    return this.#options.tenancy.objectLimitOf(cluster);
  }

  isBootstrapping(cluster: ClusterName): MaybePromise<boolean> {
    return this.#options.tenancy.isBootstrapping(cluster);
  }

  /** As in kcp: what every workspace begins with. */
  isUncounted({ group, resource }: CountedKind, name?: string): boolean {
    if (resource === logicalClusters.resource) return group === logicalClusters.group;
    const isRoleBinding =
      resource === "clusterrolebindings" && group === "rbac.authorization.k8s.io";
    return isRoleBinding && name === "workspace-admin";
  }

  /** `~` is the home of whoever asks: those who may have one made may see it. */
  #isHome(scope: RequestScope & { readonly kind: "resource" }): boolean {
    return (
      this.#options.tenancy.hasHomes &&
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

/**
 * Whether a workspace exists is nobody's business but that of those who may enter every one of
 * them.
 */
function nowhere({ kind }: Exclude<Elsewhere, { kind: "mount" }>): Detour {
  const refusal = ({ scope, user, attributes }: DetourRequest): Error => {
    if (!mayEnterAll(user)) return forbidden(attributes, accessDenied);
    return kind === "missing"
      ? statusError.notFound(workspaces, scope.clusterPath?.text ?? "")
      : statusError.unavailable("Not available.");
  };
  return {
    kind: "detour",
    async authorize(request) {
      throw refusal(request);
    },
    serve(request) {
      throw refusal(request);
    },
  };
}

/**
 * Who may enter the workspace that something is mounted in may ask there; what they may do is for
 * that one to say.
 */
function mountDetour(
  { tenancy, authorizer, forwarder }: WorkspaceDirectoryOptions,
  { url, parent }: Extract<Elsewhere, { kind: "mount" }>,
): Detour {
  return {
    kind: "detour",
    async authorize({ user, attributes, note }) {
      if (await tenancy.isInactive(parent)) throw forbidden(attributes, accessDenied);
      const decision = await authorizer.authorize({
        ...{ user, verb: "get", cluster: parent, path: "/api", isResourceRequest: false },
        ...{ group: "", version: "", resource: "", subresource: "", namespace: "", name: "" },
      });
      note(decision);
      if (!decision.allowed) throw forbidden(attributes, accessDenied);
    },
    serve: ({ request, scope, user, signal }) =>
      forwarder.forward({
        ...{ request, user, signal, url, cluster: parent },
        isWatch: scope.verb === "watch",
        path: stripClusterPrefix(request.target),
      }),
  };
}

/** Clients look for these words. */
const homeRefused = "workspace access not permitted";

function homeDetour({ tenancy, authorizer }: WorkspaceDirectoryOptions): Detour {
  return {
    kind: "detour",
    async authorize({ user, attributes, note }) {
      const asked = { ...attributes, verb: "create" };
      // A home is found by its user's name, and elsewhere's users may have any name.
      if (!hasOwnIdentityIn(user, rootCluster)) throw forbidden(asked, homeRefused);
      const decision = await authorizer.authorize(asked);
      note(decision);
      if (!decision.allowed) throw forbidden(asked, homeRefused);
    },
    serve: async ({ user }) => jsonResponse(200, await tenancy.home(user)),
  };
}
