/**
 * The same reconciler over clusters that kubeconfigs, Secrets and ClusterProfiles name.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import {
  type Clusters,
  clusterProfiles,
  controllerFor,
  kubeconfigClusters,
  kubeconfigSecrets,
  type Log,
  parseKubeconfig,
  profiledClusters,
  run,
  silentLog,
} from "@kcp-ts/sdk";
import { configMaps, secrets } from "@kcp-ts/sdk/kinds";
import { eventually } from "@kcp-ts/testkit";
import { startTestControlPlane, type TestControlPlane } from "./test-control-plane.ts";

const at = { name: "home", namespace: "default" };

/** Labels every ConfigMap `home` with the name of its cluster, until the test is over. */
async function withCensus(clusters: Clusters, test: () => Promise<void>, log: Log = silentLog) {
  const selector = { fieldSelector: "metadata.name=home" };
  const census = controllerFor(configMaps, { name: "census", selector }).reconcile(
    async ({ metadata }, { client, key }) => {
      const label = key.cluster.replace("/", ".");
      if (metadata.labels?.["cluster"] === label) return;
      const patch = { metadata: { labels: { cluster: label } } };
      await client.resource(configMaps).patch(key, { type: "merge", patch });
    },
  );
  const stop = new AbortController();
  const running = run({ clusters, controllers: [census], signal: stop.signal, log });
  try {
    await Promise.race([test(), running]);
  } finally {
    stop.abort();
    await running;
  }
}

const labelIn = (k: TestControlPlane, wanted: string) =>
  eventually(async () => {
    const { metadata } = await k.client.resource(configMaps).get(at);
    assert.equal(metadata.labels?.["cluster"], wanted);
  });

async function servers(names: readonly string[]): Promise<TestControlPlane[]> {
  const started = await Promise.all(names.map(() => startTestControlPlane()));
  for (const one of started) await one.client.resource(configMaps).create({ metadata: at });
  return started;
}

const inBase64 = (text: string) => Buffer.from(text).toString("base64");

describe("the clusters of a kubeconfig", () => {
  it("are those of its contexts", async () => {
    const [east, west] = await servers(["east", "west"]);
    assert.ok(east !== undefined && west !== undefined);
    const texts = [await east.kubeconfig(), await west.kubeconfig()];
    const [first, second] = texts.map((text) => parseKubeconfig(text, { trust: "inline" }));
    assert.ok(first !== undefined && second !== undefined);
    const only = <One>(all: ReadonlyMap<string, One>): One => [...all.values()][0] as One;
    const pick = (what: "clusters" | "users") =>
      new Map<string, never>([
        ["east", only(first[what] as ReadonlyMap<string, never>)],
        ["west", only(second[what] as ReadonlyMap<string, never>)],
      ]);
    const context = (name: string) => ({ cluster: name, user: name, namespace: undefined });
    const kubeconfig = {
      currentContext: "east",
      clusters: pick("clusters"),
      users: pick("users"),
      contexts: new Map(["east", "west"].map((name) => [name, context(name)])),
    };
    const clusters = kubeconfigClusters({ kubeconfig });
    await withCensus(clusters, async () => {
      await labelIn(east, "east");
      await labelIn(west, "west");
    });
    await clusters.close();
    for (const k of [east, west]) await k.close();
  });

  it("come from Secrets of a hub, and go with them", async () => {
    const hub = await startTestControlPlane();
    const [east, west] = await servers(["east", "west"]);
    assert.ok(east !== undefined && west !== undefined);
    const labels = { "sigs.k8s.io/multicluster-runtime-kubeconfig": "true" };
    const put = (name: string, text: string) => {
      const metadata = { name, namespace: "default", labels };
      const data = { kubeconfig: inBase64(text) };
      return hub.client.resource(secrets).apply({ metadata, data }, { fieldManager: "test" });
    };
    await put("east", await east.kubeconfig());
    const lines: string[] = [];
    const log = { ...silentLog, warn: (line: string) => void lines.push(line) };
    const clusters = kubeconfigSecrets({ client: hub.client, namespace: "default", log });
    await withCensus(clusters, async () => {
      await labelIn(east, "east");
      // Its kubeconfig asks for a file of this machine first.
      await put("west", "users: [{ name: a, user: { tokenFile: /etc/passwd } }]");
      await eventually(() => assert.match(lines.join(), /cluster west is left out:.*tokenFile/));
      await put("west", await west.kubeconfig());
      await labelIn(west, "west");
      await hub.client.resource(secrets).delete({ name: "east", namespace: "default" });
      await eventually(() =>
        assert.throws(() => clusters.client("east" as never), /east is not a member/),
      );
    });
    for (const k of [hub, east, west]) await k.close();
  });

  it("come from ClusterProfiles, by an access provider or a Secret", async () => {
    const crd = fileURLToPath(
      new URL("../../../examples/clusterprofiles.crd.yaml", import.meta.url),
    );
    const hub = await startTestControlPlane({ crds: [crd] });
    const [east, west] = await servers(["east", "west"]);
    assert.ok(east !== undefined && west !== undefined);
    const { clusters: entries } = parseKubeconfig(await east.kubeconfig(), { trust: "inline" });
    const [entry] = [...entries.values()];
    const [user] = [
      ...parseKubeconfig(await east.kubeconfig(), { trust: "inline" }).users.values(),
    ];
    const authority = entry?.certificateAuthority;
    assert.ok(entry !== undefined && authority !== undefined && "data" in authority);
    const profiles = hub.client.resource(clusterProfiles);
    const spec = { clusterManager: { name: "test" } };
    const made = await profiles.create({ metadata: { name: "east", namespace: "default" }, spec });
    const cluster = {
      server: entry.server,
      "certificate-authority-data": inBase64(authority.data),
      // Of this machine: it is not taken from a profile.
      "certificate-authority": "/etc/passwd",
    };
    await profiles.setStatus(made, { accessProviders: [{ name: "token", cluster }] });
    await profiles.create({ metadata: { name: "west", namespace: "default" }, spec });
    const clusters = profiledClusters({
      client: hub.client,
      providers: { token: { token: user?.token ?? "" } },
      consumer: "census",
    });
    await withCensus(clusters, async () => {
      await labelIn(east, "default.east");
      const put = async (consumer: string, kubeconfig: string) => {
        const labels = {
          "x-k8s.io/cluster-inventory-consumer": consumer,
          "x-k8s.io/cluster-profile": "west",
        };
        const metadata = { name: `for-${consumer}`, namespace: "default", labels };
        const data = { Config: inBase64(kubeconfig) };
        await hub.client.resource(secrets).create({ metadata, data });
      };
      await put("another", "not for this program");
      await put("census", await west.kubeconfig());
      await labelIn(west, "default.west");
    });
    for (const k of [hub, east, west]) await k.close();
  });
});
