/**
 * Goal: Secrets are encrypted in the files of the store and in backups, survive a restart and a
 * rotation, and a server without the key does not show them.
 */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { backup, controlPlaneDefaults, createLog, startControlPlane } from "@kcp-ts/controlplane";
import { neverAborted } from "@kcp-ts/machinery/base";
import { configMaps, secrets } from "@kcp-ts/sdk/kinds";

const canary = "canary-of-a-secret-value";
const stringData = { password: canary };

function keys(...names: readonly string[]): string {
  const list = names.map((name) => ({ name, secret: Buffer.alloc(32, name).toString("base64") }));
  return JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [
      { resources: ["secrets"], providers: [{ aesgcm: { keys: list } }, { identity: {} }] },
    ],
  });
}

async function bytesOf(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  return (await Promise.all(files.map((file) => readFile(file, "latin1")))).join("");
}

describe("encryption at rest", () => {
  it("holds in files, in backups, over restarts and rotations", async (t) => {
    const rootDirectory = await mkdtemp(join(tmpdir(), "kcp-encryption-"));
    t.after(() => rm(rootDirectory, { recursive: true, force: true }));
    const path = join(rootDirectory, "encryption.json");
    const log = createLog({ format: "json", verbosity: 0, write: () => undefined });
    const start = async (config: string | undefined) => {
      if (config !== undefined) await writeFile(path, config);
      const plane = await startControlPlane(
        {
          ...controlPlaneDefaults,
          controllers: false,
          physicalClusters: undefined,
          rootDirectory,
          bindAddress: "127.0.0.1",
          securePort: 0,
          encryptionProviderConfig: config === undefined ? undefined : path,
        },
        { log },
      );
      t.after(() => plane.stop());
      const read = async () =>
        (await plane.client.resource(secrets).get({ namespace: "default", name: "db" })).data?.[
          "password"
        ];
      return { plane, read };
    };
    const value = Buffer.from(canary).toString("base64");
    const first = await start(keys("one"));
    const at = { namespace: "default", name: "db" };
    await first.plane.client.resource(secrets).create({ metadata: at, stringData });
    await first.plane.client
      .resource(configMaps)
      .create({ metadata: at, data: { plain: "visible" } });
    assert.equal(await first.read(), value);
    await first.plane.stop();
    const stored = await bytesOf(join(rootDirectory, "data"));
    assert.ok(!stored.includes(value) && !stored.includes(canary), "no Secret in the files");
    assert.ok(stored.includes("visible"), "ConfigMaps are not chosen");

    const file = join(rootDirectory, "backup");
    await backup(
      { file, rootDirectory, storage: { kind: "embedded" } },
      { log, signal: neverAborted },
    );
    assert.ok(!(await readFile(file, "latin1")).includes(value), "no Secret in the backup");

    const rotated = await start(keys("two", "one"));
    assert.equal(await rotated.read(), value);
    await rotated.plane.stop();
    const alone = await start(keys("two"));
    assert.equal(await alone.read(), value, "rewritten by the first key at the last start");
    await alone.plane.stop();

    const without = await start(undefined);
    await assert.rejects(without.read(), /no stored object|500|Internal/i);
    const { items } = await without.plane.client.resource(secrets).list({ namespace: "default" });
    assert.deepEqual(
      items.filter(({ metadata }) => metadata.name === "db"),
      [],
    );
    await without.plane.stop();
  });

  it("a configuration that cannot be read is said at the start", async (t) => {
    const rootDirectory = await mkdtemp(join(tmpdir(), "kcp-encryption-"));
    t.after(() => rm(rootDirectory, { recursive: true, force: true }));
    const log = createLog({ format: "json", verbosity: 0, write: () => undefined });
    await assert.rejects(
      startControlPlane(
        {
          ...controlPlaneDefaults,
          rootDirectory,
          securePort: 0,
          encryptionProviderConfig: "/none",
        },
        { log },
      ),
      /--encryption-provider-config names, \/none/,
    );
  });
});
