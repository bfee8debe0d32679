/**
 * Handles a closed output pipe, as after `head -1`: the command ends silently, with the exit code
 * of a program that SIGPIPE ended. A running server shuts down gracefully.
 */

/** 128 plus the number of SIGPIPE. */
const exitCode = 141;

export function endOnBrokenPipe(program: NodeJS.Process = process): void {
  let isBroken = false;
  const end = (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    // Further lines of a server that is shutting down.
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
