import { describeStorage } from "../contract/storage-contract.ts";
import { openTemporary } from "./temporary-store.ts";

describeStorage("embedded", openTemporary);

// No cache: every read of the past, every watch and every uncached read goes to disk.
describeStorage("embedded without memory", () =>
  openTemporary({ cacheBytesMax: 0, tailChangesMax: 0, tailBytesMax: 0 }),
);
