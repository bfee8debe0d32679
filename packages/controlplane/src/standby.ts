/** A warm standby of an embedded store. */
import { resolve } from "node:path";
import {
  type FollowedStore,
  type LostPrimary,
  runStandby,
  type StandbyOptions,
} from "@kcp-ts/apiserver";
import { systemClock as clock } from "@kcp-ts/machinery/base";
import { makeRootDirectory } from "./compose/start-up.ts";
import { embeddedDirectory, openStorage } from "./compose/storage.ts";

/** Follows the primary until it is lost; undefined when the signal aborts. */
export async function followPrimary(
  options: Omit<StandbyOptions, "directory" | "openStore" | "clock">,
  signal: AbortSignal,
): Promise<LostPrimary | undefined> {
  const rootDirectory = resolve(options.rootDirectory);
  await makeRootDirectory(rootDirectory);
  const context = { rootDirectory, clock, log: options.log };
  const openStore = () => openStorage({ kind: "embedded" }, context) as Promise<FollowedStore>;
  const directory = embeddedDirectory(rootDirectory);
  return await runStandby({ ...options, ...context, directory, openStore }, signal);
}
