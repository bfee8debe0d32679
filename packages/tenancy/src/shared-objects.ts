/** Composes what this shard has and asks of the others, for the wiring of the extension. */
import type { ServerHost } from "@kcp-ts/apiserver";
import { type Authorizer, RbacAuthorizer } from "@kcp-ts/apiserver/authorization";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { apiExports, apiResourceSchemas, copiesPrefix } from "./api-sharing/index.ts";
import {
  type OtherShards,
  RemoteAccess,
  Replicas,
  type ReplicasOptions,
  SharedPolicies,
} from "./replicas/index.ts";
import {
  shards,
  workspaceAuthenticationConfigurations,
  workspaceTypes,
} from "./workspaces/index.ts";

export interface SharedObjectsOptions {
  readonly others: OtherShards;
  readonly isNeeded: ReplicasOptions["isNeeded"];
  /** Whether a policy of the provider limits something on this shard. */
  readonly isPolicyNeeded: (provider: ClusterName) => boolean;
  readonly onError: (error: unknown) => void;
}

export class SharedObjects {
  readonly replicas: Replicas;
  readonly access: RemoteAccess;
  readonly #policies: SharedPolicies;
  readonly #policyAuthorizer: Authorizer;
  readonly #others: OtherShards;

  constructor(host: ServerHost, options: SharedObjectsOptions) {
    const { others, isPolicyNeeded, onError } = options;
    this.#others = others;
    this.replicas = new Replicas({
      ...host,
      ...options,
      definitions: [
        apiExports,
        apiResourceSchemas,
        shards,
        workspaceAuthenticationConfigurations,
        workspaceTypes,
      ],
      schemas: apiResourceSchemas,
      schemaCopies: copiesPrefix,
      // Their names are known to the program, and root's exports identify built-in kinds.
      complete: [
        { definition: shards, cluster: rootCluster },
        { definition: apiExports, cluster: rootCluster },
      ],
    });
    this.access = new RemoteAccess(this.replicas, host.clock);
    this.#policies = new SharedPolicies({
      ...host,
      replicas: this.replicas,
      isNeeded: isPolicyNeeded,
      onError,
    });
    this.#policyAuthorizer = new RbacAuthorizer(this.#policies);
  }

  /** The indexes of bindings and exports must be complete: they say which policies are needed. */
  startPolicies(): Promise<void> {
    return this.#policies.start();
  }

  followPolicy(provider: ClusterName): void {
    this.#policies.follow(provider);
  }

  async stop(): Promise<void> {
    await this.replicas.stop();
    await this.#policies.stop();
  }

  /** The roles of a provider on another shard; undefined for one of this shard. */
  policiesOf(provider: ClusterName): Authorizer | undefined {
    return this.#others.shardOf(provider) === undefined ? undefined : this.#policyAuthorizer;
  }
}
