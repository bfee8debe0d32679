/**
 * kubectl's ways to authenticate: tokens of service accounts, impersonation, approved certificates.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { eventually, findKubectl, kubectlMissing } from "@kcp-ts/testkit";
import { type KcpProcess, startKcp, temporaryFolder } from "./kcp-process.ts";
import { Kubectl } from "./kubectl.ts";

describe("kubectl authenticates", { skip: kubectlMissing() ?? false }, () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  let kcp: KcpProcess;
  let folder: string;
  let kubectl: Kubectl;
  /** With no credentials of its own. */
  let bare: (cluster: string) => Kubectl;

  before(async () => {
    folder = await temporaryFolder({ after: (cleanup) => cleanups.unshift(cleanup) });
    kcp = await startKcp(join(folder, "root"), "--storage", "memory");
    cleanups.unshift(() => kcp.stop());
    const binary = findKubectl() as string;
    const cache = join(folder, "cache");
    kubectl = new Kubectl(binary, cache, ["--kubeconfig", kcp.kubeconfig]);
    const config = await kubectl.json<{
      clusters: { cluster: { "certificate-authority-data": string } }[];
    }>("config", "view", "--raw");
    const ca = join(folder, "ca.crt");
    const data = config.clusters[0]?.cluster["certificate-authority-data"] ?? "";
    await writeFile(ca, Buffer.from(data, "base64"));
    const nothing = join(folder, "empty.kubeconfig");
    await writeFile(nothing, "apiVersion: v1\nkind: Config\n");
    bare = (cluster) =>
      new Kubectl(binary, cache, [
        ...["--kubeconfig", nothing],
        ...["--server", `${kcp.url}/clusters/${cluster}`],
        ...["--certificate-authority", ca],
      ]);
  });
  after(async () => {
    for (const cleanup of cleanups) await cleanup();
  });

  /** Whom a refused request names. */
  const refusedUser = async (as: Kubectl): Promise<string> => {
    const { code, stderr } = await as.try("get", "secrets");
    assert.notEqual(code, 0);
    return /User "([^"]*)"/.exec(stderr)?.[1] ?? stderr;
  };

  it("with a token that it made, until the account is gone", async () => {
    await kubectl.run("create", "serviceaccount", "robot");
    const token = (await kubectl.run("create", "token", "robot")).trim();
    const robot = "system:serviceaccount:default:robot";
    assert.equal(await refusedUser(bare("root").with("--token", token)), robot);
    const short = await kubectl.try("create", "token", "robot", "--duration", "1m");
    assert.match(short.stderr, /may not specify a duration less than 10 minutes/);
    await kubectl.run("delete", "serviceaccount", "robot");
    assert.match(
      await refusedUser(bare("root").with("--token", token)),
      /must be logged in|Unauthorized/,
    );
    assert.equal((await stat(join(folder, "root", "sa.key"))).mode & 0o777, 0o600);
  });

  it("with the token in a secret", async () => {
    await kubectl.run("create", "serviceaccount", "legacy");
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      type: "kubernetes.io/service-account-token",
      metadata: { name: "legacy", annotations: { "kubernetes.io/service-account.name": "legacy" } },
    };
    await kubectl.feed(JSON.stringify(secret), "apply", "-f", "-");
    const token = await eventually(async () => {
      const { data } = await kubectl.json<{ data?: { token?: string } }>("get", "secret", "legacy");
      assert.ok(data?.token !== undefined);
      return Buffer.from(data.token, "base64").toString();
    });
    assert.equal(
      await refusedUser(bare("root").with("--token", token)),
      "system:serviceaccount:default:legacy",
    );
  });

  it("as another user, with --as and the flags that go with it", async () => {
    assert.equal(await refusedUser(kubectl.with("--as", "alice")), "alice");
    const accountName = "system:serviceaccount:default:default";
    assert.equal(await refusedUser(kubectl.with("--as", accountName)), accountName);
    const admin = kubectl.with(
      "--as",
      "alice",
      "--as-group",
      "dev",
      "--as-group",
      "system:kcp:admin",
    );
    await admin.run("get", "secrets");
    const masters = await kubectl
      .with("--as", "x", "--as-group", "system:masters")
      .try("get", "secrets");
    assert.match(masters.stderr, /impersonation is not allowed for the requestor/);
    const groupOnly = await kubectl.with("--as-group", "dev").try("get", "secrets");
    assert.notEqual(groupOnly.code, 0);
  });

  it("with a certificate that was approved", async () => {
    const key = join(folder, "alice.key");
    const request = execFileSync(
      "openssl",
      ["req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-subj", "/O=dev/CN=alice"],
      { stdio: ["ignore", "pipe", "ignore"] },
    );
    const csr = {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: "alice" },
      spec: {
        request: request.toString("base64"),
        signerName: "kubernetes.io/kube-apiserver-client",
        usages: ["client auth"],
        expirationSeconds: 3600,
      },
    };
    await kubectl.feed(JSON.stringify(csr), "create", "-f", "-");
    assert.match(await kubectl.run("get", "csr"), /alice.*Pending/);
    await kubectl.run("certificate", "approve", "alice");
    const certificate = await eventually(async () => {
      const { status } = await kubectl.json<{ status: { certificate?: string } }>(
        "get",
        "csr",
        "alice",
      );
      assert.ok(status.certificate !== undefined);
      return Buffer.from(status.certificate, "base64");
    });
    assert.match(await kubectl.run("get", "csr"), /alice.*Approved,Issued/);
    const file = join(folder, "alice.crt");
    await writeFile(file, certificate);
    const alice = bare("root").with("--client-certificate", file, "--client-key", key);
    assert.equal(await refusedUser(alice), "alice");
    assert.match(
      await readFile(join(folder, "root", "client-ca.crt"), "utf8"),
      /BEGIN CERTIFICATE/,
    );
  });
});
