/**
 * The Kubernetes project's own client for JavaScript, as its users have it: with the kubeconfig
 * that kcp wrote, in `root` and in a workspace.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { makeInformer as ourMakeInformer } from "@kcp-ts/sdk";
import {
  ApiException,
  CoreV1Api,
  CustomObjectsApi,
  type Informer,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  VersionApi,
  Watch,
} from "@kubernetes/client-node";
import { type KcpProcess, startKcp, temporaryFolder } from "./kcp-process.ts";

const cleanups: (() => Promise<unknown>)[] = [];
let kcp: KcpProcess;
let kubeconfigText: string;

before(async () => {
  const folder = await temporaryFolder({ after: (cleanup) => cleanups.unshift(cleanup) });
  kcp = await startKcp(join(folder, "root"), "--storage", "memory");
  cleanups.unshift(() => kcp.stop());
  kubeconfigText = await readFile(kcp.kubeconfig, "utf8");
  await makeWorkspace("org");
});
after(async () => {
  for (const cleanup of cleanups) await cleanup();
});

function asAdmin(): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(kubeconfigText);
  return config;
}

/** Pointed at a workspace by nothing but the URL of its server. */
function asAdminIn(path: string): KubeConfig {
  const config = asAdmin();
  config.clusters = config.clusters.map((cluster) => ({
    ...cluster,
    server: `${kcp.url}/clusters/${path}`,
  }));
  return config;
}

async function makeWorkspace(name: string): Promise<void> {
  const workspaces = asAdminIn("root").makeApiClient(CustomObjectsApi);
  await workspaces.createClusterCustomObject({
    group: "tenancy.kcp.io",
    version: "v1alpha1",
    plural: "workspaces",
    body: { apiVersion: "tenancy.kcp.io/v1alpha1", kind: "Workspace", metadata: { name } },
  });
}

/** Where `@kubernetes/client-node` is found. */
const programs = fileURLToPath(new URL(".", import.meta.url));

describe("a program of the guide for client-node's users", () => {
  for (const [which, name] of ["theirs", "ours"].entries()) {
    it(`reports what is added with the informer of ${name}`, { timeout: 60_000 }, async () => {
      const guide = await readFile("docs/guides/from-client-node.md", "utf8");
      const blocks = [...guide.matchAll(/```text\n(.*?)```/gs)].map(([, text = ""]) => text);
      const file = join(programs, `guide-${name}.mjs`);
      await writeFile(file, blocks[which] ?? "");
      const program = spawn(process.execPath, [file], {
        env: { ...process.env, KUBECONFIG: kcp.kubeconfig },
      });
      const core = asAdmin().makeApiClient(CoreV1Api);
      try {
        const added = printed(program, `added guide-${name}`);
        await core.createNamespacedConfigMap({ namespace, body: configMap(`guide-${name}`) });
        await added;
      } finally {
        program.kill("SIGKILL");
        await core.deleteNamespacedConfigMap({ namespace, name: `guide-${name}` });
      }
    });
  }
});

function printed(program: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let all = "";
    for (const stream of [program.stdout, program.stderr])
      stream?.on("data", (chunk: Buffer) => {
        all += chunk.toString("utf8");
        if (all.includes(text)) resolve();
      });
    program.once("exit", (code) => reject(new Error(`it ended with ${code}: ${all}`)));
  });
}

const namespace = "default";
const configMap = (name: string, data: Record<string, string> = {}): V1ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace, labels: { by: "client-node" } },
  data,
});

describe("client-node with the admin's kubeconfig", () => describeClient(asAdmin));
describe("client-node in a workspace", () => describeClient(() => asAdminIn("root:org")));

function describeClient(config: () => KubeConfig): void {
  describeObjects(config);
  describePatches(config);
  describeWatches(config);
}

function describeObjects(config: () => KubeConfig): void {
  it("creates, reads, replaces, lists and deletes", async () => {
    const core = config().makeApiClient(CoreV1Api);
    const created = await core.createNamespacedConfigMap({
      namespace,
      body: configMap("one", { a: "1" }),
    });
    assert.ok(created.metadata?.creationTimestamp instanceof Date);
    const replaced = await core.replaceNamespacedConfigMap({
      namespace,
      name: "one",
      body: { ...created, data: { a: "2" } },
    });
    assert.notEqual(replaced.metadata?.resourceVersion, created.metadata?.resourceVersion);
    const { items } = await core.listNamespacedConfigMap({
      namespace,
      labelSelector: "by=client-node",
    });
    assert.deepEqual(
      items.map(({ metadata, data }) => [metadata?.name, data]),
      [["one", { a: "2" }]],
    );
    const stale = core.replaceNamespacedConfigMap({ namespace, name: "one", body: created });
    await assert.rejects(stale, (error) => error instanceof ApiException && error.code === 409);
    const deleted = await core.deleteNamespacedConfigMap({ namespace, name: "one" });
    assert.equal(deleted.status, "Success");
    const again = core.readNamespacedConfigMap({ namespace, name: "one" });
    await assert.rejects(again, (error) => error instanceof ApiException && error.code === 404);
  });

  it("lists by pages", async () => {
    const core = config().makeApiClient(CoreV1Api);
    for (const name of ["p-1", "p-2", "p-3"])
      await core.createNamespacedSecret({ namespace, body: { metadata: { name } } });
    const first = await core.listNamespacedSecret({ namespace, limit: 2 });
    assert.equal(first.items.length, 2);
    const _continue = first.metadata?._continue as string;
    const rest = await core.listNamespacedSecret({ namespace, limit: 2, _continue });
    assert.deepEqual(
      [...first.items, ...rest.items].map(({ metadata }) => metadata?.name),
      ["p-1", "p-2", "p-3"],
    );
    await core.deleteCollectionNamespacedSecret({ namespace });
    assert.deepEqual((await core.listNamespacedSecret({ namespace })).items, []);
  });

  it("finds a kind by discovery, and the version", async () => {
    const objects = KubernetesObjectApi.makeApiClient(config());
    const made = await objects.create(configMap("found"));
    assert.equal(made.metadata?.name, "found");
    const { items } = await objects.list<V1ConfigMap>("v1", "ConfigMap", namespace);
    assert.ok(items.some(({ metadata }) => metadata?.name === "found"));
    await objects.delete(configMap("found"));
    const { major, gitVersion } = await config().makeApiClient(VersionApi).getCode();
    assert.equal(major, "1");
    assert.match(gitVersion, /^v1\.\d+\.\d+/);
  });
}

function describePatches(config: () => KubeConfig): void {
  const bodies: readonly [keyof typeof PatchStrategy, object, object | undefined][] = [
    ["JsonPatch", [{ op: "add", path: "/data/json", value: "1" }], { a: "1", json: "1" }],
    ["MergePatch", { data: { a: null, merge: "1" } }, { merge: "1" }],
    ["StrategicMergePatch", { data: { $patch: "replace", strategic: "1" } }, { strategic: "1" }],
    [
      "ServerSideApply",
      { apiVersion: "v1", kind: "ConfigMap", data: { apply: "1" } },
      { a: "1", apply: "1" },
    ],
  ];
  for (const [strategy, body, data] of bodies) {
    it(`patches by ${PatchStrategy[strategy]}`, async () => {
      const core = config().makeApiClient(CoreV1Api);
      const name = strategy.toLowerCase();
      await core.createNamespacedConfigMap({ namespace, body: configMap(name, { a: "1" }) });
      const patched = await core.patchNamespacedConfigMap(
        { namespace, name, body, fieldManager: "client-node" },
        setHeaderOptions("Content-Type", PatchStrategy[strategy]),
      );
      assert.deepEqual(patched.data, data);
      await core.deleteNamespacedConfigMap({ namespace, name });
    });
  }

  it("makes by server-side apply what is not there", async () => {
    const objects = KubernetesObjectApi.makeApiClient(config());
    const apply = (data: Record<string, string>) =>
      objects.patch(
        configMap("applied", data),
        undefined,
        undefined,
        "client-node",
        true,
        PatchStrategy.ServerSideApply,
      );
    assert.deepEqual((await apply({ a: "1" })).data, { a: "1" });
    assert.deepEqual((await apply({ b: "2" })).data, { b: "2" });
    await objects.delete(configMap("applied"));
  });
}

function describeWatches(config: () => KubeConfig): void {
  it("watches", { timeout: 180_000 }, async () => {
    const core = config().makeApiClient(CoreV1Api);
    const { metadata } = await core.listNamespacedConfigMap({ namespace });
    const seen: string[] = [];
    const query = { resourceVersion: metadata?.resourceVersion, labelSelector: "by=client-node" };
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const ended = new Promise<unknown>((resolve, reject) => {
      const onEvent = (type: string, object: V1ConfigMap) => {
        seen.push(`${type} ${object.metadata?.name} ${JSON.stringify(object.data)}`);
        if (type === "DELETED") watching.then((one) => one.abort(), reject);
      };
      const watching = new Watch(config()).watch(path, query, onEvent, resolve);
    });
    await core.createNamespacedConfigMap({ namespace, body: configMap("seen", { a: "1" }) });
    await core.replaceNamespacedConfigMap({
      namespace,
      name: "seen",
      body: configMap("seen", { a: "2" }),
    });
    await core.deleteNamespacedConfigMap({ namespace, name: "seen" });
    await ended;
    assert.deepEqual(seen, [
      'ADDED seen {"a":"1"}',
      'MODIFIED seen {"a":"2"}',
      'DELETED seen {"a":"2"}',
    ]);
  });
  for (const [of, make] of Object.entries({ theirs: makeInformer, ours: ourMakeInformer }))
    describeInformer(config, of, make);
}

/** The same program with either function: those who move change an import. */
function describeInformer(config: () => KubeConfig, of: string, make: typeof makeInformer): void {
  it(`keeps an informer of ${of}`, { timeout: 180_000 }, async () => {
    const name = `kept-${of}`;
    const core = config().makeApiClient(CoreV1Api);
    await core.createNamespacedConfigMap({ namespace, body: configMap(name, { a: "1" }) });
    const informer = make(
      config(),
      `/api/v1/namespaces/${namespace}/configmaps`,
      () => core.listNamespacedConfigMap({ namespace, labelSelector: "by=client-node" }),
      "by=client-node",
    );
    const added = next(informer, "add");
    await informer.start();
    assert.equal((await added).metadata?.name, name);
    assert.deepEqual(informer.get(name, namespace)?.data, { a: "1" });
    const updated = next(informer, "update");
    await core.replaceNamespacedConfigMap({ namespace, name, body: configMap(name, { a: "2" }) });
    assert.deepEqual((await updated).data, { a: "2" });
    const deleted = next(informer, "delete");
    await core.deleteNamespacedConfigMap({ namespace, name: name });
    assert.equal((await deleted).metadata?.name, name);
    assert.deepEqual(informer.list(), []);
    await informer.stop();
  });
}

function next(
  informer: Informer<V1ConfigMap>,
  verb: "add" | "update" | "delete",
): Promise<V1ConfigMap> {
  return new Promise((resolve) => {
    const listener = (object: V1ConfigMap) => {
      informer.off(verb, listener);
      resolve(object);
    };
    informer.on(verb, listener);
  });
}
