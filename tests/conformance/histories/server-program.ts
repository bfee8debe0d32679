/**
 * One server of a stage, a process of its own: it is stopped, killed and started again. Its parent
 * talks to it over Node's channel.
 */
import type { ServerLog } from "@kcp-ts/apiserver";
import type { Storage } from "@kcp-ts/apiserver/storage";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import { SeededBugStorage } from "./seeded-bug-storage.ts";
import type { ServerCommand, ServerReport, ServerSettings } from "./server-settings.ts";
import { ShiftedClock } from "./shifted-clock.ts";
import type { SlowDisk } from "./slow-disk.ts";

/** A minute between bookmarks is three seconds, a request's deadline as well. */
const speed = 20;

const {
  port,
  storage: kind,
  allowsSeededBugs,
} = JSON.parse(process.argv[2] as string) as ServerSettings;
const clock = new ShiftedClock(speed);
let disk: SlowDisk | undefined;

const { signal } = new AbortController();
const opened = await openStorage();
const planted = allowsSeededBugs ? new SeededBugStorage(opened) : undefined;
const storage = planted ?? opened;
// Whoever started this is gone: so is the history.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.on("message", (command: ServerCommand) => {
  obey(command).then(
    () => report({ kind: "done" }),
    (error) => report({ kind: "done", error: String(error) }),
  );
});
const plane = await startTestControlPlane({ storage, clock, controlLoops: false, log: quiet() });
const { caPem } = await plane.listen({ port });
const { users } = JSON.parse(await plane.kubeconfig()) as { users: [{ user: { token: string } }] };
report({ kind: "ready", caPem, token: users[0].user.token });

async function openStorage(): Promise<Storage> {
  switch (kind.kind) {
    case "memory": {
      const { MemoryStorage } = await import("@kcp-ts/apiserver/storage/memory");
      return new MemoryStorage();
    }
    case "embedded": {
      const { EmbeddedStorage } = await import("@kcp-ts/apiserver/storage/embedded");
      const { SlowDisk } = await import("./slow-disk.ts");
      const { directory } = kind;
      const engineLocation = new SlowDisk(directory);
      disk = engineLocation;
      return EmbeddedStorage.open({ directory, engineLocation, clock: systemClock, log() {} });
    }
    case "etcd": {
      const { EtcdStorage } = await import("@kcp-ts/apiserver/storage/etcd");
      return EtcdStorage.open({
        endpoints: kind.endpoints,
        clock: systemClock,
        random: systemRandom,
        // A fault lasts less than a second: what waits for ten would notice nothing of it.
        requestTimeoutMs: 1000,
        connectTimeoutMs: 500,
        keepaliveIntervalMs: 5000,
        keepaliveTimeoutMs: 1000,
        outageGraceMs: 300,
        healthIntervalMs: 500,
      });
    }
  }
}

async function obey(command: ServerCommand): Promise<void> {
  switch (command.kind) {
    case "compact":
      return storage.compact(await storage.currentRevision({ signal }), { signal });
    case "plant":
      if (planted !== undefined) planted.seededBug = command.seededBug;
      return;
    case "jump":
      return clock.jump(command.byMs);
    case "slowDisk":
      if (disk !== undefined) disk.delayMs = command.delayMs;
  }
}

function report(message: ServerReport): void {
  process.send?.(message);
}

/** Faults are on purpose: what the server says of them, nobody reads. */
function quiet(): ServerLog {
  return { debug() {}, info() {}, warn() {}, error() {}, isDebugEnabled: false };
}
