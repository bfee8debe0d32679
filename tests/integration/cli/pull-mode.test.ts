/**
 * Pull mode as people have it: a manifest that they apply themselves, and an agent that has nothing
 * but what is in it.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import {
  type Condition,
  type Connection,
  connectDefault,
  defineResource,
  findCondition,
  type KubernetesObject,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { deployments } from "@kcp-ts/sdk/kinds";
import { type SimulatedCluster, startListeningCluster } from "@kcp-ts/simulator";
import { eventually } from "@kcp-ts/testkit";
import { type AgentManifest, readAgentManifest, startAgent } from "./agent-process.ts";
import {
  type CommandResult,
  collect,
  end,
  type KcpProcess,
  startKcp,
  temporaryFolder,
} from "./kcp-process.ts";

const plugin = fileURLToPath(
  new URL("../../../../packages/cli/bin/kubectl-kcp.mjs", import.meta.url),
);

interface Target extends KubernetesObject {
  readonly spec?: { readonly unschedulable?: boolean; readonly drain?: object };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly version?: string;
    readonly capacity?: Readonly<Record<string, string>>;
    readonly syncedResources?: readonly string[];
  };
}

const syncTargets = defineResource<Target>(kinds.syncTargets);

describe("kubectl kcp workload", () => {
  let folder: string;
  let kcp: KcpProcess;
  let east: SimulatedCluster;
  let admin: Connection;
  const stops: (() => Promise<unknown>)[] = [];

  before(async () => {
    folder = await temporaryFolder({ after: (cleanup) => void stops.push(cleanup) });
    kcp = await startKcp(join(folder, "root"));
    stops.push(() => kcp.stop());
    east = await startListeningCluster({ name: "east", nodes: 1 });
    stops.push(() => east.close());
    admin = await connectDefault({ path: kcp.kubeconfig });
    stops.push(() => admin.close());
  });
  after(async () => {
    for (const stop of stops.toReversed()) await stop();
  });

  const workload = (...args: readonly string[]): Promise<CommandResult> =>
    collect(
      spawn(process.execPath, [plugin, "workload", ...args, "--kubeconfig", kcp.kubeconfig], {
        stdio: ["ignore", "pipe", "pipe"],
      }),
    );
  const printed = async (...args: readonly string[]): Promise<AgentManifest> => {
    const { code, stdout, stderr } = await workload("sync", ...args);
    assert.equal(code, 0, stderr);
    return readAgentManifest(stdout);
  };

  it("sync prints a manifest with which an agent brings a Deployment to Ready, and nothing else is needed", async () => {
    const manifest = await printed("east", "--resources", "deployments.apps,services");
    const agent = await startAgent(manifest, {
      folder: join(folder, "agent"),
      toKubeconfig: east.kubeconfig ?? "",
    });
    const log = collect(agent);
    try {
      const targets = admin.client.resource(syncTargets);
      const target = await eventually(
        async () => {
          const found = await targets.get({ name: "east" });
          const ready = findCondition(found.status?.conditions, "Ready");
          assert.equal(ready?.status, "True", JSON.stringify(found.status));
          assert.ok(found.status?.syncedResources?.includes("deployments.apps"));
          return found;
        },
        { timeoutMs: 60_000 },
      );
      const types = target.status?.conditions?.map(({ type }) => type) ?? [];
      for (const type of [
        "SyncerReady",
        "APIImporterReady",
        "HeartbeatHealthy",
        "SyncerAuthorized",
      ])
        assert.ok(types.includes(type), `${type} is not among ${types.join()}`);
      assert.match(target.status?.version ?? "", /^v1\./);
      assert.ok(target.status?.capacity?.["cpu"] !== undefined);
      const labels = { app: "web", "workload.kcp.io/cluster": "east" };
      const containers = [{ name: "web", image: "nginx" }];
      await admin.client
        .resource(deployments)
        .create({
          metadata: { name: "web", namespace: "default", labels },
          spec: {
            replicas: 2,
            selector: { matchLabels: { app: "web" } },
            template: { metadata: { labels: { app: "web" } }, spec: { containers } },
          },
        });
      await eventually(
        async () => {
          const at = { namespace: "default", name: "web" };
          const { status } = (await admin.client.resource(deployments).get(at)) as {
            status?: { readyReplicas?: number };
          };
          assert.equal(status?.readyReplicas, 2);
        },
        { timeoutMs: 60_000 },
      );
    } finally {
      await end(agent, "SIGTERM");
    }
    assert.equal((await log).code, 0, (await log).stderr);
  });

  it("sync puts no credential into the manifest but a token of the agent, which is good for a while", async () => {
    const manifest = await printed("west", "--token-lifetime", "1h");
    const { token = "", kubeconfig = "" } = manifest.files;
    const { users, clusters } = JSON.parse(kubeconfig) as {
      users: { user: object }[];
      clusters: { cluster: { server: string } }[];
    };
    assert.deepEqual(users[0]?.user, { tokenFile: "token" });
    assert.match(
      clusters[0]?.cluster.server ?? "",
      /\/services\/syncer\/root\/west\/[-0-9a-f]{36}$/,
    );
    const [, payload = ""] = token.split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<
      string,
      number
    >;
    assert.equal((claims["exp"] ?? 0) - (claims["iat"] ?? 0), 3600);
    const whole = JSON.stringify(manifest.objects);
    const own = await readFile(kcp.kubeconfig, "utf8");
    for (const [, secret = ""] of own.matchAll(/token: "?([^\s"]+)"?/g)) {
      assert.ok(secret.length > 8 && !whole.includes(secret));
    }
  });

  it("sync lists in the cluster's roles what is synced, by verb, and its own Secret", async () => {
    const manifest = await printed("roles", "--resources", "deployments.apps,services");
    const { rules } = manifest.object("ClusterRole") as unknown as { rules: object[] };
    const verbs = ["get", "list", "watch", "create", "patch", "delete"];
    assert.deepEqual(rules, [
      // Patched for the labels by which Pods are kept to a Pod Security Standard.
      { apiGroups: [""], resources: ["namespaces"], verbs },
      { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list"] },
      { apiGroups: ["apps"], resources: ["deployments"], verbs },
      { apiGroups: ["apps"], resources: ["deployments/status"], verbs: ["get", "patch"] },
      { apiGroups: [""], resources: ["services"], verbs },
      { apiGroups: [""], resources: ["services/status"], verbs: ["get", "patch"] },
    ]);
    const { rules: own, metadata } = manifest.object("Role") as unknown as {
      rules: object[];
      metadata: { name: string };
    };
    assert.deepEqual(own, [
      {
        apiGroups: [""],
        resources: ["secrets"],
        resourceNames: [metadata.name],
        verbs: ["get", "patch"],
      },
    ]);
  });

  it("sync writes a file that only its owner can read, and says what to do with it", async () => {
    const file = join(folder, "north.yaml");
    const { code, stdout, stderr } = await workload("sync", "north", "-o", file);
    assert.equal(code, 0, stderr);
    assert.equal(stdout, "");
    assert.match(stderr, /apply -f .*north\.yaml/);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal(readAgentManifest(await readFile(file, "utf8")).objects.length, 8);
  });

  it("sync does not take a cluster over that the control plane connects to by itself", async () => {
    const metadata = { name: "pushed" };
    await admin.client.resource(syncTargets).create({ metadata });
    const { code, stderr } = await workload("sync", "pushed");
    assert.equal(code, 1);
    assert.match(stderr, /SyncTarget pushed exists and is in mode Push: set spec\.mode to Pull/);
  });

  it("cordon, drain and uncordon say what they did, and that it was done already", async () => {
    const metadata = { name: "moved" };
    await admin.client.resource(syncTargets).create({ metadata });
    const said: string[] = [];
    for (const verb of ["cordon", "cordon", "drain", "drain", "uncordon", "uncordon"]) {
      const { stdout } = await workload(verb, "moved");
      const { spec } = await admin.client.resource(syncTargets).get({ name: "moved" });
      const state = [spec?.unschedulable === true, spec?.drain !== undefined];
      said.push(`${stdout.trim()} ${state.join()}`);
    }
    assert.deepEqual(said, [
      "moved cordoned true,false",
      "moved already cordoned true,false",
      "moved draining\nkubectl kcp drain moved --wait shows the progress true,true",
      "moved already draining\nkubectl kcp drain moved --wait shows the progress true,true",
      "moved uncordoned false,false",
      "moved already uncordoned false,false",
    ]);
    await workload("drain", "moved", "--max-workloads", "2", "--deadline", "1h");
    const { spec } = await admin.client.resource(syncTargets).get({ name: "moved" });
    assert.deepEqual(spec?.drain, { budget: { workloads: 2 }, deadlineSeconds: 3600 });
    const { code, stderr } = await workload("cordon", "nobody");
    assert.equal(code, 1);
    assert.match(stderr, /there is no SyncTarget nobody/);
  });
});
