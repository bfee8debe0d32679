/** Runs a world until it writes nothing any more but what it always writes. */
import type { Write } from "@kcp-ts/apiserver/storage";
import { BrokenLaw } from "./laws.ts";
import type { World } from "./world.ts";

const settlesWithinMs = 1_200_000;

/** Leases and Events are no decisions. */
function isDecision({ key }: Write): boolean {
  return !/^\/[^/]*\/(leases|events)\//.test(key);
}

export function isWriteToCluster(link: string, method: string, path: string): boolean {
  if (link === "loopback" || method === "GET") return false;
  return !/selfsubject|\/leases\/|\/events/.test(path);
}

export class WriteLog {
  readonly entries: { readonly atMs: number; readonly what: string }[] = [];
  readonly #world: World;
  readonly #before: Pick<World, "onCommit" | "onRequest">;

  constructor(world: World) {
    this.#world = world;
    const { onCommit, onRequest } = world;
    this.#before = { onCommit, onRequest };
    world.onCommit = (write) => {
      onCommit(write);
      if (isDecision(write)) this.#note(write.key);
    };
    world.onRequest = (link, method, path, status) => {
      onRequest(link, method, path, status);
      if (isWriteToCluster(link, method, path)) this.#note(`${link} ${method} ${path} ${status}`);
    };
  }

  #note(what: string): void {
    this.entries.push({ atMs: this.#world.nowMs, what });
  }

  get lastAtMs(): number | undefined {
    return this.entries.at(-1)?.atMs;
  }

  stop(): void {
    Object.assign(this.#world, this.#before);
  }

  /** The most frequent writes since a time. */
  summary(sinceMs: number): string {
    const counts = new Map<string, number>();
    for (const { atMs, what } of this.entries)
      if (atMs >= sinceMs) counts.set(what, (counts.get(what) ?? 0) + 1);
    const most = [...counts].sort(([, a], [, b]) => b - a).slice(0, 5);
    return most.map(([what, count]) => `${count} x ${what}`).join("; ");
  }
}

export async function settle(world: World, quietMs: number, isOver: () => boolean): Promise<void> {
  const log = new WriteLog(world);
  const beganAtMs = world.nowMs;
  try {
    for (;;) {
      const sinceMs = log.lastAtMs ?? beganAtMs;
      const leftMs = sinceMs + quietMs - world.nowMs;
      if (leftMs <= 0) return;
      if (world.nowMs - beganAtMs > settlesWithinMs)
        throw new BrokenLaw(
          "settles",
          `the world still changes after ${settlesWithinMs / 60_000} minutes: ${log.summary(world.nowMs - 150_000)}`,
        );
      if (await world.loop.runUntil(leftMs, isOver)) return;
    }
  } finally {
    log.stop();
  }
}
