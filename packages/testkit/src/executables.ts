/** Programs of this machine that tests use. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** All of that name on the search path, the first first. */
export function executablesOnPath(name: string): string[] {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).filter(isExecutable);
}

/** `KUBECTL`, or the first on the search path. */
export function findKubectl(): string | undefined {
  const named = process.env["KUBECTL"];
  if (named !== undefined && named !== "") return named;
  return executablesOnPath("kubectl")[0];
}

/** What a test says when it cannot run, or undefined when kubectl is there. */
export function kubectlMissing(): string | undefined {
  return findKubectl() === undefined
    ? "needs kubectl: install the package kubernetes-client, or set KUBECTL to its path"
    : undefined;
}
