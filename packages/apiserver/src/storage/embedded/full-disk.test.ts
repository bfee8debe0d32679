/**
 * A disk that is really full: a small tmpfs. Needs the permission to mount; is skipped without it.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { call, collect, key, put } from "../contract/storage-contract.ts";
import { isStorageError } from "../errors.ts";
import { type Revision, revisionZero } from "../revision.ts";
import { EmbeddedStorage } from "./embedded-storage.ts";
import { temporaryDirectory } from "./temporary-store.ts";

const run = promisify(execFile);

describe("the embedded store on a full disk", () => {
  it("rejects writes, reports the fault, serves reads, and recovers when there is space", async (t) => {
    const mountPoint = await temporaryDirectory();
    try {
      await run("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", mountPoint]);
    } catch (error) {
      await rm(mountPoint, { recursive: true });
      t.skip(`cannot mount a tmpfs: ${(error as Error).message.trim()}`);
      return;
    }
    try {
      await fillAndFree(mountPoint);
    } finally {
      await run("umount", [mountPoint]);
      await rm(mountPoint, { recursive: true });
    }
  });
});

async function fillAndFree(disk: string): Promise<void> {
  const ballast = join(disk, "ballast");
  await writeFile(ballast, Buffer.alloc(14 << 20));
  const log: string[] = [];
  const directory = join(disk, "data");
  const options = { directory, clock: systemClock, log: (line: string) => log.push(line) };
  const storage = await EmbeddedStorage.open(options);
  const acknowledged: Revision[] = [];
  await assert.rejects(
    async () => {
      for (let i = 0; i < 10_000; i++) {
        const value = String(i).padEnd(20_000, "0123456789abcdef");
        acknowledged.push(await storage.commit(put(`/p/${i}`, value, "absent"), call()));
      }
    },
    { code: "unavailable" },
  );
  assert.ok(acknowledged.length > 10, `only ${acknowledged.length} writes fitted`);
  assert.match(storage.health()?.message ?? "", /No space left on device/);
  assert.match(storage.health()?.message ?? "", /free space/);
  await assert.rejects(storage.commit(put("/q", "v", "absent"), call()), { code: "unavailable" });
  assert.equal(await storage.count(key("/p/"), call()), acknowledged.length);

  await rm(ballast);
  while (storage.health() !== undefined) await sleep(systemClock, 20);
  assert.match(log.at(-1) ?? "", /can be written again/);
  const after = await untilTaken(storage);
  const changes = await collect(storage, "", revisionZero, after);
  for (const revision of acknowledged) assert.equal(changes[revision - 1]?.revision, revision);
  await storage.close();

  const again = await EmbeddedStorage.open(options);
  assert.equal(await again.currentRevision(call()), after);
  await again.close();
}

async function untilTaken(storage: EmbeddedStorage): Promise<Revision> {
  for (;;) {
    try {
      return await storage.commit(put("/after", "v", "absent"), call());
    } catch (error) {
      if (!isStorageError(error, "unavailable")) throw error;
      await sleep(systemClock, 20);
    }
  }
}
