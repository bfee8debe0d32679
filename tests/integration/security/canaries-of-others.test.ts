/**
 * Goal: secrets that come from others or go to others are nowhere in what the process writes or
 * tells: kubeconfigs of physical clusters, tokens that the server issues and those of its
 * administrators and issuers, what webhooks are registered with, bodies of Secrets that are
 * refused.
 *
 * Method: as in `canaries.test.ts`, once per level of audit below the one that shows everything.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseAuditPolicy } from "@kcp-ts/apiserver";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { createLog } from "@kcp-ts/controlplane";
import { ControlPlaneCore, processUser } from "@kcp-ts/controlplane/internal";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { eventually } from "@kcp-ts/testkit";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const json = "application/json";
const secrets = "/api/v1/namespaces/default/secrets";
const targets = "/apis/workload.kcp.io/v1alpha1/synctargets";
const accounts = "/api/v1/namespaces/default/serviceaccounts";
const webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
/** Nobody listens there. */
const nowhere = "https://127.0.0.1:1";

class Trial {
  readonly written: string[] = [];
  readonly audited: string[] = [];
  /** Refusals, and what everybody may read. */
  readonly told: string[] = [];
  readonly canaries = new Set<string>();
  readonly #storage = new MemoryStorage();
  readonly #level: string;
  readonly adminToken = this.canary("admin-token");
  #core: ControlPlaneCore | undefined;

  constructor(level: string) {
    this.#level = level;
  }

  get core(): ControlPlaneCore {
    assert.ok(this.#core !== undefined);
    return this.#core;
  }

  async start(): Promise<void> {
    const write = (line: string) => void this.written.push(line);
    this.#core = await ControlPlaneCore.compose({
      storage: this.#storage,
      tokens: { adminToken: this.adminToken, shardAdminToken: this.canary("shard-admin-token") },
      anonymousAuth: true,
      oidcIssuerUrl: `${nowhere}/issuer`,
      oidcClientId: "kcp",
      extensions: {},
      clock: systemClock,
      random: systemRandom,
      log: createLog({ format: "json", verbosity: 9, write }),
      audit: {
        policy: parseAuditPolicy({
          apiVersion: "audit.k8s.io/v1",
          kind: "Policy",
          rules: [{ level: this.#level }],
        }),
        backends: () => [
          {
            name: "memory",
            write: (event) => void this.audited.push(JSON.stringify(event)),
            close: async () => {},
          },
        ],
      },
    });
    await this.core.start();
    await this.core.server.bootstrap("https://localhost:6443");
    this.core.startControlLoops({ caPem: "", physicalClusters: {} });
  }

  async stop(): Promise<void> {
    await this.core.stopControllers();
    await this.core.server.close();
    await this.#storage.close();
  }

  canary(where: string): string {
    return this.plant(`canary-${where}-${this.canaries.size}-wq8zj`);
  }

  plant(value: string): string {
    assert.ok(value.length > 8);
    this.canaries.add(value);
    return value;
  }

  async send(method: string, target: string, body?: object | string, more: object = {}) {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const answer = await this.core.handle({
      method,
      target,
      headers: {
        authorization: `Bearer ${this.core.identities.tokenFor(processUser)}`,
        ...(text === undefined ? {} : { "content-type": json }),
        ...more,
      },
      remoteAddress: "127.0.0.1",
      clientCertificate: undefined,
      onClose: () => {},
      readBody: async () => Buffer.from(text ?? ""),
    });
    const { body: said } = answer;
    return { status: answer.status, text: said instanceof Uint8Array ? String(said) : "" };
  }

  async must(...request: Parameters<Trial["send"]>): Promise<string> {
    const { status, text } = await this.send(...request);
    assert.ok(status < 300, `${request[0]} ${request[1]}: ${status} ${text}`);
    return text;
  }

  /** What is said of it must not repeat the secret even to its sender, since it is audited. */
  async refused(...request: Parameters<Trial["send"]>): Promise<void> {
    const { status, text } = await this.send(...request);
    assert.ok(status >= 400, `${request[0]} ${request[1]}: ${status}`);
    this.told.push(text);
  }
}

const kubeconfig = (token: string, more: object = {}) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: nowhere, ...more } }],
    users: [{ name: "u", user: { token } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    "current-context": "c",
  });
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

async function physicalClusters(trial: Trial): Promise<void> {
  const target = (name: string, spec: object) => ({
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "SyncTarget",
    metadata: { name },
    spec,
  });
  const text = kubeconfig(trial.canary("kubeconfig"));
  const applied = JSON.stringify(target("plain", { kubeconfig: text }));
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": applied };
  const plain = target("plain", { kubeconfig: text });
  await trial.must("POST", targets, { ...plain, metadata: { name: "plain", annotations } });
  const data = { kubeconfig: base64(kubeconfig(trial.canary("secret-kubeconfig"))) };
  await trial.must("POST", secrets, { metadata: { name: "kubeconfig" }, data });
  const kubeconfigSecretRef = { namespace: "default", name: "kubeconfig" };
  await trial.must("POST", targets, target("referring", { kubeconfigSecretRef }));
  const broken = trial.canary("broken-kubeconfig");
  const doubtful = [
    `{"users": [${broken}`,
    broken,
    kubeconfig(trial.canary("bad-authority"), { "certificate-authority-data": broken }),
    kubeconfig(trial.canary("bad-server"), { server: `ftp://u:${broken}@x` }),
    kubeconfig(trial.canary("server"), { server: `https://u:${broken}@127.0.0.1:1` }),
    kubeconfig(trial.canary("proxied"), { "proxy-url": `http://u:${broken}@127.0.0.1:1` }),
    kubeconfig(trial.canary("bad-proxy"), { "proxy-url": `socks5://u:${broken}@127.0.0.1:1` }),
  ];
  let taken = 2;
  for (const [at, text] of doubtful.entries()) {
    const { status, text: said } = await trial.send(
      "POST",
      targets,
      target(`doubtful-${at}`, { kubeconfig: text }),
    );
    if (status < 300) taken += 1;
    else trial.told.push(said);
  }
  await trial.refused(
    "PATCH",
    `${targets}/plain`,
    { spec: { kubeconfig: broken } },
    { "content-type": "application/merge-patch+json" },
  );
  await eventually(
    async () => {
      const list = await trial.must("GET", targets);
      assert.equal(list.match(/"type":"Ready"/g)?.length, taken, list);
      trial.told.push(list);
    },
    { timeoutMs: 60_000 },
  );
}

async function tokens(trial: Trial): Promise<void> {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  await trial.must("POST", accounts, { metadata: { name: "bot" } });
  const issued = JSON.parse(await trial.must("POST", `${accounts}/bot/token`, body));
  const token = String(issued.status.token);
  trial.plant(token.split(".")[2] ?? "");
  await trial.send("GET", secrets, undefined, { authorization: `Bearer ${token}` });
  await trial.refused("GET", secrets, undefined, { authorization: `Bearer ${token}x` });
  await trial.must("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token },
  });
  await trial.must("GET", "/api", undefined, { authorization: `Bearer ${trial.adminToken}` });
  const claims = { iss: `${nowhere}/issuer`, aud: "kcp", exp: 9_999_999_999 };
  const issuers = `${part({ alg: "RS256", kid: "k" })}.${part({ ...claims, sub: trial.canary("claim") })}`;
  await trial.refused("GET", secrets, undefined, {
    authorization: `Bearer ${issuers}.${trial.canary("signature")}`,
  });
  await trial.refused("GET", "/api/v1/nodes", undefined, {
    authorization: "Basic x",
    cookie: `session=${trial.canary("cookie")}`,
    "sec-websocket-protocol": `base64url.bearer.authorization.k8s.io.${trial.canary("websocket")}`,
    "proxy-authorization": `Basic ${base64(trial.canary("proxy"))}`,
  });
}

async function secretsThatAreRefused(trial: Trial): Promise<void> {
  const secret = (name: string, type: string, data: object, more: object = {}) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    type,
    stringData: data,
    ...more,
  });
  const value = () => trial.canary("value");
  for (const [type, key] of [
    ["kubernetes.io/tls", "tls.key"],
    ["kubernetes.io/ssh-auth", "ssh-key"],
    ["kubernetes.io/basic-auth", "pass"],
    ["kubernetes.io/dockercfg", ".dockercfg"],
    ["kubernetes.io/service-account-token", "token"],
  ] as const)
    await trial.refused("POST", secrets, secret("t", type, { [key]: value() }));
  const fixed = { immutable: true };
  await trial.must("POST", secrets, secret("fixed", "Opaque", { a: value() }, fixed));
  await trial.refused("PUT", `${secrets}/fixed`, secret("fixed", "Opaque", { a: value() }, fixed));
  const long = `${value()}${"x".repeat(1 << 20)}`;
  await trial.refused("POST", secrets, secret("long", "Opaque", { a: long }));
  await trial.refused("POST", secrets, secret("Bad Name", "Opaque", { a: value() }));
  await trial.refused("POST", secrets, secret("odd", "Opaque", { a: value() }, { metadata: 5 }));
  for (const type of ["apply-patch+yaml", "strategic-merge-patch+json", "merge-patch+json"])
    await trial.refused(
      "PATCH",
      `${secrets}/fixed?fieldManager=f`,
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "fixed" },
        data: { a: { b: value() } },
      },
      { "content-type": `application/${type}` },
    );
  await trial.refused("POST", secrets, value(), {
    "content-type": "application/vnd.kubernetes.protobuf",
  });
}

/** What a tenant put where it does not belong, and what a webhook was to see. */
async function webhooksThatFail(trial: Trial): Promise<void> {
  const key = `-----BEGIN PRIVATE KEY-----\n${trial.canary("bundle-key")}\n-----END PRIVATE KEY-----`;
  await trial.must("POST", webhooks, {
    metadata: { name: "keys" },
    webhooks: [hook({ url: nowhere, caBundle: base64(key) })],
  });
  await trial.must("POST", webhooks, {
    metadata: { name: "down" },
    webhooks: [hook({ url: `${nowhere}/hook` })],
  });
  await trial.refused("POST", secrets, {
    metadata: { name: "reviewed" },
    stringData: { a: trial.canary("reviewed") },
  });
  for (const name of ["keys", "down"]) await trial.must("DELETE", `${webhooks}/${name}`);
}

const hook = (clientConfig: object) => ({
  name: "a.b.example",
  admissionReviewVersions: ["v1"],
  sideEffects: "None",
  clientConfig,
  rules: [{ operations: ["*"], apiGroups: [""], apiVersions: ["*"], resources: ["secrets"] }],
});

for (const level of ["Metadata", "Request"]) {
  describe(`canaries of others, with audit at level ${level}`, () => {
    const trial = new Trial(level);
    before(async () => {
      await trial.start();
      await tokens(trial);
      await secretsThatAreRefused(trial);
      await physicalClusters(trial);
      if (level === "Metadata") await webhooksThatFail(trial);
    });
    after(() => trial.stop());

    it("went through every door", () => {
      assert.ok(trial.canaries.size > 25, String(trial.canaries.size));
      assert.ok(trial.written.some((line) => line.includes("keys of an issuer")));
      for (const resource of ["secrets", "synctargets", "tokenreviews"])
        assert.ok(trial.audited.some((line) => line.includes(`"resource":"${resource}"`)));
    });

    const places: readonly (readonly [string, () => Promise<readonly string[]>])[] = [
      ["the log", async () => trial.written],
      ["the audit", async () => trial.audited],
      ["refusals, and what readers of SyncTargets see", async () => trial.told],
      ["the metrics", async () => [(await trial.send("GET", "/metrics")).text]],
    ];
    for (const [place, read] of places) {
      it(`are not in ${place}`, async () => {
        const lines = await read();
        assert.ok(lines.length > 0);
        for (const value of trial.canaries)
          for (const form of [value, base64(value).replace(/=+$/, "").slice(0, -2)])
            assert.deepEqual(
              lines.filter((line) => line.includes(form)).map((line) => line.slice(0, 2000)),
              [],
              value,
            );
      });
    }
  });
}
