/**
 * Goal: kill -9 loses no acknowledged write. Method: a child writes with 64 commits in flight and
 * reports acknowledgements over a pipe; it is killed after some number of them, several times on
 * the same directory; then every reported write must be in history and the state must be that of
 * the history.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import type { DataChange } from "../change-feed.ts";
import { call, collect, key, text } from "../contract/storage-contract.ts";
import { type Revision, revisionZero } from "../revision.ts";
import { EmbeddedStorage } from "./embedded-storage.ts";
import { temporaryDirectory } from "./temporary-store.ts";

describe("the embedded store killed under load", () => {
  it("has every acknowledged write", async () => {
    const directory = await temporaryDirectory();
    const state = new Map<string, string>();
    let checkedUpTo = revisionZero;
    try {
      for (let round = 0; round < 6; round++) {
        const killAfter = 1 + Math.floor(systemRandom.next() * 4000);
        const reported = await writeUntilKilled(directory, round, killAfter);
        const storage = await EmbeddedStorage.open({ directory, clock: systemClock });
        try {
          const revision = await storage.currentRevision(call());
          const changes = await collect(storage, "", checkedUpTo, revision - checkedUpTo);
          checkReported(reported, changes, checkedUpTo);
          for (const change of changes) {
            if (change.kind === "put") state.set(change.entry.key, text(change.entry) as string);
            else state.delete(change.previous.key);
          }
          const page = await storage.list(key(""), { ...call(), entriesMax: 10_000 });
          assert.deepEqual(
            page.entries.map((entry) => [entry.key, text(entry)]),
            [...state].sort(([a], [b]) => (a < b ? -1 : 1)),
          );
          checkedUpTo = revision;
        } finally {
          await storage.close();
        }
      }
      assert.ok(checkedUpTo > 6);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});

function checkReported(
  reported: ReadonlyMap<number, string>,
  changes: readonly DataChange[],
  before: Revision,
): void {
  for (const [revision, line] of reported) {
    const change = changes[revision - before - 1];
    assert.equal(change?.revision, revision, `the write at revision ${revision} is lost`);
    const found =
      change.kind === "put"
        ? `${change.entry.key} ${text(change.entry)}`
        : `${change.previous.key} -`;
    assert.equal(found, line);
  }
}

/** The child's reports, by revision. */
async function writeUntilKilled(
  directory: string,
  round: number,
  killAfter: number,
): Promise<Map<number, string>> {
  const program = fileURLToPath(new URL("./crash-writer.js", import.meta.url));
  const child = spawn(process.execPath, [program, directory, String(round)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const reported = new Map<number, string>();
  for await (const line of createInterface({ input: child.stdout })) {
    const space = line.indexOf(" ");
    reported.set(Number(line.slice(0, space)), line.slice(space + 1));
    if (reported.size === killAfter) child.kill("SIGKILL");
  }
  const [, signal] = await exited;
  assert.equal(signal, "SIGKILL");
  // The last line may be truncated; then it was not reported.
  for (const [revision, line] of [...reported].slice(-1)) {
    if (!/ (-|\d+-\d+-\d+-x*)$/.test(line)) reported.delete(revision);
  }
  return reported;
}
