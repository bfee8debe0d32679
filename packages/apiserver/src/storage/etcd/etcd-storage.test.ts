/**
 * The storage contract on one real etcd: one server for all tests, a prefix of its own for each.
 */
import { after, before, describe } from "node:test";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { type EtcdCluster, etcdMissing, startEtcd } from "@kcp-ts/testkit";
import { describeStorage } from "../contract/storage-contract.ts";
import { EtcdStorage } from "./etcd-storage.ts";

describe("etcd storage", { skip: etcdMissing() ?? false }, () => {
  let cluster: EtcdCluster;
  let opened = 0;

  before(async () => {
    cluster = await startEtcd();
  });
  after(() => cluster?.dispose());

  describeStorage("etcd", async () => {
    const storage = await EtcdStorage.open({
      endpoints: cluster.endpoints,
      clock: systemClock,
      random: systemRandom,
      prefix: `/contract-${opened++}`,
    });
    return { storage, dispose: () => storage.close() };
  });
});
