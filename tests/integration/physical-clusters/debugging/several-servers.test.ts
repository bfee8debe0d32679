/**
 * Goal: where several servers share a store, each leads to the Pods of every cluster, whichever
 * server is connected to it; the credential between servers permits nothing else.
 *
 * Method: real etcd, two complete control planes, a simulated cluster.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { type ControlPlane, controlPlaneDefaults, startControlPlane } from "@kcp-ts/controlplane";
import {
  muxProtocol,
  renewalOf,
  syncerLeaseName,
  syncerLeaseNamespace,
  syncTargets,
} from "@kcp-ts/multicluster";
import { peerLabel, systemNamespace } from "@kcp-ts/multicluster-server/internal";
import {
  type Client,
  connect,
  type DynamicObject,
  defineResource,
  findCondition,
  isUpgraded,
  parseKubeconfig,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { clientHandshake } from "@kcp-ts/sdk/websocket";
import { startAgent } from "@kcp-ts/testing/internal";
import { type EtcdCluster, etcdMissing, freePorts, startEtcd } from "@kcp-ts/testkit";
import { deployments, eventually, fastProbes, startPhysicalCluster } from "../fixture.ts";
import { exec, log, podPath, pods, registerReady, runningPods, webDeployment } from "./fixture.ts";

const silent = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isDebugEnabled: false,
};

interface Server {
  readonly plane: ControlPlane;
  /** Over the network, as its administrator. */
  readonly user: Client;
  readonly url: string;
  readonly caPem: string;
}

const secrets = defineResource<DynamicObject>(kinds.secrets);

describe("servers on one store", { skip: etcdMissing() ?? false }, () => {
  let etcd: EtcdCluster;
  let directory: string;
  before(async () => {
    etcd = await startEtcd({ members: 1 });
    directory = await mkdtemp(join(tmpdir(), "kcp-several-"));
  });
  after(async () => {
    await etcd?.dispose();
    await rm(directory, { recursive: true, force: true });
  });

  async function started(t: TestContext, prefix: string, arePeers = true): Promise<Server[]> {
    const servers: Server[] = [];
    for (const [index, port] of (await freePorts(2)).entries()) {
      const rootDirectory = join(directory, `${prefix.slice(1)}-${index}`);
      const url = `https://127.0.0.1:${port}`;
      const plane = await startControlPlane(
        {
          ...controlPlaneDefaults,
          rootDirectory,
          bindAddress: "127.0.0.1",
          securePort: port,
          ...(arePeers ? { peerUrl: url } : {}),
          shutdownTimeoutMs: 1000,
          physicalClusters: { ...fastProbes, gracePeriods: { recoveryMs: 0 } },
          storage: { kind: "etcd", servers: etcd.endpoints, prefix },
        },
        { log: silent },
      );
      t.after(() => plane.stop());
      const text = await readFile(plane.kubeconfigPath, "utf8");
      const connection = connect(parseKubeconfig(text, { trust: "inline" }), { context: "root" });
      t.after(() => connection.close());
      const caPem = await readFile(join(rootDirectory, "ca.crt"), "utf8");
      servers.push({ plane, user: connection.client, url, caPem });
    }
    return servers;
  }

  /** An agent that has dialled this one of them. */
  async function dialling(t: TestContext, { plane, url, caPem }: Server, kubeconfig: string) {
    const dialled = {
      clientFor: (cluster: string) => plane.client.inCluster(cluster),
      listen: async () => ({ url, caPem }),
    };
    const agent = await startAgent(dialled, kubeconfig, { cluster: "root", name: "east" });
    t.after(() => agent.stop());
    return agent;
  }

  async function podOf(server: Server | undefined): Promise<string> {
    assert.ok(server !== undefined);
    const { client } = server.plane;
    await eventually(() => client.resource(pods).list({ namespace: "default" }));
    await eventually(() => client.resource(deployments).list({ namespace: "default" }));
    await client.resource(deployments).create(webDeployment("web", 1));
    const [pod] = await runningPods(client, "web", 1);
    return podPath(pod?.metadata.name ?? "");
  }

  async function leadsThere(servers: readonly Server[], path: string): Promise<void> {
    for (const { user } of servers) {
      await eventually(async () => {
        const { status, text } = await log(user, path);
        assert.equal(status, 200, text);
        assert.match(text, /simulated container web/);
      });
      const { status, text } = await exec(user, path);
      assert.equal(status, 101, text);
      assert.match(text, /^web--/);
      // What is refused is refused in the words of the cluster.
      const none = await log(user, path, "?container=none");
      assert.equal(none.status, 400, none.text);
    }
  }

  it("each lead to the Pods of a cluster that one of them is connected to", async (t) => {
    const servers = await started(t, "/push");
    const east = await startPhysicalCluster(t, { name: "east" });
    const [first] = servers;
    assert.ok(first !== undefined);
    await registerReady(first.plane.client, "east", east.kubeconfig);
    await leadsThere(servers, await podOf(first));
  });

  it("each lead to the Pods of a cluster whose agent has dialled one of them", async (t) => {
    const servers = await started(t, "/pull");
    const east = await startPhysicalCluster(t, { name: "east" });
    const [, second] = servers;
    assert.ok(second !== undefined);
    const agent = await dialling(t, second, east.kubeconfig);
    const path = await podOf(second);
    await leadsThere(servers, path);
    // No server has a connection any more: the message names the servers that were asked.
    await agent.stop();
    await eventually(async () => {
      for (const [index, { user }] of servers.entries()) {
        const { status, text } = await log(user, path);
        assert.equal(status, 503, text);
        const other = servers[1 - index]?.url ?? "";
        assert.ok(text.includes(`${other} has no way either`), text);
      }
    });
  });

  it("say which of them has an agent's tunnel, if others can tell whether that one is there", async (t) => {
    const tunnelsOf = async (prefix: string, arePeers: boolean) => {
      const [first, second] = await started(t, prefix, arePeers);
      assert.ok(first !== undefined && second !== undefined);
      const east = await startPhysicalCluster(t, { name: "east" });
      await dialling(t, second, east.kubeconfig);
      const said = await eventually(async () => {
        const { status } = await first.plane.client.resource(syncTargets).get({ name: "east" });
        assert.ok(status?.tunnel !== undefined);
        // It promises no more than who has a tunnel, and is not held for silent.
        const at = { namespace: syncerLeaseNamespace, name: syncerLeaseName("east") };
        const lease = await first.plane.client.resource(kinds.leases).get(at);
        assert.equal(renewalOf(lease)?.intervalMs, 20_000);
        assert.equal(findCondition(status.conditions, "Ready")?.status, "True");
        return status.tunnel;
      });
      const { cluster, namespace } = systemNamespace;
      const system = first.plane.client.inCluster(cluster).resource(secrets);
      const { items } = await system.list({ namespace, labelSelector: `${peerLabel}=true` });
      const identities = new Map(
        items.map((one) => {
          const data = one["data"] as Record<string, string>;
          const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
          return [text("url"), text("identity")] as const;
        }),
      );
      return { server: said.server, identity: identities.get(second.url), identities };
    };
    const known = await tunnelsOf("/known", true);
    assert.equal(new Set(known.identities.values()).size, 2);
    assert.ok(known.server !== undefined && known.server === known.identity);
    // A server without an address is not named in the status: no other takes it for ended.
    assert.equal((await tunnelsOf("/unknown", false)).server, undefined);
  });

  it("say so when they do not know of each other", async (t) => {
    const servers = await started(t, "/alone", false);
    const east = await startPhysicalCluster(t, { name: "east" });
    const [first] = servers;
    assert.ok(first !== undefined);
    await registerReady(first.plane.client, "east", east.kubeconfig);
    const path = await podOf(first);
    await eventually(async () => {
      const answers = await Promise.all(servers.map(({ user }) => log(user, path)));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 503]);
      const refused = answers.find(({ status }) => status === 503)?.text ?? "";
      assert.match(refused, /--peer-url/);
    });
  });

  it("give each other what opens sessions with Pods, and nothing else", async (t) => {
    const [first, second] = await started(t, "/keys");
    assert.ok(first !== undefined && second !== undefined);
    const { cluster, namespace } = systemNamespace;
    const system = first.plane.client.inCluster(cluster).resource(secrets);
    const labelSelector = `${peerLabel}=true`;
    const records = await eventually(async () => {
      const { items } = await system.list({ namespace, labelSelector });
      assert.equal(items.length, 2);
      return items;
    });
    const text = (record: DynamicObject, key: string) =>
      Buffer.from((record["data"] as Record<string, string>)[key] ?? "", "base64").toString();
    const of = (url: string) => records.find((one) => text(one, "url") === url) as DynamicObject;
    const clientWith = (server: Server, token: string) => {
      const authority = Buffer.from(server.caPem).toString("base64");
      const kubeconfig = {
        apiVersion: "v1",
        kind: "Config",
        clusters: [
          { name: "kcp", cluster: { server: server.url, "certificate-authority-data": authority } },
        ],
        users: [{ name: "peer", user: { token } }],
        contexts: [{ name: "kcp", context: { cluster: "kcp", user: "peer" } }],
        "current-context": "kcp",
      };
      const text = JSON.stringify(kubeconfig);
      const connection = connect(parseKubeconfig(text, { trust: "inline" }), { env: {} });
      t.after(() => connection.close());
      return connection.client;
    };
    const sessions = (name: string) =>
      `/clusters/${cluster}/api/v1/namespaces/${namespace}/secrets/${name}/sessions?cluster=root&name=east&uid=x`;
    const statusAt = async (client: Client, path: string) => {
      const { headers } = clientHandshake([muxProtocol]);
      const response = await client.upgrade({ method: "GET", path, headers, retriesMax: 0 });
      if (isUpgraded(response)) response.connection.destroy();
      return response.status;
    };
    const own = of(first.url);
    const token = text(own, "token");
    const peer = clientWith(first, token);
    // There is no such cluster, which is all that it learns.
    assert.equal(await statusAt(peer, sessions(own.metadata.name)), 404);
    const refused = [
      sessions(of(second.url).metadata.name),
      `/clusters/${cluster}/api/v1/namespaces/${namespace}/secrets`,
      `/clusters/${cluster}/api/v1/namespaces/${namespace}/secrets/${own.metadata.name}`,
      "/clusters/root/api/v1/namespaces/default/secrets",
      "/clusters/root/apis/workload.kcp.io/v1alpha1/synctargets",
      "/clusters/*/api/v1/secrets",
    ];
    for (const path of refused) assert.equal(await statusAt(peer, path), 403, path);
    // It is this server's, and not the other's.
    assert.equal(await statusAt(clientWith(second, token), sessions(own.metadata.name)), 401);
    // Administrators are no servers.
    const path = sessions(own.metadata.name);
    assert.equal(await statusAt(first.user.withBasePath(""), path), 403);
    // Who stops takes it back.
    await second.plane.stop();
    const { items } = await system.list({ namespace, labelSelector });
    assert.deepEqual(
      items.map((one) => text(one, "url")),
      [first.url],
    );
  });
});
