import { describeClusterMoves } from "../contract/cluster-moves-contract.ts";
import { describeStorage } from "../contract/storage-contract.ts";
import { MemoryStorage } from "./memory-storage.ts";

describeStorage("memory", async () => {
  const storage = new MemoryStorage();
  return { storage, dispose: () => storage.close() };
});

describeClusterMoves("memory", async () => {
  const storage = new MemoryStorage();
  return { storage, dispose: () => storage.close() };
});
