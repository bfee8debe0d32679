/**
 * What happens when whoever reads a command's output goes away, as `head -1` does: the command ends without a word, and its exit code is that
 * of a program that SIGPIPE ended. A server that is running stops in good order.
 */

/** 128 and the number of SIGPIPE. */
const exitCode = 141;

export function endOnBrokenPipe(program: NodeJS.Process = process): void {
  let isBroken = false;
  const end = (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    // Further lines of a server that is on its way out.
    if (isBroken) return;
    isBroken = true;
    if (program.listenerCount("SIGTERM") === 0) program.exit(exitCode);
    program.once("exit", () => {
      program.exitCode = exitCode;
    });
    program.emit("SIGTERM", "SIGTERM");
  };
  for (const stream of [program.stdout, program.stderr]) stream.on("error", end);
}
