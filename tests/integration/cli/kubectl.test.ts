/**
 * kubectl as users have it, against kcp as users run it: a process, TLS, the kubeconfig that kcp
 * wrote.
 *
 * On embedded storage and on etcd; other releases of kubectl, when there are any, go through the
 * first steps.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import {
  type EtcdCluster,
  etcdMissing,
  findKubectl,
  kubectlMissing,
  startEtcd,
} from "@kcp-ts/testkit";
import { type KcpProcess, startKcp, temporaryFolder } from "./kcp-process.ts";
import { Kubectl, otherKubectls } from "./kubectl.ts";

interface Listed {
  readonly items: readonly {
    readonly metadata: {
      readonly name: string;
      readonly namespace?: string;
      readonly uid: string;
      readonly labels?: Record<string, string>;
      readonly annotations?: Record<string, string>;
    };
    readonly data?: Record<string, string>;
  }[];
}

type Item = Listed["items"][number];

interface Server {
  readonly kcp: KcpProcess;
  readonly folder: string;
  /** As kcp-admin, in root. */
  readonly kubectl: Kubectl;
  /** In another logical cluster. */
  inCluster(name: string): Kubectl;
}

const tokens = 'alice-token,alice,1,"developers"\n';

/** Starts a server before the tests of a suite and stops it behind them. */
function useServer(storageArgs: () => readonly string[], binary: () => string): () => Server {
  const cleanups: (() => Promise<unknown>)[] = [];
  let server: Server | undefined;
  before(async () => {
    const folder = await temporaryFolder({ after: (cleanup) => cleanups.unshift(cleanup) });
    const tokenFile = join(folder, "tokens.csv");
    await writeFile(tokenFile, tokens, { mode: 0o600 });
    const root = join(folder, "root");
    const kcp = await startKcp(root, "--token-auth-file", tokenFile, ...storageArgs());
    cleanups.unshift(() => kcp.stop());
    const plain = new Kubectl(binary(), join(folder, "cache"), ["--kubeconfig", kcp.kubeconfig]);
    const inCluster = (name: string) =>
      plain.with("--context", "base", "--server", `${kcp.url}/clusters/${name}`);
    server = { kcp, folder, kubectl: plain, inCluster };
  });
  after(async () => {
    for (const cleanup of cleanups) await cleanup();
  });
  return () => {
    assert.ok(server !== undefined);
    return server;
  };
}

function yamlManifest(name: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  text: |\n    # of ${name}\n`;
}

function manifest(name: string, data: Record<string, string>): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, labels: { app: name } },
    data,
  });
}

describe("kubectl on embedded storage", { skip: kubectlMissing() ?? false }, () => {
  describeKubectl(
    useServer(
      () => [],
      () => findKubectl() as string,
    ),
  );
});

describe("kubectl on etcd", { skip: kubectlMissing() ?? etcdMissing() ?? false }, () => {
  let etcd: EtcdCluster;
  before(async () => {
    etcd = await startEtcd();
  });
  describeKubectl(
    useServer(
      () => ["--etcd-servers", etcd.endpoints.join(",")],
      () => findKubectl() as string,
    ),
  );
  after(() => etcd?.dispose());
});

const others = otherKubectls();

describe("kubectl of another release", {
  skip: others.length === 0 ? "needs a second kubectl: set KUBECTL_OLD to its path" : false,
}, () => {
  for (const { path, version } of others) {
    describe(version, () =>
      describeBasics(
        useServer(
          () => [],
          () => path,
        ),
      ),
    );
  }
});

function describeKubectl(server: () => Server): void {
  describeBasics(server);
  describeWrites(server);
  describeReads(server);
  describeTenancy(server);
}

function describeBasics(server: () => Server): void {
  it("creates, reads, changes and deletes", async () => {
    const { kubectl } = server();
    const created = await kubectl.run("create", "configmap", "hello", "--from-literal=who=world");
    assert.equal(created, "configmap/hello created\n");
    assert.match(await kubectl.run("get", "configmap", "hello"), /^NAME +DATA +AGE\nhello +1 +\d/);
    await kubectl.run("label", "configmap", "hello", "tier=front");
    const labelled = await kubectl.json<Item>("get", "cm/hello");
    assert.deepEqual(
      [labelled.metadata.labels, labelled.data],
      [{ tier: "front" }, { who: "world" }],
    );
    // Newer ones say from where.
    assert.match(
      await kubectl.run("delete", "cm", "hello"),
      /^configmap "hello" deleted(?: from default namespace)?\n$/,
    );
    const gone = await kubectl.try("get", "cm", "hello");
    assert.equal(gone.code, 1);
    assert.match(gone.stderr, /\(NotFound\): configmaps "hello" not found/);
  });

  it("applies a manifest, applies a change of it, and prunes a key", async (t) => {
    const { kubectl } = server();
    if (kubectl.minor < 29 && (await kubectl.try("get", "--raw", "/openapi/v2")).code !== 0) {
      t.skip("kubectl before 1.29 applies by /openapi/v2, which the server does not serve");
      return;
    }
    const apply = (data: Record<string, string>) =>
      kubectl.feed(manifest("applied", data), "apply", "-f", "-");
    assert.equal(await apply({ a: "1", b: "2" }), "configmap/applied created\n");
    assert.equal(await apply({ a: "1", b: "2" }), "configmap/applied unchanged\n");
    await kubectl.run("patch", "cm", "applied", "-p", '{"data":{"theirs":"stays"}}');
    assert.equal(await apply({ a: "3" }), "configmap/applied configured\n");
    const { data } = await kubectl.json<Item>("get", "cm/applied");
    assert.deepEqual(data, { a: "3", theirs: "stays" });
    await kubectl.run("delete", "cm", "applied");
  });

  it("finds out what is served", async () => {
    const { kubectl } = server();
    const resources = await kubectl.run("api-resources", "--no-headers");
    assert.match(resources, /^configmaps +cm +v1 +true +ConfigMap$/m);
    assert.match(resources, /^namespaces +ns +v1 +false +Namespace$/m);
    assert.match(await kubectl.run("api-versions"), /^v1$/m);
  });
}

function describeWrites(server: () => Server): void {
  it("makes configmaps and secrets of literals and files", async () => {
    const { kubectl, folder } = server();
    const file = join(folder, "app.conf");
    await writeFile(file, "debug = true\n");
    await kubectl.run("create", "cm", "conf", `--from-file=${file}`, "--from-literal=k=v");
    await kubectl.run("create", "secret", "generic", "pass", "--from-literal=p=hunter2");
    const { data } = await kubectl.json<Item>("get", "cm", "conf");
    assert.deepEqual(data, { "app.conf": "debug = true\n", k: "v" });
    const secret = await kubectl.run("get", "secret", "pass", "-o", "jsonpath={.data.p} {.type}");
    assert.equal(secret, `${Buffer.from("hunter2").toString("base64")} Opaque`);
    const again = await kubectl.try("create", "cm", "conf");
    assert.match(again.stderr, /configmaps "conf" already exists/);
    await kubectl.run("delete", "cm/conf", "secret/pass");
  });

  it("creates from files, several at a time", async () => {
    const { kubectl, folder } = server();
    const file = join(folder, "several.yaml");
    await writeFile(file, ["one", "two"].map(yamlManifest).join("---\n"));
    assert.equal(
      await kubectl.run("create", "-f", file),
      "configmap/one created\nconfigmap/two created\n",
    );
    await kubectl.run("delete", "-f", file);
  });

  it("patches by JSON patch, merge patch and strategic merge patch", async () => {
    const { kubectl } = server();
    await kubectl.run("create", "cm", "patched", "--from-literal=a=1", "--from-literal=b=2");
    const patch = (type: string, body: unknown) =>
      kubectl.run("patch", "cm", "patched", `--type=${type}`, "-p", JSON.stringify(body));
    await patch("json", [{ op: "replace", path: "/data/a", value: "json" }]);
    await patch("merge", { data: { b: null, c: "merge" } });
    await patch("strategic", { metadata: { finalizers: ["example.com/a"] } });
    await patch("strategic", {
      metadata: { finalizers: ["example.com/b"] },
      data: { d: "strategic" },
    });
    const { data, metadata } = await kubectl.json<Item & { metadata: { finalizers: string[] } }>(
      "get",
      "cm/patched",
    );
    assert.deepEqual(data, { a: "json", c: "merge", d: "strategic" });
    assert.deepEqual(metadata.finalizers.sort(), ["example.com/a", "example.com/b"]);
    const wrong = await kubectl.try("patch", "cm", "patched", "--type=json", "-p", '[{"op":"x"}]');
    assert.notEqual(wrong.code, 0);
    await patch("merge", { metadata: { finalizers: null } });
    await kubectl.run("delete", "cm", "patched");
  });

  it("labels, annotates, and rejects overwriting without --overwrite", async () => {
    const { kubectl } = server();
    await kubectl.run("create", "cm", "marked");
    await kubectl.run("label", "cm", "marked", "a=1", "b=2");
    const refused = await kubectl.try("label", "cm", "marked", "a=2");
    assert.match(refused.stderr, /already has a value \(1\)/);
    await kubectl.run("label", "cm", "marked", "a=2", "b-", "--overwrite");
    await kubectl.run("annotate", "cm", "marked", "note=hello");
    const { metadata } = await kubectl.json<Item>("get", "cm/marked");
    assert.deepEqual(metadata.labels, { a: "2" });
    assert.equal(metadata.annotations?.["note"], "hello");
    await kubectl.run("delete", "cm", "-l", "a=2");
    assert.equal((await kubectl.try("get", "cm", "marked")).code, 1);
  });

  it("gets an error that names the invalid fields of an object", async () => {
    const { kubectl } = server();
    const invalid = await kubectl.try("create", "cm", "Not_A_Name");
    assert.notEqual(invalid.code, 0);
    assert.match(invalid.stderr, /metadata\.name: Invalid value: "Not_A_Name"/);
  });
}

function describeReads(server: () => Server): void {
  before(async () => {
    const { kubectl } = server();
    await kubectl.run("create", "namespace", "reads");
    for (const name of ["a", "b", "c", "d", "e"]) {
      await kubectl.run("-n", "reads", "create", "cm", name, `--from-literal=name=${name}`);
    }
  });

  it("prints in every form", async () => {
    const { kubectl } = server();
    const get = (...args: readonly string[]) => kubectl.run("-n", "reads", "get", "cm", ...args);
    assert.match(await get("-o", "wide"), /^NAME +DATA +AGE\na +1 +/);
    assert.match(
      await get("a", "-o", "yaml"),
      /^apiVersion: v1\ndata:\n {2}name: a\nkind: ConfigMap\n/,
    );
    assert.equal(await get(...own, "-o", "name"), "abcde".replaceAll(/./g, "configmap/$&\n"));
    assert.equal(await get("-o", "jsonpath={.items[*].data.name}"), "a b c d e");
    assert.equal(
      await get(...own, "-o", "custom-columns=N:.metadata.name", "--no-headers"),
      "a\nb\nc\nd\ne\n",
    );
    assert.match(
      await kubectl.run("get", "cm", "-A"),
      /^NAMESPACE +NAME +DATA +AGE\n(.*\n)*reads +a +1/,
    );
    assert.match(await get("--show-labels"), /^NAME +DATA +AGE +LABELS\na .*<none>\n/);
    assert.equal(await get("--field-selector", "metadata.name=b", "-o", "name"), "configmap/b\n");
  });

  it("describes an object", async () => {
    const { kubectl } = server();
    const text = await kubectl.run("describe", "namespace", "reads");
    assert.match(text, /^Name: +reads\nLabels: +kubernetes\.io\/metadata\.name=reads\n/);
    assert.match(text, /^Status: +Active$/m);
  });

  it("describes an object with its events", async (t) => {
    const { kubectl } = server();
    if (!/^events /m.test(await kubectl.run("api-resources", "--no-headers"))) {
      t.skip("the server does not serve events");
      return;
    }
    const text = await kubectl.run("-n", "reads", "describe", "cm", "a");
    assert.match(text, /^Name: +a\nNamespace: +reads\n/);
    assert.match(text, /^Data\n====\nname:\n----\na\n/m);
    assert.match(text, /^Events: +<none>$/m);
  });

  it("reads a long list in chunks", async () => {
    const { kubectl } = server();
    const args = ["-n", "reads", "get", "cm", "--chunk-size=2", "-v=6", "-o", "name", ...own];
    const { stdout, stderr } = await kubectl.try(...args);
    assert.equal(stdout.trim().split("\n").length, 5);
    assert.equal(stderr.match(/limit=2/g)?.length, 3, "three pages");
  });

  it("watches: what is there, then what happens", async () => {
    const { kubectl } = server();
    const child = kubectl.start("-n", "reads", "get", "cm", "-w", "--output-watch-events", ...own);
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    const events = lines[Symbol.asyncIterator]();
    const next = async () => ((await events.next()).value as string).split(/ +/).slice(0, 2);
    assert.deepEqual(await next(), ["EVENT", "NAME"]);
    for (const name of ["a", "b", "c", "d", "e"]) assert.deepEqual(await next(), ["ADDED", name]);
    await kubectl.run("-n", "reads", "create", "cm", "new");
    assert.deepEqual(await next(), ["ADDED", "new"]);
    await kubectl.run("-n", "reads", "label", "cm", "new", "x=y");
    assert.deepEqual(await next(), ["MODIFIED", "new"]);
    await kubectl.run("-n", "reads", "delete", "cm", "new");
    assert.deepEqual(await next(), ["DELETED", "new"]);
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  });

  it("waits until something is deleted", async () => {
    const { kubectl } = server();
    await kubectl.run("create", "cm", "short-lived");
    const waiting = kubectl.run("wait", "--for=delete", "cm/short-lived", "--timeout=150s");
    await kubectl.run("delete", "cm", "short-lived");
    await waiting;
  });
}

/** What the test made itself, without what every namespace is given. */
const own = ["--field-selector", "metadata.name!=kube-root-ca.crt"];

function describeTenancy(server: () => Server): void {
  it("keeps two logical clusters apart", async () => {
    const { inCluster } = server();
    const [a, b] = [inCluster("team-a"), inCluster("team-b")];
    await a.run("create", "cm", "shared", "--from-literal=of=a");
    await b.run("create", "cm", "shared", "--from-literal=of=b");
    await a.run("create", "cm", "only-a");
    const data = (kubectl: Kubectl) =>
      kubectl.run("get", "cm", "shared", "-o", "jsonpath={.data.of}");
    assert.deepEqual([await data(a), await data(b)], ["a", "b"]);
    assert.equal((await b.try("get", "cm", "only-a")).code, 1);
    assert.equal(await b.run("get", "cm", "-A", "-o", "name", ...own), "configmap/shared\n");
    await b.run("delete", "cm", "shared");
    assert.equal(await data(a), "a");
  });

  it("shows all logical clusters to the privileged", async () => {
    const { inCluster } = server();
    await inCluster("team-c").run("create", "cm", "seen");
    await inCluster("team-d").run("create", "cm", "seen");
    const everywhere = inCluster("*").with("--context", "shard-base");
    const { items } = await everywhere.json<Listed>(
      ...["get", "cm", "-A", "--field-selector", "metadata.name=seen"],
    );
    const clusters = items.map(({ metadata }) => metadata.annotations?.["kcp.io/cluster"]);
    assert.deepEqual(clusters.sort(), ["team-c", "team-d"]);
    const { stderr } = await inCluster("*").try("get", "cm", "-A");
    assert.match(stderr, /User "kcp-admin" cannot list resource "configmaps" in API group ""/);
  });

  it("refuses ordinary users and wrong tokens", async () => {
    const { kcp, folder } = server();
    // In an empty kubeconfig there is no other credential that could slip in.
    const empty = join(folder, "empty.kubeconfig");
    await writeFile(empty, "apiVersion: v1\nkind: Config\n");
    const as = (token: string) =>
      new Kubectl(findKubectl() as string, join(folder, "cache-2"), [
        ...["--kubeconfig", empty, "--server", kcp.url, "--token", token],
        "--insecure-skip-tls-verify",
      ]);
    const alice = await as("alice-token").try("get", "cm");
    assert.equal(alice.code, 1);
    assert.match(alice.stderr, /\(Forbidden\): configmaps is forbidden: User "alice" cannot list/);
    const wrong = await as("wrong-token").try("get", "cm");
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /You must be logged in to the server/);
    assert.equal((await as("alice-token").try("get", "--raw", "/backup")).code, 1);
  });
}
