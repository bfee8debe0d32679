/** The text of an error for users: kubectl's words for files, without names of system calls. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, path } = error as NodeJS.ErrnoException;
  const refused = connectionText(error);
  if (refused !== undefined) return refused;
  if (typeof path !== "string") return error.message;
  if (code === "ENOENT") return `the path ${JSON.stringify(path)} does not exist`;
  const reason = reasons.get(String(code));
  return reason === undefined ? error.message : `${path}: ${reason}`;
}

/** kubectl's sentence for a server that is not there. */
function connectionText(error: Error): string | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code, address, port } = cause as NodeJS.ErrnoException & {
      readonly address?: string;
      readonly port?: number;
    };
    if (code === "ECONNREFUSED" && port !== undefined)
      return `the connection to the server ${address}:${port} was refused: start it, or correct the kubeconfig`;
    if (code === "ENOTFOUND")
      return `${cause.message.replace(/^getaddrinfo ENOTFOUND /, "")}: no such host; correct the server of the kubeconfig`;
    if (cause instanceof AggregateError) return connectionText(cause.errors[0] as Error);
  }
  return undefined;
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
