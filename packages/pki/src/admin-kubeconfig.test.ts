import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createSecureServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { systemClock } from "@kcp-ts/machinery/base";
import {
  AdminTokenError,
  type AdminTokens,
  ensureServingCertificates,
  loadOrCreateAdminTokens,
  tokenHash,
  writeAdminKubeconfig,
} from "./index.ts";

const caPem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const serverUrl = "https://kcp.example.com:6443";

const execute = promisify(execFile);

async function setup(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  t.after(() => rm(directory, { recursive: true }));
  const kubeconfigPath = join(directory, "admin.kubeconfig");
  const tokenStorePath = join(directory, ".admin-token-store");
  const load = () => loadOrCreateAdminTokens({ kubeconfigPath, tokenStorePath });
  const write = (tokens: AdminTokens, url = serverUrl, ca = caPem) =>
    writeAdminKubeconfig({
      path: kubeconfigPath,
      tokenStorePath,
      serverUrl: url,
      caPem: ca,
      ...tokens,
    });
  return { directory, kubeconfigPath, tokenStorePath, load, write };
}

function kubectl(kubeconfigPath: string, ...args: readonly string[]): string {
  const result = spawnSync("kubectl", ["--kubeconfig", kubeconfigPath, "config", ...args], {
    encoding: "utf8",
  });
  assert.equal(result.status, 0, result.stderr);
  return result.stdout;
}

function hasKubectl(t: TestContext): boolean {
  const found = spawnSync("kubectl", ["version", "--client"]).status === 0;
  if (!found) t.skip("kubectl is not on the PATH");
  return found;
}

/** Fails naming both files, and says what to do. */
function refuses(message: RegExp, ...paths: readonly string[]) {
  return (error: unknown) =>
    error instanceof AdminTokenError &&
    message.test(error.message) &&
    /restart/.test(error.message) &&
    paths.every((path) => error.message.includes(path));
}

describe("admin tokens", () => {
  it("are created from 32 random bytes each, and persist once they are written", async (t) => {
    const { load, write } = await setup(t);
    const made = await load();
    assert.match(made.adminToken, /^[A-Za-z0-9_-]{43}$/);
    assert.match(made.shardAdminToken, /^[A-Za-z0-9_-]{43}$/);
    assert.notEqual(made.adminToken, made.shardAdminToken);
    assert.notDeepEqual(await load(), made, "nothing was written yet");
    await write(made);
    assert.deepEqual(await load(), made);
    assert.deepEqual(await load(), made);
  });

  it("are in the kubeconfig only; the store has their hashes", async (t) => {
    const { load, write, tokenStorePath } = await setup(t);
    const made = await load();
    await write(made);
    const store = await readFile(tokenStorePath, "utf8");
    assert.deepEqual(JSON.parse(store), {
      "kcp-admin": tokenHash(made.adminToken),
      "shard-admin": tokenHash(made.shardAdminToken),
    });
  });

  it("are written to files for the owner alone, with nothing left beside them", async (t) => {
    const { load, write, directory, kubeconfigPath } = await setup(t);
    await writeFile(kubeconfigPath, "world-readable", { mode: 0o644 });
    await write(await load());
    const names = await readdir(directory);
    assert.deepEqual(names.sort(), [".admin-token-store", "admin.kubeconfig"]);
    for (const name of names) {
      assert.equal((await stat(join(directory, name))).mode & 0o777, 0o600);
    }
  });

  it("survive kubectl writing the kubeconfig in its own style", async (t) => {
    if (!hasKubectl(t)) return;
    const { load, write, kubeconfigPath } = await setup(t);
    const made = await load();
    await write(made);
    const before = await readFile(kubeconfigPath, "utf8");
    kubectl(kubeconfigPath, "use-context", "base");
    kubectl(kubeconfigPath, "set-context", "mine", "--user=kcp-admin", "--cluster=root");
    assert.notEqual(await readFile(kubeconfigPath, "utf8"), before);
    assert.deepEqual(await load(), made);
  });

  it("are created again when both files are missing, or the store alone", async (t) => {
    const { load, write, kubeconfigPath, tokenStorePath } = await setup(t);
    const made = await load();
    await write(made);
    await rm(tokenStorePath);
    const second = await load();
    assert.notEqual(second.adminToken, made.adminToken, "a kubeconfig alone proves nothing");
    assert.notEqual(second.shardAdminToken, made.shardAdminToken);
    await write(second);
    assert.deepEqual(await load(), second);
    await rm(tokenStorePath);
    await rm(kubeconfigPath);
    assert.notDeepEqual(await load(), second);
  });

  it("are rejected when the kubeconfig is missing and the store is not", async (t) => {
    const { load, write, kubeconfigPath, tokenStorePath } = await setup(t);
    await write(await load());
    await rm(kubeconfigPath);
    await assert.rejects(load(), refuses(/is gone/, kubeconfigPath, tokenStorePath));
  });

  for (const which of ["adminToken", "shardAdminToken"] as const) {
    it(`are refused when the ${which} in the kubeconfig is not the one in the store`, async (t) => {
      const { load, write, kubeconfigPath, tokenStorePath } = await setup(t);
      const made = await load();
      await write(made);
      const text = await readFile(kubeconfigPath, "utf8");
      for (const replacement of ["", "x".repeat(43), `${made[which]}x`, tokenHash(made[which])]) {
        await writeFile(kubeconfigPath, text.replace(made[which], replacement));
        await assert.rejects(
          load(),
          refuses(/^admin token in file .* is not valid anymore/, kubeconfigPath, tokenStorePath),
        );
      }
    });
  }

  it("are rejected when the store is corrupt", async (t) => {
    const { load, write, tokenStorePath } = await setup(t);
    await write(await load());
    const store = await readFile(tokenStorePath, "utf8");
    for (const content of ["", "{}", "x", store.slice(0, 100), store.replace("shard-admin", "y")]) {
      await writeFile(tokenStorePath, content);
      await assert.rejects(load(), refuses(/is damaged/, tokenStorePath));
    }
  });
});

describe("the admin kubeconfig", () => {
  it("has kcp's contexts, as kubectl reads them", async (t) => {
    if (!hasKubectl(t)) return;
    const { load, write, kubeconfigPath } = await setup(t);
    const tokens = await load();
    await write(tokens, `${serverUrl}/`);
    const view = JSON.parse(kubectl(kubeconfigPath, "view", "--raw", "-o", "json")) as View;
    assert.equal(kubectl(kubeconfigPath, "current-context").trim(), "root");
    const server = new Map(view.clusters.map(({ name, cluster }) => [name, cluster.server]));
    assert.deepEqual(
      view.contexts.map(({ name, context }) => [name, context.user, server.get(context.cluster)]),
      [
        ["root", "kcp-admin", `${serverUrl}/clusters/root`],
        ["base", "kcp-admin", serverUrl],
        ["system:admin", "shard-admin", `${serverUrl}/clusters/system:admin`],
        ["shard-base", "shard-admin", serverUrl],
      ].sort(byName),
    );
    assert.deepEqual(
      view.users.map(({ name, user }) => [name, user.token]),
      [
        ["kcp-admin", tokens.adminToken],
        ["shard-admin", tokens.shardAdminToken],
      ],
    );
    for (const { cluster } of view.clusters) {
      const ca = Buffer.from(cluster["certificate-authority-data"], "base64").toString("utf8");
      assert.equal(ca, caPem);
    }
  });

  it("works with kubectl: it trusts the serving certificate and sends the context's token", async (t) => {
    if (!hasKubectl(t)) return;
    const { directory, load, write, kubeconfigPath } = await setup(t);
    const certificates = await ensureServingCertificates({
      directory,
      hostnames: ["localhost"],
      clock: systemClock,
    });
    const tokens = await load();
    const requests: (string | undefined)[][] = [];
    const server = createSecureServer(
      { cert: certificates.certificatePem, key: certificates.privateKeyPem },
      (request, response) => {
        requests.push([request.url, request.headers.authorization]);
        response.setHeader("content-type", "application/json");
        response.end('{"major":"1","minor":"36","gitVersion":"v1.36.4"}');
      },
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => new Promise((resolve) => server.close(resolve)));
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    await write(tokens, `https://localhost:${address.port}`, certificates.caPem);

    for (const [context, prefix, token] of [
      ["root", "/clusters/root", tokens.adminToken],
      ["base", "", tokens.adminToken],
      ["system:admin", "/clusters/system:admin", tokens.shardAdminToken],
      ["shard-base", "", tokens.shardAdminToken],
    ] as const) {
      const options = ["--kubeconfig", kubeconfigPath, "--context", context];
      const { stdout } = await execute("kubectl", [...options, "version", "-o", "json"]);
      assert.match(stdout, /"gitVersion": "v1\.36\.4"/);
      const [path, authorization] = requests.at(-1) ?? [];
      assert.equal(path?.split("?")[0], `${prefix}/version`);
      assert.equal(authorization, `Bearer ${token}`);
    }
  });

  it("follows the server to another address with the same tokens", async (t) => {
    if (!hasKubectl(t)) return;
    const { load, write, kubeconfigPath } = await setup(t);
    await write(await load());
    await write(await load(), "https://[::1]:7443");
    const template = "{.clusters[0].cluster.server} {.clusters[3].cluster.server}";
    const shown = kubectl(kubeconfigPath, "view", "-o", `jsonpath=${template}`);
    assert.match(shown, /^https:\/\/\[::1\]:7443 .*\/clusters\/system:admin$/);
  });
});

interface View {
  readonly clusters: readonly {
    readonly name: string;
    readonly cluster: { readonly server: string; readonly "certificate-authority-data": string };
  }[];
  readonly contexts: readonly {
    readonly name: string;
    readonly context: { readonly user: string; readonly cluster: string };
  }[];
  readonly users: readonly { readonly name: string; readonly user: { readonly token: string } }[];
}

/** kubectl sorts what it shows by name. */
function byName([left = ""]: readonly string[], [right = ""]: readonly string[]): number {
  return left < right ? -1 : 1;
}
