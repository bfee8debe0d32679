import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { inspect } from "node:util";
import { FakeClock } from "@kcp-ts/testkit";
import {
  type Certificates,
  type Handler,
  makeCertificates,
  startHttp2Server,
  type TestServer,
} from "../fake-server/index.ts";
import { type Connection, type ConnectOptions, connect } from "./connect.ts";
import { tokenFileRereadMs } from "./credentials.ts";
import { ExecPool } from "./exec-pool.ts";
import { inClusterKubeconfig } from "./in-cluster.ts";
import { kubeconfigCharactersMax, parseKubeconfig } from "./kubeconfig.ts";
import { connectDefault, loadKubeconfig } from "./load.ts";

let certificates: Certificates;
let server: TestServer;
let folder: string;
let refuse = 0;
const connections: Connection[] = [];

/** Responds with the identity of the request. */
const whoAmI: Handler = (request, response) => {
  if (refuse > 0) {
    refuse--;
    response.writeHead(401);
    response.end("{}");
    return;
  }
  const peer = (
    request.socket as unknown as { getPeerCertificate(): { subject?: { CN: string } } }
  ).getPeerCertificate();
  const impersonation = Object.entries(request.headers).filter(([name]) => name.startsWith("imp"));
  response.writeHead(200);
  response.end(
    JSON.stringify({
      path: request.url,
      authorization: request.headers.authorization,
      certificate: peer.subject?.CN,
      encoding: request.headers["accept-encoding"],
      impersonation: Object.fromEntries(impersonation),
    }),
  );
};

before(async () => {
  certificates = makeCertificates();
  server = await startHttp2Server(certificates, whoAmI);
  folder = await mkdtemp(join(tmpdir(), "sdk-kubeconfig-"));
});
after(async () => {
  for (const connection of connections) await connection.close();
  await server.close();
  await rm(folder, { recursive: true });
});

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** A kubeconfig of one context; JSON is YAML. */
function config(user: object, cluster: object = {}): string {
  return JSON.stringify({
    "current-context": "c",
    clusters: [
      {
        name: "k",
        cluster: {
          server: `${server.url.origin}/clusters/root`,
          "certificate-authority-data": base64(certificates.ca),
          ...cluster,
        },
      },
    ],
    users: [{ name: "u", user }],
    contexts: [{ name: "c", context: { cluster: "k", user: "u", namespace: "team" } }],
  });
}

const trusted = { trust: { resolvePath: (path: string) => resolve(folder, path) } } as const;

async function ask(text: string, options: ConnectOptions = {}) {
  const connection = connect(parseKubeconfig(text, trusted), { env: {}, ...options });
  connections.push(connection);
  return askAgain(connection);
}

async function askAgain({ client }: Connection) {
  return (await client.json({ method: "GET", path: "/me", mayBeLong: true })) as Record<
    string,
    unknown
  >;
}

describe("a kubeconfig", () => {
  it("is merged from the files of KUBECONFIG, the first one's entries first, missing files skipped", async () => {
    const write = (name: string, text: string) => writeFile(join(folder, name), text);
    await write("one.yaml", "clusters: [{name: a, cluster: {server: 'https://first'}}]\n");
    await write(
      "two.yaml",
      `current-context: two
clusters:
- {name: a, cluster: {server: 'https://second', certificate-authority: ca.crt}}
- {name: b, cluster: {server: 'https://b', certificate-authority: certs/ca.crt}}
contexts: [{name: two, context: {cluster: b}}]
users:
- name: u
  user: {tokenFile: /absolute, exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./bin/login}}
- name: v
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login, interactiveMode: Never}}
`,
    );
    const names = ["one.yaml", "missing.yaml", "two.yaml"].map((name) => join(folder, name));
    const merged = await loadKubeconfig({ env: { KUBECONFIG: names.join(":") } });
    assert.equal(merged.currentContext, "two");
    assert.equal(merged.clusters.get("a")?.server, "https://first");
    assert.equal(merged.clusters.get("a")?.certificateAuthority, undefined);
    assert.deepEqual(merged.clusters.get("b")?.certificateAuthority, {
      file: join(folder, "certs/ca.crt"),
    });
    assert.equal(merged.users.get("u")?.tokenFile, "/absolute");
    assert.equal(merged.users.get("u")?.exec?.command, join(folder, "bin/login"));
    assert.equal(merged.users.get("u")?.exec?.interactiveMode, "IfAvailable");
    assert.equal(merged.users.get("v")?.exec?.command, "login");
  });

  it("is read from the home directory, and must exist where its path is given", async () => {
    assert.equal((await loadKubeconfig({ env: {}, home: folder })).contexts.size, 0);
    const path = join(folder, "nowhere");
    await assert.rejects(loadKubeconfig({ path }), /nowhere does not exist/);
    await assert.rejects(connectDefault({ env: {}, home: folder }), /this is not a Pod/);
  });

  it("from an untrusted source may name no files and no commands", () => {
    const read =
      (user: object, cluster: object = {}) =>
      () =>
        parseKubeconfig(config(user, cluster), { trust: "inline" });
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "rm" };
    assert.throws(read({ tokenFile: "/etc/passwd" }), /tokenFile is not allowed/);
    assert.throws(read({ "client-key": "/etc/ssl/key" }), /client-key is not allowed/);
    assert.throws(
      read({}, { "certificate-authority-data": "", "certificate-authority": "/x" }),
      /not allowed/,
    );
    assert.throws(read({ exec }), /exec is not allowed/);
    assert.equal(read({ token: "t" })().users.get("u")?.token, "t");
  });

  it("is rejected with the path of the invalid field", () => {
    const read = (text: string) => () => parseKubeconfig(text, trusted);
    assert.throws(read("clusters: 5"), /kubeconfig.clusters: must be a list/);
    assert.throws(
      read("users: [{name: a, user: {token: 5}}]"),
      /users\[0\].user.token: must be a string/,
    );
    assert.throws(read("clusters: [{name: a, cluster: {}}]"), /cluster.server: must be set/);
    assert.throws(read("a: [b"), /not YAML/);
    assert.throws(read("[]"), /must be an object/);
    assert.throws(read("users: [{name: a, user: {as-groups: [x]}}]"), /need as/);
    assert.throws(read("users: [{name: a, user: {auth-provider: {name: gcp}}}]"), /no longer/);
    assert.throws(
      read("users: [{name: a, user: {exec: {apiVersion: x/v1alpha1, command: y}}}]"),
      /x\/v1alpha1 is not supported/,
    );
    assert.equal(read("")().clusters.size, 0);
    const hostile = read(
      "clusters: [{name: __proto__, cluster: {server: x, __proto__: {a: 1}}}]",
    )();
    assert.equal(hostile.clusters.get("__proto__")?.server, "x");
    assert.equal(({} as { a?: number }).a, undefined);
  });

  it("with a syntax error is rejected by its place, and no error shows what it contains", async () => {
    const path = join(folder, "broken");
    await writeFile(path, "users:\n- {name: a, user: {token: s3cret}\n");
    const error: unknown = await connectDefault({ path }).catch((thrown: unknown) => thrown);
    assert.match(inspect(error), /broken: kubeconfig is not YAML: .* \(line 3, column 1\)\]$/);
    assert.doesNotMatch(inspect(error, { depth: 9 }), /s3cret/);
  });

  it("that is missing is named, and what to do is said, without a stack of the SDK", async () => {
    const env = { KUBECONFIG: "/nowhere/config" };
    const error: unknown = await connectDefault({ env }).catch((thrown: unknown) => thrown);
    assert.match(
      inspect(error),
      /^\[KubeconfigError: there is no kubeconfig: KUBECONFIG is \/nowhere\/config, .*Next: .*\]$/,
    );
  });

  it("has a maximum size", () => {
    const filled = (characters: number) => `# ${"x".repeat(characters - 2)}`;
    assert.throws(
      () => parseKubeconfig(filled(kubeconfigCharactersMax + 1), trusted),
      /longer than/,
    );
    assert.throws(() => parseKubeconfig(filled(kubeconfigCharactersMax), trusted), /not YAML/);
  });

  it("requires its context, cluster and user to exist", () => {
    const parsed = parseKubeconfig(
      `{contexts: [{name: c, context: {cluster: k}}, {name: d, context: {cluster: l, user: v}}],
        clusters: [{name: l, cluster: {server: x}}]}`,
      trusted,
    );
    assert.throws(() => connect(parsed), /no context is chosen/);
    assert.throws(
      () => connect(parsed, { context: "e" }),
      /context "e" does not exist\. Next: choose one of /,
    );
    assert.throws(() => connect(parsed, { context: "c" }), /cluster "k" of context "c"/);
    assert.throws(() => connect(parsed, { context: "d" }), /user "v" of context "d"/);
  });
});

describe("a connection", () => {
  it("keeps the path of the server and the namespace of the context", async () => {
    const connection = connect(parseKubeconfig(config({ token: "t" }), trusted), { env: {} });
    connections.push(connection);
    const answer = await askAgain(connection);
    assert.equal(answer["path"], "/clusters/root/me");
    assert.equal(answer["authorization"], "Bearer t");
    assert.equal(connection.namespace, "team");
  });

  it("presents a certificate, from data or from files, with or without a token", async () => {
    const { clientCert, clientKey } = certificates;
    await writeFile(join(folder, "client.crt"), clientCert);
    await writeFile(join(folder, "client.key"), clientKey);
    const files = { "client-certificate": "client.crt", "client-key": "client.key" };
    assert.equal((await ask(config(files)))["certificate"], "alice");
    const data = {
      "client-certificate-data": base64(clientCert),
      "client-key-data": base64(clientKey),
      token: "t",
    };
    const answer = await ask(config(data));
    assert.deepEqual([answer["certificate"], answer["authorization"]], ["alice", "Bearer t"]);
    assert.throws(
      () => connect(parseKubeconfig(config({ "client-key-data": "eA==" }), trusted)),
      /go together/,
    );
  });

  it("checks the server's certificate against the configured server name", async () => {
    const answer = await ask(config({}, { "tls-server-name": "localhost" }));
    assert.equal(answer["path"], "/clusters/root/me");
    await assert.rejects(ask(config({}, { "tls-server-name": "elsewhere.io" })), /elsewhere\.io/);
  });

  it("allows the server to compress responses unless the cluster's entry disables it", async () => {
    assert.equal((await ask(config({})))["encoding"], "gzip");
    const plain = await ask(config({}, { "disable-compression": true }));
    assert.equal(plain["encoding"], undefined);
  });

  it("sends a user and password", async () => {
    const answer = await ask(config({ username: "me", password: "secret" }));
    assert.equal(answer["authorization"], `Basic ${base64("me:secret")}`);
  });

  it("impersonates the configured user", async () => {
    const user = {
      token: "t",
      as: "bob",
      "as-uid": "7",
      "as-groups": ["a", "b"],
      "as-user-extra": { "Example.io/Scope": ["x"] },
    };
    assert.deepEqual((await ask(config(user)))["impersonation"], {
      "impersonate-user": "bob",
      "impersonate-uid": "7",
      "impersonate-group": "a, b",
      "impersonate-extra-example.io%2fscope": "x",
    });
  });

  it("trusts no other CA, and rejects the insecure flag beside a CA", async () => {
    const none = { "certificate-authority-data": "" };
    await assert.rejects(ask(config({}, none)), { code: "connect" });
    const insecure = { "insecure-skip-tls-verify": true };
    await ask(config({}, { ...none, ...insecure }));
    await assert.rejects(ask(config({}, insecure)), /insecure flag/);
    const address = server.url.origin.replace("localhost", "127.0.0.1");
    await ask(config({}, { server: address, "tls-server-name": "kubernetes" }));
  });

  it("reads a token file again after a minute, and when the token is rejected", async () => {
    const clock = new FakeClock();
    const file = join(folder, "token");
    await writeFile(file, "first\n");
    const user = { tokenFile: "token", token: "fallback" };
    const connection = connect(parseKubeconfig(config(user), trusted), { env: {}, clock });
    connections.push(connection);
    const token = async () => (await askAgain(connection))["authorization"];
    assert.equal(await token(), "Bearer first");
    await writeFile(file, "second");
    clock.advance(tokenFileRereadMs - 1);
    assert.equal(await token(), "Bearer first");
    clock.advance(1);
    assert.equal(await token(), "Bearer second");
    await writeFile(file, "third");
    refuse = 1;
    assert.equal(await token(), "Bearer third");
    await rm(file);
    clock.advance(tokenFileRereadMs);
    assert.equal(await token(), "Bearer third");
    refuse = 1;
    await assert.rejects(token(), { code: 401 });
    const fresh = config({ tokenFile: "never-there", token: "fallback" });
    assert.equal((await ask(fresh))["authorization"], "Bearer fallback");
  });
});

describe("a credential plugin", () => {
  /** A plugin that counts its runs in a file and prints the test's text. */
  async function plugin(name: string, print: string) {
    const script = join(folder, `${name}.mjs`);
    await writeFile(
      script,
      `import { appendFileSync, readFileSync } from "node:fs";
       appendFileSync("${script}.runs", "x");
       const run = readFileSync("${script}.runs", "utf8").length;
       const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
       const credential = (status) => process.stdout.write(JSON.stringify({
         apiVersion: info.apiVersion, kind: "ExecCredential", status }));
       ${print}`,
    );
    return (extra: object = {}, version = "v1") => ({
      exec: {
        apiVersion: `client.authentication.k8s.io/${version}`,
        command: process.execPath,
        args: [script],
        env: [{ name: "EXTRA", value: "e" }],
        interactiveMode: "Never",
        ...extra,
      },
    });
  }

  it("runs once for all waiting requests, and again when its token expires or is rejected", async () => {
    const clock = new FakeClock();
    const at = new Date(clock.now() + 60_000).toISOString();
    const user = await plugin(
      "tokens",
      `credential({ token: process.env.EXTRA + run, expirationTimestamp: "${at}" });`,
    );
    const execPool = new ExecPool();
    const parsed = parseKubeconfig(config(user()), trusted);
    const make = () => {
      const connection = connect(parsed, { env: {}, clock, execPool });
      connections.push(connection);
      return connection;
    };
    const [first, second] = [make(), make()];
    const answers = await Promise.all([askAgain(first), askAgain(first), askAgain(second)]);
    assert.deepEqual(
      answers.map(({ authorization }) => authorization),
      ["Bearer e1", "Bearer e1", "Bearer e1"],
    );
    refuse = 1;
    assert.equal((await askAgain(first))["authorization"], "Bearer e2");
    assert.equal((await askAgain(second))["authorization"], "Bearer e2");
    clock.advance(55_000);
    assert.equal((await askAgain(first))["authorization"], "Bearer e3");
  });

  it("gets the cluster information on request, and may return a certificate", async () => {
    const { clientCert, clientKey } = certificates;
    const user = await plugin(
      "certificates",
      `const { server, config } = info.spec.cluster;
       credential({ token: server.length + config.x + info.spec.interactive,
         clientCertificateData: ${JSON.stringify(clientCert)}, clientKeyData: ${JSON.stringify(clientKey)} });`,
    );
    const extension = { name: "client.authentication.k8s.io/exec", extension: { x: "X" } };
    const text = config(user({ provideClusterInfo: true }, "v1beta1"), { extensions: [extension] });
    const answer = await ask(text);
    assert.equal(answer["certificate"], "alice");
    const { length } = `${server.url.origin}/clusters/root`;
    assert.equal(answer["authorization"], `Bearer ${length}Xfalse`);
  });

  it("fails with its install hint, and with the error of its output", async () => {
    const failing = async (name: string, print: string, extra: object = {}) => {
      const user = await plugin(name, print);
      return ask(config(user({ installHint: "install it", ...extra })));
    };
    await assert.rejects(failing("exit", "process.exit(3)"), /exit code 3\ninstall it/);
    await assert.rejects(failing("gone", "", { command: "no-such-plugin" }), /could not be run/);
    await assert.rejects(failing("empty", "credential({})"), /neither a token nor a certificate/);
    await assert.rejects(
      failing("half", "credential({ clientKeyData: 'x' })"),
      /half a certificate/,
    );
    await assert.rejects(failing("kind", "process.stdout.write('{}')"), /not an ExecCredential/);
    await assert.rejects(
      failing("when", "credential({ token: 'x', expirationTimestamp: 'soon' })"),
      /no time/,
    );
    await assert.rejects(
      failing("version", "info.apiVersion = 'x/v9'; credential({ token: 'x' })"),
      /of x\/v9/,
    );
    await assert.rejects(failing("long", "process.stdout.write('x'.repeat(1 << 21))"), /more than/);
    await assert.rejects(failing("tty", "", { interactiveMode: "Always" }), /needs a terminal/);
  });
});

describe("a Pod", () => {
  it("finds its service account, and returns none outside of a Pod", async () => {
    const pod = await mkdtemp(join(folder, "pod-"));
    const { hostname, port } = server.url;
    const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
    assert.equal(await inClusterKubeconfig({ env, folder: pod }), undefined);
    await writeFile(join(pod, "token"), "pod-token");
    await writeFile(join(pod, "ca.crt"), certificates.ca);
    await writeFile(join(pod, "namespace"), "prod\n");
    assert.equal(await inClusterKubeconfig({ env: {}, folder: pod }), undefined);
    const kubeconfig = await inClusterKubeconfig({ env, folder: pod });
    assert.ok(kubeconfig !== undefined);
    const connection = connect(kubeconfig, { env: {} });
    connections.push(connection);
    assert.equal((await askAgain(connection))["authorization"], "Bearer pod-token");
    assert.equal(connection.namespace, "prod");
  });
});
