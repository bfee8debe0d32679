/**
 * Goal: what released programs have stored is read by this one, and what newer ones have stored is
 * refused. Method: `formats/` holds a data directory and a backup of each stored format, as the
 * release that introduced it wrote them. They are never written again.
 */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import {
  type ControlPlane,
  controlPlaneDefaults,
  restore,
  type StorageOptions,
  startControlPlane,
} from "@kcp-ts/controlplane";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { configMaps, secrets } from "@kcp-ts/sdk/kinds";
import { etcdMissing, startEtcd } from "@kcp-ts/testkit";
import { temporaryFolder } from "./test-control-planes.ts";

const folder = fileURLToPath(
  new URL("../../../../tests/integration/backup/formats", import.meta.url),
);
const ignore = () => undefined;
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore, isDebugEnabled: false };
const embedded: StorageOptions = { kind: "embedded" };

function start(rootDirectory: string, storage = embedded): Promise<ControlPlane> {
  const options = { ...controlPlaneDefaults, bindAddress: "127.0.0.1", securePort: 0 };
  return startControlPlane({ ...options, rootDirectory, storage }, { log });
}

async function unpack(name: string, to: string): Promise<void> {
  await writeFile(to, gunzipSync(await readFile(join(folder, name))));
}

async function isComplete({ client }: ControlPlane): Promise<void> {
  const team = client.withBasePath("").inCluster("root:team");
  const key = { namespace: "default" };
  const kept = await team.resource(configMaps).get({ ...key, name: "kept" });
  assert.deepEqual(kept.data, { color: "blue" });
  const { data } = await team.resource(secrets).get({ ...key, name: "key" });
  assert.deepEqual(data, { word: Buffer.from("secret").toString("base64") });
  const path = "/apis/example.com/v1/namespaces/default/websites/shop";
  const response = await team.send({ method: "GET", path });
  const website = JSON.parse(await response.body.text(1 << 20)) as JsonObject;
  assert.deepEqual(website["spec"], { title: "Shop", pages: 1 });
  await team.resource(configMaps).create({ metadata: { ...key, name: "new" } });
}

const storeRecord = { namespace: "default", name: "kcp-store" };

async function restored(t: TestContext, storage: StorageOptions): Promise<ControlPlane> {
  const root = await temporaryFolder(t);
  const file = join(root, "store.backup");
  await unpack("format-1.backup.gz", file);
  const signal = new AbortController().signal;
  await restore({ file, rootDirectory: root, storage }, { log, signal });
  const server = await start(root, storage);
  t.after(() => server.stop());
  return server;
}

describe("data of format 1", () => {
  it("is read from its directory", async (t) => {
    const root = await temporaryFolder(t);
    const data = join(root, "data");
    await mkdir(data);
    for (const name of await readdir(join(folder, "format-1.data")))
      await unpack(join("format-1.data", name), join(data, name.replace(/\.gz$/, "")));
    const server = await start(root);
    t.after(() => server.stop());
    await isComplete(server);
  });

  it("is read from a backup", async (t) => {
    await isComplete(await restored(t, embedded));
  });

  it("is read from a backup in etcd", { skip: etcdMissing() ?? false }, async (t) => {
    const etcd = await startEtcd({ members: 1 });
    t.after(() => etcd.dispose());
    await isComplete(await restored(t, { kind: "etcd", servers: etcd.endpoints }));
  });
});

describe("data of a format to come", () => {
  it("is refused by a start, which says what to do", async (t) => {
    const root = await temporaryFolder(t);
    const server = await start(root);
    const stores = server.client.withBasePath("").inCluster("system:admin").resource(configMaps);
    const data = { format: "3", readableBy: "2", writtenBy: "0.3.0" };
    await stores.patch(storeRecord, { type: "merge", patch: { data } });
    await server.stop();
    await assert.rejects(
      start(root),
      /has format 3, written by kcp 0\.3\.0.*start kcp 0\.3\.0 or a newer one/,
    );
  });

  it("is served when this program can read it: a step back keeps its record", async (t) => {
    const root = await temporaryFolder(t);
    const first = await start(root);
    const storesOf = ({ client }: ControlPlane) =>
      client.withBasePath("").inCluster("system:admin").resource(configMaps);
    const data = { format: "2", readableBy: "1", writtenBy: "0.2.0" };
    await storesOf(first).patch(storeRecord, { type: "merge", patch: { data } });
    await first.stop();
    const back = await start(root);
    t.after(() => back.stop());
    assert.deepEqual((await storesOf(back).get(storeRecord)).data, data);
  });
});
