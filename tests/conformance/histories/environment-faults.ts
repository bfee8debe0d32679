/**
 * What can go wrong on a stage. Each fault happens, lasts a while, and is over when its promise
 * resolves.
 */
import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import {
  compactEtcd,
  type EtcdCluster,
  type EtcdMember,
  type FaultProxy,
  type SeededRandom,
  setNoSpaceAlarm,
} from "@kcp-ts/testkit";
import type { HistoryEnvironment } from "./environment.ts";
import type { ServerProcess } from "./server-process.ts";

export interface EnvironmentFault {
  readonly name: string;
  /** How often it is chosen, relative to the others: those that take long are rarer. */
  readonly weight: number;
  inject(random: SeededRandom): Promise<void>;
}

export function faultsOf(environment: HistoryEnvironment): readonly EnvironmentFault[] {
  return [
    ...serverFaults(environment),
    ...(environment.configuration === "memory" ? [] : killFaults(environment)),
    ...(environment.configuration === "embedded" ? diskFaults(environment) : []),
    ...(environment.etcd === undefined ? [] : etcdFaults(environment, environment.etcd)),
  ];
}

function serverFaults(environment: HistoryEnvironment): EnvironmentFault[] {
  const some = (random: SeededRandom) => pick(random, environment.servers);
  return [
    fault("connections of clients are reset", 3, async (random) => {
      for (let times = 1 + random.integer(3); times > 0; times--) {
        some(random).proxy.dropConnections();
        await pause(random, 60);
      }
    }),
    fault("clients are cut off", 2, async (random) => {
      const { proxy } = some(random);
      proxy.setFaults({ blackhole: true });
      await pause(random, 400);
      heal(proxy);
    }),
    fault("the server is stopped by SIGSTOP", 3, async (random) => {
      const server = some(random);
      server.pause();
      await pause(random, 500);
      server.resume();
    }),
    fault("the wall clock jumps", 2, async (random) => {
      for (let times = 1 + random.integer(3); times > 0; times--) {
        const hours = random.pick([-24, -1, -0.01, 0.01, 1, 24]);
        await some(random).sendCommand({ kind: "jump", byMs: hours * 3_600_000 });
        await pause(random, 60);
      }
    }),
    fault("history is compacted", 3, async (random) => {
      for (let times = 1 + random.integer(3); times > 0; times--) {
        const { etcd } = environment;
        if (etcd === undefined || random.chance(0.5))
          await some(random).sendCommand({ kind: "compact" });
        else await attempt(compactEtcd(pick(random, etcd.endpoints)));
        await pause(random, 80);
      }
    }),
  ];
}

function killFaults({ servers }: HistoryEnvironment): EnvironmentFault[] {
  const restart = async (server: ServerProcess) => {
    await server.kill();
    await server.start();
  };
  return [
    fault("a server is killed by SIGKILL", 2, (random) => restart(pick(random, servers))),
    ...(servers.length === 1
      ? []
      : [
          fault("all servers are killed by SIGKILL", 1, async () => {
            await Promise.all(servers.map(restart));
          }),
        ]),
  ];
}

function diskFaults({ servers, disk }: HistoryEnvironment): EnvironmentFault[] {
  const [server] = servers as readonly [ServerProcess];
  const slow = fault("the disk is slow", 3, async (random) => {
    await server.sendCommand({ kind: "slowDisk", delayMs: 5 + random.integer(60) });
    await pause(random, 400);
    await server.sendCommand({ kind: "slowDisk", delayMs: 0 });
  });
  const slowKill = fault("the disk is slow and the server killed by SIGKILL", 1, async (random) => {
    await server.sendCommand({ kind: "slowDisk", delayMs: 5 + random.integer(60) });
    await pause(random, 200);
    await server.kill();
    await server.start();
  });
  if (disk === undefined) return [slow, slowKill];
  const full = fault("the disk is full", 3, async (random) => {
    await fill(disk);
    await pause(random, 400);
    await rm(join(disk, "ballast"), { force: true });
  });
  const fullKill = fault("the disk is full and the server killed by SIGKILL", 1, async (random) => {
    await fill(disk);
    await pause(random, 200);
    await server.kill();
    await rm(join(disk, "ballast"), { force: true });
    await server.start();
  });
  return [slow, slowKill, full, fullKill];
}

/** To the last block. */
async function fill(disk: string): Promise<void> {
  const file = await open(join(disk, "ballast"), "w");
  const zeros = Buffer.alloc(1 << 20);
  try {
    for (;;) {
      const { bavail, bsize } = await statfs(disk);
      if (bavail === 0) return;
      await file.write(zeros.subarray(0, Math.min(zeros.length, bavail * bsize)));
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    await file.close();
  }
}

function etcdFaults({ links }: HistoryEnvironment, etcd: EtcdCluster): EnvironmentFault[] {
  const { members, peers } = etcd;
  const stop = async (member: EtcdMember, random: SeededRandom) => {
    await member.pause();
    await pause(random, 600);
    member.resume();
  };
  const cut = async (cutLinks: readonly FaultProxy[], random: SeededRandom) => {
    const faults = random.chance(0.5) ? { blackhole: true } : { refuse: true };
    for (const link of cutLinks) {
      link.setFaults(faults);
      if ("refuse" in faults) link.dropConnections();
    }
    await pause(random, 600);
    for (const link of cutLinks) heal(link);
  };
  const kill = async (member: EtcdMember, random: SeededRandom) => {
    await member.kill();
    await pause(random, 300);
    member.restart();
    await member.ready();
  };
  const leader = async () => members[await etcd.leader()] as EtcdMember;
  const shared = [
    fault("a member is stopped by SIGSTOP", 2, (random) => stop(pick(random, members), random)),
    fault("a server is cut off from a member", 2, (random) =>
      cut([pick(random, pick(random, links))], random),
    ),
    fault("a server is cut off from etcd", 2, (random) => cut(pick(random, links), random)),
    fault("etcd is slow", 2, async (random) => {
      const member = await leader();
      for (let times = 12; times > 0; times--) {
        await member.pause();
        await pause(random, 30);
        member.resume();
        await pause(random, 15);
      }
    }),
    fault("etcd is full", 2, async (random) => {
      const endpoint = pick(random, etcd.endpoints);
      await attempt(setNoSpaceAlarm(endpoint, true));
      await pause(random, 300);
      // Refused or not, it may be on: writes are to go on.
      while (!(await attempt(setNoSpaceAlarm(endpoint, false)))) await pause(random, 50);
    }),
    fault("the leader is killed by SIGKILL", 2, async (random) => kill(await leader(), random)),
  ];
  if (members.length === 1) return shared;
  const isolate = async (index: number, random: SeededRandom) => {
    peers?.isolate(index);
    await pause(random, 1200);
    peers?.heal();
  };
  return [
    ...shared,
    fault("a member is cut off from the others", 2, (random) =>
      isolate(random.integer(members.length), random),
    ),
    fault("the leader is cut off from the others", 2, async (random) =>
      isolate(await etcd.leader(), random),
    ),
    fault("the leader is stopped by SIGSTOP", 2, async (random) => stop(await leader(), random)),
  ];
}

function fault(name: string, weight: number, inject: EnvironmentFault["inject"]): EnvironmentFault {
  return { name, weight, inject };
}

/** What was swallowed is missing from connections, so they are made anew. */
function heal(proxy: FaultProxy): void {
  proxy.setFaults({});
  proxy.dropConnections();
}

function pick<Item>(random: SeededRandom, items: readonly Item[]): Item {
  return items[random.integer(items.length)] as Item;
}

/** At least a part of the time: a fault that is over at once is none. */
function pause(random: SeededRandom, aboutMs: number): Promise<void> {
  return sleep(systemClock, aboutMs / 4 + random.integer(aboutMs));
}

/** Administration that meets another fault is not repeated. */
async function attempt(doing: Promise<unknown>): Promise<boolean> {
  try {
    await doing;
    return true;
  } catch {
    return false;
  }
}
