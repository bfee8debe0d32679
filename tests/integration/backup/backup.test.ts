/** Backups of running and stopped control planes, and what comes back of them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { decodeObject, readBackup } from "@kcp-ts/apiserver";
import type { StorageOptions } from "@kcp-ts/controlplane";
import { backup, restore } from "@kcp-ts/controlplane";
import { readBackupFile } from "@kcp-ts/controlplane/internal";
import type { Client } from "@kcp-ts/sdk";
import { etcdMissing, startEtcd } from "@kcp-ts/testkit";
import {
  type ConfigMap,
  configMaps,
  startControlPlaneForBackup,
  temporaryFolder,
  withoutLog,
} from "./test-control-planes.ts";

const embedded: StorageOptions = { kind: "embedded" };
const clusters = ["root", "team-a", "team-b"];

async function fill(client: (cluster: string) => Client): Promise<void> {
  for (const cluster of clusters) {
    const maps = client(cluster).resource(configMaps);
    for (let index = 0; index < 20; index++) {
      const metadata = { name: `map-${index}`, namespace: "default" };
      const created = await maps.create({ metadata, data: { cluster, index: String(index) } });
      if (index % 3 === 0) await maps.update({ ...created, data: { changed: "yes" } });
      if (index % 7 === 6) await maps.delete(metadata);
    }
  }
}

async function everything(client: (cluster: string) => Client): Promise<readonly ConfigMap[]> {
  return (await client("*").resource(configMaps).list()).items;
}

function withoutVersion({ metadata, ...rest }: ConfigMap): object {
  const { resourceVersion, ...others } = metadata;
  assert.ok(resourceVersion !== undefined);
  return { ...rest, metadata: others };
}

describe("a backup of embedded storage", () => {
  it("brings back objects, uids and revisions, whether it was taken through the server or not", async (t) => {
    const folder = await temporaryFolder(t);
    const root = join(folder, "first");
    const first = await startControlPlaneForBackup(t, root);
    await fill(first.client);
    const before = await everything(first.client);
    const live = await backup(
      { file: join(folder, "live"), rootDirectory: root, storage: embedded },
      withoutLog(),
    );
    await first.stop();
    const cold = await backup(
      { file: join(folder, "cold"), rootDirectory: root, storage: embedded },
      withoutLog(),
    );
    assert.deepEqual([live.source, cold.source], ["server", "embedded"]);
    assert.deepEqual([live.entries, live.revision], [cold.entries, cold.revision]);

    for (const { file } of [live, cold]) {
      const rootDirectory = `${file}-restored`;
      const restored = await restore({ file, rootDirectory, storage: embedded }, withoutLog());
      assert.deepEqual([restored.revision, restored.keepsRevisions], [live.revision, true]);
      const second = await startControlPlaneForBackup(t, rootDirectory);
      assert.deepEqual(await everything(second.client), before);
      const metadata = { name: "next", namespace: "default" };
      const next = await second.client("root").resource(configMaps).create({ metadata });
      assert.equal(Number(next.metadata.resourceVersion), live.revision + 1);
      await second.stop();
    }
  });

  it("is never half of what was written in order, under heavy writes", async (t) => {
    const folder = await temporaryFolder(t);
    const { client, stop } = await startControlPlaneForBackup(t, folder);
    const done = new AbortController();
    const writers = Array.from({ length: 8 }, (_, chain) =>
      writeChain(client(`team-${chain % 3}`), `chain-${chain}`, done.signal),
    );
    for (let round = 0; round < 5; round++) {
      const file = join(folder, `backup-${round}`);
      const { source } = await backup(
        { file, rootDirectory: folder, storage: embedded },
        withoutLog(),
      );
      assert.equal(source, "server");
      await checkChains(file);
    }
    done.abort();
    const rounds = await Promise.all(writers);
    assert.ok(Math.min(...rounds) > 1, `chains went ${rounds} rounds`);
    await stop();
  });

  it("is for the owner alone, and nothing else is left beside it", async (t) => {
    const folder = await temporaryFolder(t);
    const { stop } = await startControlPlaneForBackup(t, join(folder, "root"));
    await stop();
    const out = await temporaryFolder(t);
    const file = join(out, "b");
    await writeFile(file, "an older backup", { mode: 0o644 });
    const options = { file, rootDirectory: join(folder, "root"), storage: embedded };
    await backup(options, withoutLog());
    assert.deepEqual(await readdir(out), ["b"]);
    assert.equal((await stat(file)).mode & 0o777, 0o600);

    const older = await readFile(file);
    const aborted = { ...withoutLog(), signal: AbortSignal.abort(new Error("enough")) };
    await assert.rejects(backup(options, aborted), /enough/);
    assert.deepEqual(await readdir(out), ["b"]);
    assert.deepEqual(await readFile(file), older);
  });

  it("needs data to be there", async (t) => {
    const folder = await temporaryFolder(t);
    await assert.rejects(
      backup({ file: join(folder, "b"), rootDirectory: folder, storage: embedded }, withoutLog()),
      /there is no data in .*\/data: name the server's --root-directory/,
    );
    assert.deepEqual(await readdir(folder), []);
  });
});

/** a, then b, then c get the number of the round: at any moment c is one round behind a at most. */
async function writeChain(client: Client, name: string, signal: AbortSignal): Promise<number> {
  const maps = client.resource(configMaps);
  const objects = new Map<string, ConfigMap>();
  let round = 0;
  for (; !signal.aborted; round++) {
    for (const link of ["a", "b", "c"]) {
      const metadata = { name: `${name}-${link}`, namespace: "default" };
      const data = { round: String(round), filling: "x".repeat(2000) };
      const old = objects.get(link);
      const written =
        old === undefined ? maps.create({ metadata, data }) : maps.update({ ...old, data });
      objects.set(link, await written);
    }
  }
  return round;
}

async function checkChains(file: string): Promise<void> {
  const rounds = new Map<string, number>();
  for await (const entry of (await readBackup(readBackupFile(file))).entries) {
    const name = entry.key.split("/").at(-1) as string;
    if (!name.startsWith("chain-")) continue;
    const object = decodeObject(entry) as unknown as ConfigMap;
    rounds.set(name, Number(object.data?.["round"]));
  }
  for (let chain = 0; chain < 8; chain++) {
    const [a, b, c] = ["a", "b", "c"].map((link) => rounds.get(`chain-${chain}-${link}`) ?? -1);
    assert.ok(a !== undefined && b !== undefined && c !== undefined);
    assert.ok(a >= b && b >= c && a - c <= 1, `chain ${chain} is at ${a}, ${b}, ${c}`);
  }
}

describe("a restore", () => {
  async function smallBackup(t: TestContext): Promise<{ folder: string; file: string }> {
    const folder = await temporaryFolder(t);
    const rootDirectory = join(folder, "root");
    const { client, stop } = await startControlPlaneForBackup(t, rootDirectory);
    await fill(client);
    await stop();
    const file = join(folder, "backup");
    await backup({ file, rootDirectory, storage: embedded }, withoutLog());
    return { folder, file };
  }

  it("refuses a store that holds data, and says what to do", async (t) => {
    const { folder, file } = await smallBackup(t);
    const options = { file, rootDirectory: join(folder, "root"), storage: embedded };
    await assert.rejects(
      restore(options, withoutLog()),
      /root\/data already holds data: restore into another --root-directory, or move that folder/,
    );
    const again = { file: join(folder, "again"), rootDirectory: options.rootDirectory };
    await backup({ ...again, storage: embedded }, withoutLog());
    const [before, after] = await Promise.all([readAll(file), readAll(again.file)]);
    assert.deepEqual(after, before, "and leaves it as it is");
  });

  it("refuses a store that a server has open", async (t) => {
    const { folder, file } = await smallBackup(t);
    const rootDirectory = join(folder, "other");
    await startControlPlaneForBackup(t, rootDirectory);
    await assert.rejects(
      restore({ file, rootDirectory, storage: embedded }, withoutLog()),
      /in use/,
    );
  });

  it("writes nothing from a file that is damaged or cut short", async (t) => {
    const { folder, file } = await smallBackup(t);
    const rootDirectory = join(folder, "target");
    const { size } = await stat(file);
    await truncate(file, size - 1);
    const options = { file, rootDirectory, storage: embedded };
    await assert.rejects(restore(options, withoutLog()), /cut short/);
    const bytes = await readFile(file);
    bytes.writeUInt8(bytes.readUInt8(size >> 1) ^ 1, size >> 1);
    await writeFile(file, bytes);
    await assert.rejects(restore(options, withoutLog()), /damaged/);
    await assert.rejects(stat(rootDirectory), { code: "ENOENT" });
  });

  it("goes only where data is kept", async (t) => {
    const { folder, file } = await smallBackup(t);
    const options = { file, rootDirectory: folder, storage: { kind: "memory" } } as const;
    await assert.rejects(restore(options, withoutLog()), /--storage memory keeps nothing/);
  });
});

async function readAll(file: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const entry of (await readBackup(readBackupFile(file))).entries) found.push(entry);
  return found;
}

describe("who may take a backup", () => {
  it("only members of system:masters may take a backup", async (t) => {
    const folder = await temporaryFolder(t);
    const tokenAuthFile = join(folder, "tokens.csv");
    await writeFile(tokenAuthFile, 'alice-token,alice,1,"developers"\n', { mode: 0o600 });
    const { controlPlane, connection } = await startControlPlaneForBackup(t, folder, embedded, {
      tokenAuthFile,
    });
    const statusOf = async (context: string, path: string, headers = {}) => {
      const { transport } = await connection(context);
      const response = await transport.send({ method: "GET", path, headers });
      for await (const _ of response.body);
      return response.status;
    };
    assert.equal(await statusOf("shard-base", "/backup"), 200);
    assert.equal(await statusOf("base", "/backup"), 403, "kcp-admin");
    assert.equal(await statusOf("shard-base", "/clusters/team-a/backup"), 404, "no share of it");
    for (const [authorization, expected] of [
      ["Bearer alice-token", 403],
      ["Bearer wrong", 401],
      [undefined, 403],
    ] as const) {
      assert.equal(await anyoneAsks(controlPlane.url, authorization), expected, authorization);
    }
  });

  it("is said in the error of the command", async (t) => {
    const folder = await temporaryFolder(t);
    const { controlPlane } = await startControlPlaneForBackup(t, folder);
    const options = { file: join(folder, "b"), rootDirectory: folder, storage: embedded };
    const { kubeconfigPath } = controlPlane;
    await assert.rejects(
      backup({ ...options, kubeconfigPath, context: "root" }, withoutLog()),
      /User "kcp-admin" cannot get path "\/backup".*use the shard-admin/,
    );
    assert.ok(!(await readdir(folder)).includes("b"));
  });
});

async function anyoneAsks(url: string, authorization: string | undefined): Promise<number> {
  const { request } = await import("node:https");
  const headers = authorization === undefined ? {} : { authorization };
  const asked = request(`${url}/backup`, { headers, rejectUnauthorized: false, agent: false });
  asked.end();
  const [response] = (await once(asked, "response")) as [import("node:http").IncomingMessage];
  response.resume();
  await once(response, "end");
  return response.statusCode ?? 0;
}

describe("moving to etcd and back", { skip: etcdMissing() ?? false }, () => {
  it("keeps all objects and their uids", async (t) => {
    const cluster = await startEtcd();
    t.after(() => cluster.dispose());
    const etcd: StorageOptions = { kind: "etcd", servers: cluster.endpoints };
    const folder = await temporaryFolder(t);
    const [first, second, third] = ["first", "second", "third"].map((name) => join(folder, name));
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    const onDisk = await startControlPlaneForBackup(t, first);
    await fill(onDisk.client);
    const before = (await everything(onDisk.client)).map(withoutVersion);

    const out = join(folder, "out");
    await backup({ file: out, rootDirectory: first, storage: embedded }, withoutLog());
    await onDisk.stop();
    const moved = await restore({ file: out, rootDirectory: second, storage: etcd }, withoutLog());
    assert.deepEqual([moved.target, moved.keepsRevisions], ["etcd", false]);
    await assert.rejects(
      restore({ file: out, rootDirectory: second, storage: etcd }, withoutLog()),
      /etcd already holds data under the prefix \/kcp: restore under another --etcd-prefix/,
    );

    const onEtcd = await startControlPlaneForBackup(t, second, etcd);
    assert.deepEqual((await everything(onEtcd.client)).map(withoutVersion), before);
    const metadata = { name: "made-on-etcd", namespace: "default" };
    await onEtcd.client("root").resource(configMaps).create({ metadata });
    const changed = await everything(onEtcd.client);

    const back = join(folder, "back");
    const taken = await backup({ file: back, rootDirectory: second, storage: etcd }, withoutLog());
    const through = { file: `${back}-2`, rootDirectory: second, storage: etcd };
    const { kubeconfigPath } = onEtcd.controlPlane;
    const asked = await backup({ ...through, kubeconfigPath }, withoutLog());
    assert.deepEqual([taken.source, asked.source], ["etcd", "server"]);
    assert.deepEqual([taken.entries, taken.revision], [asked.entries, asked.revision]);
    await onEtcd.stop();

    await restore({ file: back, rootDirectory: third, storage: embedded }, withoutLog());
    const home = await startControlPlaneForBackup(t, third);
    assert.deepEqual(await everything(home.client), changed);
    await home.stop();
  });
});
