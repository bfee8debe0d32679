/**
 * The file `standby.json` in a root directory: its data is a copy, or was taken over by a standby.
 * A server does not start on such data: it would be a second primary.
 */
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface StandbyRole {
  /** `following`: the data is a copy of `server`. `superseded`: `server` has taken over. */
  readonly state: "following" | "superseded";
  readonly server: string;
}

export class StandbyRoleError extends Error {
  override readonly name = "StandbyRoleError";
}

const fileOf = (rootDirectory: string) => join(rootDirectory, "standby.json");

export async function standbyRoleOf(rootDirectory: string): Promise<StandbyRole | undefined> {
  const path = fileOf(rootDirectory);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const { state, server } = JSON.parse(text) as Partial<StandbyRole>;
  if ((state === "following" || state === "superseded") && typeof server === "string")
    return { state, server };
  throw new StandbyRoleError(`${path} is damaged: find out whether another server has this data`);
}

export async function writeStandbyRole(rootDirectory: string, role: StandbyRole): Promise<void> {
  const path = fileOf(rootDirectory);
  await writeFile(`${path}.new`, `${JSON.stringify(role)}\n`, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

/** Removes the role when a standby takes over; throws for a server that is not its own primary. */
export async function claimPrimary(
  rootDirectory: string,
  { isTakeover = false }: { readonly isTakeover?: boolean | undefined } = {},
): Promise<void> {
  const role = await standbyRoleOf(rootDirectory);
  if (role === undefined) return;
  const path = fileOf(rootDirectory);
  if (isTakeover && role.state === "following") return await rm(path);
  throw new StandbyRoleError(
    role.state === "following"
      ? `${rootDirectory} has the data of a standby of ${role.server}: run kcp standby on it, or remove ${path} to make it a primary by hand`
      : `the standby ${role.server} has taken over from this server: run kcp standby --of it, or remove ${path} to serve the old data all the same`,
  );
}
