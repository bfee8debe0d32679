/** Wiring of a warm standby: a follower in a root directory of its own, and the server it stops. */
import { access, rename, rm } from "node:fs/promises";
import type { Clock } from "@kcp-ts/machinery/base";
import {
  type FollowedStore,
  Follower,
  type LostPrimary,
  type Primary,
  StandbyRoleError,
  standbyRoleOf,
  writeStandbyRole,
} from "./replication/index.ts";
import type { ServerLog } from "./server-log.ts";

export interface StandbyOptions {
  /** It exists, and has the credentials of the primary. */
  readonly rootDirectory: string;
  /** The folder of the store in it, which is emptied for a copy. */
  readonly directory: string;
  readonly openStore: () => Promise<FollowedStore>;
  readonly primary: Primary;
  /** The address of the primary, for messages. */
  readonly server: string;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly log: ServerLog;
}

/** Follows the primary until it is lost; undefined when the signal aborts. */
export async function runStandby(
  options: StandbyOptions,
  signal: AbortSignal,
): Promise<LostPrimary | undefined> {
  const { rootDirectory, directory, openStore, primary, server, leaseMs, clock, log } = options;
  await clearDirectory(options);
  await writeStandbyRole(rootDirectory, { state: "following", server });
  const follower = new Follower({
    primary,
    openEmpty: async () => {
      await rm(directory, { recursive: true, force: true });
      return openStore();
    },
    leaseMs,
    clock,
    onCopied: (revision) => log.info({ revision, server }, "the standby follows the primary"),
    onError: (error) => log.warn({ err: error, server }, "the standby tries again"),
  });
  return await follower.follow(signal);
}

/** A copy is replaced; what a standby had not copied is kept; other data is refused. */
async function clearDirectory({
  rootDirectory,
  directory,
  clock,
  log,
}: StandbyOptions): Promise<void> {
  const role = await standbyRoleOf(rootDirectory);
  const hasData = await access(directory).then(
    () => true,
    () => false,
  );
  if (!hasData || role?.state === "following") return;
  if (role === undefined)
    throw new StandbyRoleError(
      `${directory} has data that is no copy: give the standby another --root-directory, or move that folder away`,
    );
  const kept = `${directory}.superseded-${clock.now()}`;
  await rename(directory, kept);
  log.warn({ directory: kept }, "the data that no standby has copied is kept");
}

/** The data of a server whose standby has taken over is not served again. */
export function supersededServer(rootDirectory: string, log: ServerLog) {
  let resolve: (by: string) => void;
  const superseded = new Promise<string>((done) => {
    resolve = done;
  });
  const onSuperseded = (server: string) =>
    writeStandbyRole(rootDirectory, { state: "superseded", server }).then(
      () => resolve(server),
      (error: unknown) => log.error({ err: error }, "standby.json could not be written"),
    );
  return { superseded, onSuperseded };
}
