/** The text of an error for users: kubectl's words for files, without names of system calls. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, path } = error as NodeJS.ErrnoException;
  if (typeof path !== "string") return error.message;
  if (code === "ENOENT") return `the path ${JSON.stringify(path)} does not exist`;
  const reason = reasons.get(String(code));
  return reason === undefined ? error.message : `${path}: ${reason}`;
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["EACCES", "permission denied"],
  ["EPERM", "operation not permitted"],
  ["EEXIST", "file exists"],
  ["ENOTDIR", "not a directory"],
  ["EISDIR", "is a directory"],
  ["EROFS", "read-only file system"],
  ["ENOSPC", "no space left on device"],
]);
