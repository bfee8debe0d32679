/**
 * For crash.test.ts: a process that writes with many commits in flight and prints each
 * acknowledgement at once, until it is killed.
 *
 * One line per acknowledgement: revision, key, value ("-" for a deletion).
 */
import { systemClock } from "@kcp-ts/machinery/base";
import { call, key, put, remove } from "../contract/storage-contract.ts";
import type { Revision } from "../revision.ts";
import { EmbeddedStorage } from "./embedded-storage.ts";

const inFlight = 64;

const [directory, round] = process.argv.slice(2) as [string, string];
const storage = await EmbeddedStorage.open({ directory, clock: systemClock });
await Promise.all(Array.from({ length: inFlight }, (_, worker) => write(worker)));

/** Each worker has its own keys, so no write conflicts. */
async function write(worker: number): Promise<void> {
  const name = (i: number) => `/crash/${worker}/${i % 7}`;
  for (let i = 0; ; i++) {
    const known = (await storage.get(key(name(i)), call()))?.modifiedAt;
    const deletes = known !== undefined && i % 5 === 4;
    const value = `${round}-${worker}-${i}-${"x".repeat((i * 37) % 900)}`;
    const revision: Revision = await storage.commit(
      deletes ? remove(name(i), known) : put(name(i), value, known ?? "absent"),
      call(),
    );
    const line = `${revision} ${name(i)} ${deletes ? "-" : value}\n`;
    await new Promise((resolve) => process.stdout.write(line, resolve));
  }
}
