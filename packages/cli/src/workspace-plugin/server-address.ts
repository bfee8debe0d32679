/** The server of a kubeconfig and its workspace: `https://host:6443/clusters/root:org`. */

export interface ServerAddress {
  /** Without the workspace. */
  readonly base: string;
  readonly workspace: string;
}

const marker = "/clusters/";

/** Undefined when the URL points to no workspace. */
export function parseServerAddress(url: string): ServerAddress | undefined {
  const at = url.indexOf(marker);
  if (at < 0) return undefined;
  const workspace = url.slice(at + marker.length).replace(/\/.*$/, "");
  return workspace === "" ? undefined : { base: url.slice(0, at), workspace };
}

export function formatServerAddress({ base, workspace }: ServerAddress): string {
  return `${base}${marker}${workspace}`;
}

export class WorkspacePathError extends Error {
  override readonly name = "WorkspacePathError";
}

const word = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Resolves an argument relative to a workspace: `:a:b` and `root…` from the top, `..` up, any other
 * name down. Undefined for arguments that are no path: home and the previous workspace.
 */
export function resolveWorkspace(current: string, argument: string): string {
  if (argument === "" || argument === ".") return current;
  if (argument === ":") return "root";
  if (argument.startsWith(":")) return checked(argument.slice(1), argument);
  if (argument === "root" || argument.startsWith("root:")) return checked(argument, argument);
  const words = current.split(":");
  for (const step of argument.split(":")) {
    if (step === "..") {
      if (words.length < 2) throw new WorkspacePathError(`cannot go up from ${current}`);
      words.pop();
    } else if (step !== ".") words.push(step);
  }
  return checked(words.join(":"), argument);
}

/** Whether an argument is absolute although it does not begin with a colon. */
export function isUnmarkedAbsolute(argument: string): boolean {
  return argument === "root" || argument.startsWith("root:");
}

function checked(path: string, argument: string): string {
  const isHome = path.startsWith("user:");
  const isValid =
    path.startsWith("system:") ||
    path.split(":").every((one, at) => (isHome && at === 1) || word.test(one));
  if (path === "" || !isValid) throw new WorkspacePathError(`invalid workspace path: ${argument}`);
  return path;
}
