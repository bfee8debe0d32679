/**
 * A physical cluster with an agent, in a process of its own: a simulated one, which lends to the
 * control plane at the given address. Says which Pod there is to look at when it runs, and goes on
 * until it is ended.
 *
 *     node tunnel-cluster.js <url> <token> <bytes of the Pod's log>
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { runAgent } from "@kcp-ts/multicluster";
import {
  type Client,
  connect,
  defineResource,
  type KubernetesObject,
  parseKubeconfig,
} from "@kcp-ts/sdk";
import { startListeningCluster } from "@kcp-ts/simulator";

interface Pod extends KubernetesObject {
  readonly status?: { readonly phase?: string };
}

const kind = <Object extends KubernetesObject>(
  group: string,
  version: string,
  resource: string,
  name: string,
) =>
  defineResource<Object>({
    group,
    version,
    resource,
    kind: name,
    namespaced: group !== "workload.kcp.io",
  });
const syncTargets = kind<KubernetesObject>(
  "workload.kcp.io",
  "v1alpha1",
  "synctargets",
  "SyncTarget",
);
const deployments = kind<KubernetesObject>("apps", "v1", "deployments", "Deployment");
const pods = kind<Pod>("", "v1", "pods", "Pod");

const [url = "", token = "", logBytes = "0"] = process.argv.slice(2);
const root = "root" as ClusterName;
const physical = await startListeningCluster({ name: "east", nodes: 1 });
const up = connect(parseKubeconfig(kubeconfig(), { trust: "inline" }));
const down = connect(parseKubeconfig(physical.kubeconfig ?? "", { trust: "inline" }));
const home = up.client.inCluster(root);
const made = { metadata: { name: "east" }, spec: { mode: "Pull" } } as unknown as KubernetesObject;
const { metadata } = await home.resource(syncTargets).create(made);
const target = { cluster: root, name: "east", uid: metadata.uid ?? "" };
const resources = ["deployments.apps", "replicasets.apps", "pods"];
const settings = { importPollMs: 1000, reportMs: 1000, onError: () => {} };
void runAgent(
  { upstream: up.client, downstream: down.client, target, resources, ...settings },
  new AbortController().signal,
);
await until(() => home.resource(deployments).list({ namespace: "default" }));
await home.resource(deployments).create(web());
console.log(JSON.stringify({ pod: await until(() => runningPod(home)) }));

function kubeconfig(): string {
  const cluster = { server: url, "insecure-skip-tls-verify": true };
  return JSON.stringify({
    clusters: [{ name: "kcp", cluster }],
    users: [{ name: "kcp", user: { token } }],
    contexts: [{ name: "kcp", context: { cluster: "kcp", user: "kcp" } }],
    "current-context": "kcp",
  });
}

function web(): KubernetesObject {
  const labels = { app: "web" };
  const annotations = { "sim.kcp.io/log-bytes": logBytes };
  const spec = { containers: [{ name: "web", image: "nginx" }] };
  const template = { metadata: { labels, annotations }, spec };
  return {
    metadata: { name: "web", namespace: "default" },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  } as unknown as KubernetesObject;
}

async function runningPod(client: Client): Promise<string> {
  const { items } = await client.resource(pods).list({ labelSelector: "app=web" });
  const found = items.find(({ status }) => status?.phase === "Running");
  if (found === undefined) throw new Error("no Pod runs yet");
  return found.metadata.name;
}

async function until<Value>(check: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await check();
    } catch {
      await sleep(systemClock, 100);
    }
  }
}
