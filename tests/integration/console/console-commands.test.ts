/** The console as commands open it: with the credentials of a kubeconfig, and beside the demo. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { createCertificateAuthority, generateKey, issueCertificate } from "@kcp-ts/pki";
import { startCommand, startConsoleCommand } from "./console-command.ts";
import { browserMissing, ConsoleEnvironment, serviceAccountToken } from "./console-environment.ts";

describe("the console of a command", { skip: browserMissing, timeout: 900_000 }, () => {
  let environment: ConsoleEnvironment;
  let folder: string;
  const now = systemClock.now();
  const authority = createCertificateAuthority({ commonName: "people", now });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "kcp-console-commands-"));
    const clientCaFile = join(folder, "ca.crt");
    await writeFile(clientCaFile, authority.certificatePem);
    environment = await ConsoleEnvironment.open([], { clientCaFile });
  });
  after(async () => {
    await environment.close();
    await rm(folder, { recursive: true });
  });

  /** A kubeconfig of the server with another user. */
  async function kubeconfigFor(name: string, user: object): Promise<string> {
    const admins = await readFile(environment.plane.kubeconfigPath, "utf8");
    const ca = /certificate-authority-data: "?([\w+/=]+)/.exec(admins)?.[1];
    const path = join(folder, `${name}.kubeconfig`);
    const cluster = {
      server: `${environment.plane.url}/clusters/root`,
      "certificate-authority-data": ca,
    };
    const kubeconfig = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "root", cluster }],
      users: [{ name, user }],
      contexts: [{ name, context: { cluster: "root", user: name } }],
      "current-context": name,
    };
    await writeFile(path, JSON.stringify(kubeconfig));
    return path;
  }

  async function assertUser(kubeconfig: string, context: string, user: string): Promise<void> {
    const { url, stop } = await startConsoleCommand(kubeconfig, context);
    const page = await environment.page("", "");
    try {
      await page.goto(url);
      await page.getByText(user, { exact: true }).waitFor();
      await page.getByRole("heading", { level: 1, name: "root", exact: true }).waitFor();
      const kept = await page.evaluate<string>(
        "JSON.stringify([{ ...localStorage }, { ...sessionStorage }]) + document.cookie",
      );
      assert.equal(kept, "[{},{}]", "no credential is in the page");
      assert.deepEqual(environment.problems.splice(0), []);
    } finally {
      await page.close();
      await stop();
    }
  }

  it("kcp console uses a client certificate, which no page can have", async () => {
    const key = generateKey();
    const { certificatePem } = issueCertificate({
      authority,
      subject: { commonName: "alice", organizations: ["system:kcp:admin"] },
      purposes: ["clientAuth"],
      key,
      now,
    });
    const keyPem = key.export({ type: "pkcs8", format: "pem" });
    const kubeconfig = await kubeconfigFor("alice", {
      "client-certificate-data": Buffer.from(certificatePem).toString("base64"),
      "client-key-data": Buffer.from(keyPem).toString("base64"),
    });
    await assertUser(kubeconfig, "alice", "alice");
  });

  it("kcp console uses an exec plug-in, whose token stays in the command", async () => {
    const { token } = await serviceAccountToken(environment, "plugged", "cluster-admin");
    const program = join(folder, "login.mjs");
    const credential = {
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      status: { token },
    };
    await writeFile(program, `process.stdout.write(${JSON.stringify(JSON.stringify(credential))})`);
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: process.execPath,
      args: [program],
      interactiveMode: "Never",
    };
    const kubeconfig = await kubeconfigFor("plugged", { exec });
    await assertUser(kubeconfig, "plugged", "system:serviceaccount:default:plugged");
  });

  it("kcp demo --console prints an address, and the page shows what the demo does", async () => {
    const { url, stop } = await startCommand("demo", "--auto", "--keep", "--console");
    try {
      const page = await environment.page("", "");
      await page.goto(url);
      await page.getByRole("heading", { level: 1, name: "root", exact: true }).waitFor();
      await page.getByRole("link", { name: "Clusters", exact: true }).click();
      for (const name of ["us-east1", "us-west1"])
        await page.getByRole("row", { name: new RegExp(`^${name} `) }).waitFor();
      await page.getByRole("link", { name: "Placements", exact: true }).click();
      await page.getByRole("link", { name: "deployment-my-deployment", exact: true }).waitFor();
      assert.deepEqual(environment.problems.splice(0), []);
      await page.close();
    } finally {
      await stop();
    }
  });
});
