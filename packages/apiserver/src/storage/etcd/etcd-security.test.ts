/** TLS with client certificates, and authentication with user and password. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sleep, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import {
  addUser,
  type EtcdCluster,
  type EtcdClusterTls,
  etcdMissing,
  startEtcd,
} from "@kcp-ts/testkit";
import { call, collect, fill, key, put, text } from "../contract/storage-contract.ts";
import { EtcdStorage, type EtcdStorageOptions } from "./etcd-storage.ts";

const skip = etcdMissing() ?? false;
const rootPassword = "root-password";

describe("etcd storage over TLS", { skip }, () => {
  let cluster: EtcdCluster;
  let tls: EtcdClusterTls;
  before(async () => {
    cluster = await startEtcd({ tls: true });
    tls = cluster.tls as EtcdClusterTls;
  });
  after(() => cluster?.dispose());

  const good = () => ({ ca: tls.authority.ca, cert: tls.client.cert, key: tls.client.key });

  it("reads, writes and watches with a client certificate", async () => {
    await using(cluster, { tls: good() }, roundTrip);
  });

  it("reads the certificate files at each connection", async () => {
    let asked = 0;
    const provider = () => {
      asked++;
      return good();
    };
    await using(cluster, { tls: provider }, roundTrip);
    assert.equal(asked, 1);
  });

  it("verifies the server's certificate against the configured server name", async () => {
    await using(cluster, { tls: { ...good(), serverName: "etcd.test" } }, roundTrip);
    await fails(cluster, { tls: { ...good(), serverName: "other.test" } }, /other\.test/);
  });

  it("fails without the CA that signed the server's certificate", async () => {
    const { cert, key: clientKey } = tls.client;
    await fails(cluster, { tls: { cert, key: clientKey } }, /certificate/);
  });

  it("fails without a client certificate", async () => {
    await fails(cluster, { tls: { ca: tls.authority.ca } }, /alert/);
  });

  it("fails over plaintext", async () => {
    const endpoints = cluster.endpoints.map((endpoint) => endpoint.replace("https:", "http:"));
    await fails(cluster, { endpoints }, /no connection/);
  });
});

describe("etcd storage with user and password", { skip }, () => {
  let cluster: EtcdCluster;
  const user = { username: "kcp", password: "secret" };
  before(async () => {
    cluster = await startEtcd({ auth: { rootPassword }, args: ["--auth-token-ttl=1"] });
    const granted = { name: user.username, password: user.password, keyPrefix: "/kcp/" };
    await addUser(cluster.endpoints[0] as string, rootPassword, granted);
  });
  after(() => cluster?.dispose());

  it("reads, writes and watches as a user with permission on the prefix only", async () => {
    await using(cluster, user, roundTrip);
  });

  it("authenticates again when its token has expired", async () => {
    await using(cluster, { ...user, healthIntervalMs: 60_000 }, async (storage) => {
      const revision = await storage.commit(put("/token", "1", "absent"), call());
      // Twice the time to live, during which the token is not used.
      await sleep(systemClock, 2500);
      const again = await storage.commit(put("/token", "2", revision), call());
      await sleep(systemClock, 2500);
      const [change] = await collect(storage, "/token", revision, 1);
      assert.equal(change?.revision, again);
    });
  });

  it("a wrong password fails with the next step to take", async () => {
    await fails(cluster, { ...user, password: "wrong" }, /check username and password/);
  });

  it("a missing user fails with the next step to take", async () => {
    await fails(cluster, {}, /etcd wants a username and a password/);
  });

  it("a user without permission on the prefix fails with the next step to take", async () => {
    await fails(cluster, { ...user, prefix: "/other" }, /grant the etcd user readwrite/);
  });

  it("credentials are ignored by an etcd without authentication", async () => {
    const plain = await startEtcd();
    try {
      await using(plain, user, roundTrip);
    } finally {
      await plain.dispose();
    }
  });
});

async function roundTrip(storage: EtcdStorage): Promise<void> {
  const start = await storage.currentRevision(call());
  const name = `/trip-${start}`;
  const collecting = collect(storage, "/", start, 1);
  await fill(storage, [name]);
  assert.equal(text(await storage.get(key(name), call())), name);
  const [change] = await collecting;
  assert.ok(change?.kind === "put" && change.entry.key === name);
  assert.equal(storage.health(), undefined);
}

async function using(
  cluster: EtcdCluster,
  overrides: Partial<EtcdStorageOptions>,
  body: (storage: EtcdStorage) => Promise<void>,
): Promise<void> {
  const storage = await EtcdStorage.open(options(cluster, overrides));
  try {
    await body(storage);
  } finally {
    await storage.close();
  }
}

async function fails(
  cluster: EtcdCluster,
  overrides: Partial<EtcdStorageOptions>,
  message: RegExp,
): Promise<void> {
  await assert.rejects(EtcdStorage.open(options(cluster, { outageGraceMs: 200, ...overrides })), {
    code: "unavailable",
    message,
  });
}

function options(cluster: EtcdCluster, overrides: Partial<EtcdStorageOptions>): EtcdStorageOptions {
  return { endpoints: cluster.endpoints, clock: systemClock, random: systemRandom, ...overrides };
}
