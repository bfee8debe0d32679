import { describeClusterMoves } from "../contract/cluster-moves-contract.ts";
import { describeStorage } from "../contract/storage-contract.ts";
import { openTemporary } from "./temporary-store.ts";

describeStorage("embedded", openTemporary);

// No cache: every read of the past, every watch and every uncached read goes to disk.
describeStorage("embedded without memory", () =>
  openTemporary({ cacheBytesMax: 0, tailChangesMax: 0, tailBytesMax: 0 }),
);

for (const [name, tailChangesMax] of [
  ["embedded", undefined],
  ["embedded, history on disk", 0],
] as const)
  describeClusterMoves(name, () =>
    openTemporary({
      negativeLookups: { missesMin: 2, keysMax: 64 },
      ...(tailChangesMax === 0 && { tailChangesMax }),
    }),
  );
