/**
 * For tests: the agent of a physical cluster, as it would run in a Pod there, with a token of its
 * own and over the network; but in this process.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  accountNamespace,
  agentId,
  agentKubeconfig,
  requestToken,
  runAgent,
  serviceAccounts,
  syncTargets,
} from "@kcp-ts/multicluster";
import { type Connection, connect, parseKubeconfig } from "@kcp-ts/sdk";
import { eventually } from "@kcp-ts/testkit";
import type { TestControlPlane } from "./test-control-plane.ts";

export interface AgentTarget {
  readonly cluster: ClusterName;
  readonly name: string;
  readonly uid: string;
}

/** The agent's configuration of a control plane. */
export interface AgentPlane extends Pick<TestControlPlane, "clientFor"> {
  listen(): Promise<{ readonly url: string; readonly caPem: string }>;
}

export interface TestAgent {
  readonly target: AgentTarget;
  /** Called with errors that are retried. */
  readonly errors: readonly unknown[];
  stop(): Promise<void>;
}

const patience = { timeoutMs: 120_000, intervalMs: 50 };

/** The agent's connection to the control plane: its own virtual workspace, with its own token. */
export async function agentConnection(
  plane: AgentPlane,
  target: AgentTarget,
  /** The agent's address of the control plane, if it differs from the actual one. */
  by?: string,
): Promise<Connection> {
  const client = plane.clientFor(target.cluster);
  const account = { namespace: accountNamespace, name: agentId(target) };
  await eventually(() => client.resource(serviceAccounts).get(account), patience);
  const token = await requestToken(client, account, { expirationSeconds: 3600 });
  const { url, caPem } = await plane.listen();
  const text = agentKubeconfig({ url: by ?? url, caPem }, target);
  const inline = text.replace('"tokenFile": "token"', `"token": "${token}"`);
  return connect(parseKubeconfig(inline, { trust: "inline" }));
}

/** Creates the SyncTarget, too. */
export async function startAgent(
  plane: AgentPlane,
  kubeconfig: string,
  at: {
    readonly cluster: string;
    readonly name: string;
    readonly by?: string | undefined;
    /** The synced resources; Deployments and Pods if omitted. */
    readonly resources?: readonly string[] | undefined;
  },
): Promise<TestAgent> {
  const { cluster, name, resources = ["deployments.apps", "replicasets.apps", "pods"] } = at;
  const { metadata } = await plane
    .clientFor(cluster)
    .resource(syncTargets)
    .create({ metadata: { name }, spec: { mode: "Pull" } });
  const target = { cluster: cluster as ClusterName, name, uid: metadata.uid ?? "" };
  const up = await agentConnection(plane, target, at.by);
  const down = connect(parseKubeconfig(kubeconfig, { trust: "inline" }));
  const stopping = new AbortController();
  const errors: unknown[] = [];
  const running = runAgent(
    {
      upstream: up.client,
      downstream: down.client,
      target,
      resources,
      importPollMs: 500,
      reportMs: 500,
      onError: (error) => errors.push(error),
    },
    stopping.signal,
  );
  return {
    target,
    errors,
    async stop() {
      stopping.abort();
      await running;
      await up.close();
      await down.close();
    },
  };
}
