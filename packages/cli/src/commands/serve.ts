/** Runs a server until a signal stops it. */
import type { ControlPlane, createLog } from "@kcp-ts/controlplane";

export interface Serving {
  readonly name: string;
  readonly log: ReturnType<typeof createLog>;
  readonly start: () => Promise<ControlPlane>;
  /** The text that a terminal shows when the server is ready. */
  readonly banner: (server: ControlPlane) => readonly string[];
}

export async function serve({ name, log, start, banner }: Serving): Promise<void> {
  // Installed first, so that a signal during the start is not lost, nor one immediately after
  // "ready".
  const signalled = untilSignal((message) => log.info({}, message));
  const server = await start();
  log.info({ url: server.url, kubeconfig: server.kubeconfigPath }, `${name} is ready`);
  // A shard tells the process that has started it.
  if (process.send !== undefined) process.send("ready");
  else if (process.stderr.isTTY === true) process.stderr.write(banner(server).join("\n"));
  const by = await Promise.race([signalled, server.superseded]);
  if (by !== undefined) {
    log.error({ standby: by }, "the standby has taken over: this server stops, and does not start");
    process.exitCode = 1;
  }
  await server.stop();
  log.info({}, "stopped");
  // The channel to the process that has started this one would keep it alive.
  if (process.connected) process.disconnect();
}

/** The first signal shuts down gracefully, the second at once. */
export function untilSignal(say: (message: string) => void): Promise<void> {
  return new Promise<void>((resolve) => {
    let signals = 0;
    const onSignal = () => {
      if (++signals > 1) process.exit(130);
      say("stopping; a second signal stops at once");
      resolve();
    };
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
    // The process that has started this one as a shard is gone.
    process.once("disconnect", onSignal);
  });
}
